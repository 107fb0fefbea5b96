//! What a pipeline that is closed waits for, since its log is about to go.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use multiraft::{GroupHealth, Role};
use tokio::time::Instant;
use uuid::Uuid;

use super::Pipeline;
use super::presence::Census;

/// How often a group is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a pipeline that is closed waits for its members to be level while they do not get on,
/// and how long at most.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(3);
const LONGEST_CATCH_UP: Duration = Duration::from_secs(30);

/// How long replay of a pipeline that is to be closed may stand still before that is refused.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a member without a leader waits for one when all was applied: a leader that hands over
/// to the preferred member is followed by that one. With the first of the two gone the other one
/// could not commit what it begins with.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a member stays when all is level: a follower for what the leader may still have for
/// it, or for others.
const LEAVE_DELAY: Duration = Duration::from_millis(500);

/// How long the members may be without a leader before they are asked what they have, and how
/// often they are asked.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a member that never had an entry waits for a leader. A group that too few members were
/// there to begin never has one; and there is nothing here that others could be missing.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a member waits for its leader's word on what is acknowledged, before it looks again
/// whether there is a leader.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(1);

/// A pipeline that is waited for, as it is now.
pub(super) enum Current {
    /// It runs.
    Runs(Arc<Pipeline>),
    /// It is being started again, with new addresses of its members.
    Moves,
    /// It is not here any more, or its disk has failed.
    Gone,
}

/// What a wait for a decision ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is known what becomes of all entries that the log had, and no other member has more.
    Made,
    /// That will never be known: the group is lost here, so many members are gone that the others
    /// can decide nothing, the group never began, or they were waited for for too long.
    Never,
}

/// Whether it is known what becomes of every entry of the log: all of them are applied, or the
/// group is lost and nothing will be known any more.
///
/// An entry beyond what is known to be committed may have been acknowledged all the same: the
/// leader tells its followers of a commit with its next message. After a restart that is so for
/// all entries since the tables were flushed. A leader decides it, once there is one again.
pub(super) async fn is_decided(pipeline: &Pipeline) -> bool {
    log_state(pipeline).await.is_some_and(|log| log.undecided.is_empty())
}

/// What a member knows of its log.
struct LogState {
    /// Entries that are not applied.
    undecided: Range<u64>,
    /// A leader is known, which has all that was acknowledged.
    led: bool,
    /// The group is lost.
    failed: bool,
}

impl LogState {
    /// No leader, nothing in the log, nothing applied. A member that lost its log has applied
    /// something: it waits for the leader that gives it what it lacks.
    fn never_began(&self) -> bool {
        !self.led && self.undecided == (0..0)
    }
}

/// `None` while the group cannot tell.
async fn log_state(pipeline: &Pipeline) -> Option<LogState> {
    if matches!(pipeline.supervisor.health(), GroupHealth::Failed(_)) {
        return Some(LogState { undecided: 0..0, led: false, failed: true });
    }
    let status = pipeline.group.status().await?;
    let led = status.role == Role::Leader || status.leader.is_some();
    let undecided = status.applied..status.last_index;
    status.failed.is_none().then_some(LogState { undecided, led, failed: false })
}

/// Whether this member has applied all that was acknowledged. Its leader says how far that is, when
/// a majority still follows it and it has committed what it was elected with: until then a member
/// that leaves may be the one that others need to commit anything.
async fn is_level(pipeline: &Pipeline) -> bool {
    let level = pipeline.group.read_index_anywhere();
    matches!(tokio::time::timeout(LEVEL_TIMEOUT, level).await, Ok(Ok(_)))
}

/// Waits until it is known what becomes of the entries that the log has now, and that no other
/// member has entries that may have been acknowledged and are not here. `me` is this node;
/// `current` is asked again and again, for a pipeline whose members move is started anew. Counts
/// in `censuses` how often the other members were asked what they have.
pub(super) async fn wait_for_decision(
    me: Uuid,
    current: impl Fn() -> Current,
    timeout: Duration,
    censuses: &AtomicU64,
) -> Decision {
    let deadline = Instant::now() + timeout;
    let (mut target, mut ask_at) = (None, Instant::now() + ASK_INTERVAL);
    let mut begin_by = Instant::now() + BEGIN_TIMEOUT;
    loop {
        let pipeline = match current() {
            Current::Runs(pipeline) => pipeline,
            Current::Moves if Instant::now() < deadline => {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
            Current::Moves | Current::Gone => return Decision::Made,
        };
        if let Some(log) = log_state(&pipeline).await {
            let target = *target.get_or_insert(log.undecided.end);
            let applied = log.undecided.is_empty() || log.undecided.start >= target;
            if log.failed {
                return Decision::Never;
            }
            if log.led && applied && is_level(&pipeline).await {
                return Decision::Made;
            }
            if !log.never_began() {
                begin_by = Instant::now() + BEGIN_TIMEOUT;
            } else if Instant::now() >= begin_by {
                tracing::info!(pipeline = %pipeline.id, "a pipeline ends that never had a leader");
                return Decision::Never;
            }
            if !log.led && Instant::now() >= ask_at {
                let census = Census::collect(pipeline.id, &pipeline.peers, me).await;
                censuses.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(pipeline = %pipeline.id, ?census, "members of a pipeline to be closed");
                if applied && census.vouches() {
                    return Decision::Made;
                }
                if census.is_hopeless() {
                    let entries = log.undecided;
                    tracing::warn!(pipeline = %pipeline.id, ?entries, ?census, "a pipeline ends with \
                        entries that its other members did not have, or lost");
                    return Decision::Never;
                }
                ask_at = Instant::now() + ASK_INTERVAL;
            }
        }
        if Instant::now() >= deadline {
            tracing::error!(pipeline = %pipeline.id, waited = ?timeout, "the members of a pipeline \
                that is to be closed do not come back: it ends without what it does not know to \
                be committed");
            return Decision::Never;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Waits until replay has put back what only the log has: the log is about to go. Replay up to
/// there needs no other member, only time. False when it does not get on; true, too, when it never
/// will, because the group has failed or the log was lost.
pub(super) async fn wait_for_replay(pipeline: &Pipeline) -> bool {
    let replay = || async move {
        if !pipeline.store.is_replaying() {
            return None;
        }
        let status = pipeline.group.status().await?;
        let is_lost = status.failed.is_some() || status.last_index < pipeline.store.seen().index;
        (!is_lost).then(|| pipeline.store.applied())
    };
    wait_for_end(replay, REPLAY_TIMEOUT).await
}

/// Waits until `replay`, which says how far it is, has come to its end (`None`). False when it
/// stands still for longer than `timeout`.
async fn wait_for_end<P: PartialEq, F: Future<Output = Option<P>>>(
    replay: impl Fn() -> F,
    timeout: Duration,
) -> bool {
    let (mut reached, mut deadline) = (None, Instant::now() + timeout);
    while let Some(position) = replay().await {
        let (position, now) = (Some(position), Instant::now());
        if reached != position {
            (reached, deadline) = (position, now + timeout);
        }
        if now > deadline {
            return false;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    true
}

/// Waits, but not for long, until the members have what is in their logs and know it to be
/// committed: an acknowledged write may be applied on the leader alone, and the logs are about to
/// go. A follower that is left without knowing waits for a leader that there is not.
pub(super) async fn wait_for_members(pipeline: &Pipeline) {
    let latest = Instant::now() + LONGEST_CATCH_UP;
    let mut deadline = Instant::now() + CATCH_UP_TIMEOUT;
    let (mut reached, mut level_at, mut since) = (None, None, Instant::now());
    let mut led_at = Instant::now();
    while Instant::now() < deadline.min(latest) {
        let Some(status) = pipeline.group.status().await else { return };
        if status.failed.is_some() {
            return;
        }
        if status.role != Role::Leader && status.leader.is_none() {
            // The leadership may be on its way to the member that is preferred.
            if led_at.elapsed() >= TRANSFER_TIMEOUT {
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        }
        led_at = Instant::now();
        let followers: Vec<_> = status.followers.iter().filter(|f| f.active).collect();
        let position = followers.iter().map(|f| (f.matched, f.committed)).collect::<Vec<_>>();
        let position = Some((status.applied, status.last_index, position));
        if reached != position {
            (reached, deadline) = (position, Instant::now() + CATCH_UP_TIMEOUT);
        }
        let last = status.last_index;
        let know = followers.iter().all(|f| f.matched == last && f.committed >= last);
        let level = (status.applied == last && know).then_some((status.term, last));
        if level.is_none() || level != level_at {
            (level_at, since) = (level, Instant::now());
        } else if since.elapsed() >= LEAVE_DELAY {
            // Nothing more came meanwhile.
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Whether replay ended that says `positions` one after the other, the last one for ever, and
    /// may stand still no longer than from one look to the next; and how often it was looked at.
    async fn ended(positions: &[Option<u64>]) -> (bool, usize) {
        let looks = Cell::new(0);
        let replay = || {
            let at = looks.replace(looks.get() + 1);
            std::future::ready(positions[at.min(positions.len() - 1)])
        };
        (wait_for_end(replay, Duration::ZERO).await, looks.get())
    }

    #[test]
    fn a_group_never_began_that_has_no_leader_no_entry_and_nothing_applied() {
        let never_began = |led, undecided| LogState { undecided, led, failed: false }.never_began();
        assert!(never_began(false, 0..0));
        assert!(!never_began(true, 0..0));
        assert!(!never_began(false, 0..3), "entries that are not decided");
        assert!(!never_began(false, 3..3), "entries that were applied");
        assert!(!never_began(false, Range { start: 7, end: 0 }), "its log was lost");
    }

    #[tokio::test]
    async fn replay_is_waited_for_while_it_gets_on_and_no_longer() {
        assert_eq!(ended(&[None]).await, (true, 1));
        assert_eq!(ended(&[Some(1), Some(2), Some(3), Some(4), None]).await, (true, 5));
        assert_eq!(ended(&[Some(1), Some(2), Some(2), None]).await, (false, 3));
        assert_eq!(ended(&[Some(7)]).await, (false, 2));
    }
}
