//! Pipelines whose members cannot reach each other.
//!
//! SCM may still consider every member healthy, since each of them reaches SCM. So a DataNode
//! reports a pipeline that has had no leader for long, or whose follower has not responded to its
//! leader: SCM then closes the pipeline and creates another one. As Ozone's `XceiverServerRatis`
//! does.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use multiraft::{GroupStatus, Role};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use service::{BackgroundService, Progress};
use types::PipelineId;
use uuid::Uuid;

use crate::node::Node;
use crate::settings::pipeline_liveness::LivenessLimits;

/// Shortest and longest interval between checks of pipelines.
const INTERVAL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// Timeout of a pipeline's status.
const STATUS_TIME: Duration = Duration::from_secs(1);

/// Interval of checks within the shorter limit.
const LOOKS: u32 = 10;

/// The background service that reports pipelines without progress to SCM.
pub(crate) struct PipelineLiveness {
    node: Weak<Node>,
    limits: LivenessLimits,
    seen: Mutex<Seen>,
}

impl PipelineLiveness {
    pub fn new(node: &Arc<Node>, limits: LivenessLimits) -> Self {
        Self { node: Arc::downgrade(node), limits, seen: Mutex::default() }
    }
}

#[async_trait]
impl BackgroundService for PipelineLiveness {
    fn name(&self) -> &str {
        "PipelineLivenessService"
    }

    fn interval(&self) -> Duration {
        let LivenessLimits { no_leader, silent_follower } = self.limits;
        (no_leader.min(silent_follower) / LOOKS).clamp(INTERVAL.0, INTERVAL.1)
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let pipelines = node.pipelines.all();
        let mut told = 0;
        // A pipeline of one has no other member to reach.
        for pipeline in pipelines.iter().filter(|pipeline| pipeline.peers.len() > 1) {
            // A pipeline without a status may hang with its disk, which is checked elsewhere; the
            // others do not wait for it.
            let asked = tokio::time::timeout(STATUS_TIME, pipeline.group.status()).await;
            let Ok(Some(status)) = asked else { continue };
            let why = self.seen.lock().look(pipeline.id, &status, Instant::now(), self.limits);
            if let Some(why) = why {
                tracing::warn!(pipeline = %pipeline.id, why, "asking SCM to close a pipeline");
                node.pending_reports.pipeline_failed(pipeline.id, why);
                told += 1;
            }
        }
        self.seen.lock().keep(&pipelines.iter().map(|pipeline| pipeline.id).collect());
        Progress::done(told)
    }
}

/// Since when something has been missing.
#[derive(Default)]
struct Seen {
    leaders: FxHashMap<PipelineId, Instant>,
    followers: FxHashMap<(PipelineId, Uuid), Instant>,
}

impl Seen {
    /// Records a pipeline's status at `now`. Returns the reason to close it if its status has
    /// lasted for the limit; the next report follows after the same time.
    fn look(
        &mut self,
        id: PipelineId,
        status: &GroupStatus,
        now: Instant,
        limits: LivenessLimits,
    ) -> Option<String> {
        let leads = status.role == Role::Leader;
        let mut why = None;
        if leads || status.leader.is_some() {
            self.leaders.remove(&id);
        } else if is_over(self.leaders.entry(id).or_insert(now), now, limits.no_leader) {
            why = Some(format!("it has had no leader for {:?}", limits.no_leader));
        }
        for follower in &status.followers {
            let key = (id, follower.node);
            if !leads || follower.active {
                self.followers.remove(&key);
                continue;
            }
            let since = self.followers.entry(key).or_insert(now);
            if is_over(since, now, limits.silent_follower) {
                let (node, limit) = (follower.node, limits.silent_follower);
                why = Some(format!("its follower {node} has not answered for {limit:?}"));
            }
        }
        if !leads {
            self.followers.retain(|(of, _), _| *of != id);
        }
        why
    }

    /// Forgets pipelines that are not here any more.
    fn keep(&mut self, here: &BTreeSet<PipelineId>) {
        self.leaders.retain(|id, _| here.contains(id));
        self.followers.retain(|(id, _), _| here.contains(id));
    }
}

/// Returns `true` if `limit` has passed since `since`, which is then reset to `now`.
fn is_over(since: &mut Instant, now: Instant, limit: Duration) -> bool {
    let over = now.saturating_duration_since(*since) >= limit;
    if over {
        *since = now;
    }
    over
}

#[cfg(test)]
mod tests {
    use multiraft::{FollowerStatus, MemberRole};

    use super::*;

    const LIMITS: LivenessLimits = LivenessLimits {
        no_leader: Duration::from_secs(30),
        silent_follower: Duration::from_secs(60),
    };

    fn status(role: Role, leader: Option<Uuid>, active: &[bool]) -> GroupStatus {
        let follower = |(n, active): (usize, &bool)| FollowerStatus {
            node: Uuid::from_u128(n as u128),
            role: MemberRole::Voter,
            matched: 0,
            committed: 0,
            active: *active,
        };
        GroupStatus {
            id: Uuid::nil(),
            role,
            leader,
            term: 1,
            commit: 0,
            applied: 0,
            first_index: 1,
            last_index: 0,
            incomplete: false,
            followers: active.iter().enumerate().map(follower).collect(),
            failed: None,
        }
    }

    fn pipeline(n: u128) -> PipelineId {
        PipelineId(Uuid::from_u128(n))
    }

    #[test]
    fn a_pipeline_without_a_leader_is_told_of_when_the_time_is_over_and_then_as_much_later() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        let alone = status(Role::Candidate, None, &[]);
        let led = status(Role::Follower, Some(Uuid::max()), &[]);
        let mut look = |secs, status: &GroupStatus| {
            seen.look(pipeline(1), status, start + Duration::from_secs(secs), LIMITS).is_some()
        };
        assert!(!look(0, &alone) && !look(29, &alone));
        assert!(!look(29, &led), "there is one");
        assert!(!look(30, &alone) && !look(59, &alone), "the time begins anew");
        assert!(look(60, &alone));
        assert!(!look(61, &alone) && !look(89, &alone));
        assert!(look(90, &alone));
    }

    #[test]
    fn a_follower_that_is_silent_is_told_of_by_its_leader() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        let mut look = |secs, status: &GroupStatus| {
            seen.look(pipeline(1), status, start + Duration::from_secs(secs), LIMITS)
        };
        let one_away = status(Role::Leader, None, &[true, false]);
        let all_there = status(Role::Leader, None, &[true, true]);
        assert_eq!(look(0, &one_away), None);
        assert_eq!(look(59, &all_there), None);
        assert_eq!(look(60, &one_away), None);
        // A follower has no data on the responses that another leader receives.
        assert_eq!(look(100, &status(Role::Follower, Some(Uuid::max()), &[])), None);
        assert_eq!(look(120, &one_away), None);
        let why = look(180, &one_away).unwrap();
        assert!(why.contains(&Uuid::from_u128(1).to_string()) && why.contains("60s"), "{why}");
    }

    #[test]
    fn pipelines_that_are_gone_are_forgotten() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        seen.look(pipeline(1), &status(Role::Candidate, None, &[]), now, LIMITS);
        seen.look(pipeline(2), &status(Role::Leader, None, &[false]), now, LIMITS);
        seen.keep(&BTreeSet::from([pipeline(2)]));
        assert!(seen.leaders.is_empty() && seen.followers.len() == 1);
        seen.keep(&BTreeSet::new());
        assert!(seen.followers.is_empty());
    }
}
