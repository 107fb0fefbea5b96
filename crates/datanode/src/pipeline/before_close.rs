//! What a pipeline that is closed waits for, since its log is about to go.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use multiraft::{GroupHealth, Role};
use tokio::time::Instant;

use super::Pipeline;

/// Longest wait of a pipeline that is closed for its members to be level.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(3);

/// How long replay of a pipeline that is to be closed may stand still before that is refused.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a member stays when all is level: a leader for its followers to hear that all is
/// committed, a follower for what the leader may still have for it.
const LEAVE_DELAY: Duration = Duration::from_millis(500);

/// Whether it is known what becomes of every entry of the log: all of them are applied, or the
/// group is lost and nothing will be known any more.
///
/// An entry beyond what is known to be committed may have been acknowledged all the same: the
/// leader tells its followers of a commit with its next message. After a restart that is so for
/// all entries since the tables were flushed. A leader decides it, once there is one again.
pub(super) async fn is_decided(pipeline: &Pipeline) -> bool {
    undecided(pipeline).await.is_some_and(|entries| entries.is_empty())
}

/// Entries of the log that are not applied; `None` while the group cannot tell.
async fn undecided(pipeline: &Pipeline) -> Option<Range<u64>> {
    if matches!(pipeline.supervisor.health(), GroupHealth::Failed(_)) {
        return Some(0..0);
    }
    let status = pipeline.group.status().await?;
    status.failed.is_none().then_some(status.applied..status.last_index)
}

/// Waits until it is known what becomes of the entries that the log has now. `current` is the
/// pipeline, or none when it is not here any more; it is asked again and again, for one whose
/// members move is started anew. False when the members do not decide it within `timeout`.
pub(super) async fn wait_for_decision(
    current: impl Fn() -> Option<Arc<Pipeline>>,
    timeout: Duration,
) -> bool {
    let deadline = Instant::now() + timeout;
    let mut target = None;
    loop {
        let Some(pipeline) = current() else { return true };
        if let Some(entries) = undecided(&pipeline).await {
            let target = *target.get_or_insert(entries.end);
            if entries.is_empty() || entries.start >= target {
                return true;
            }
        }
        if Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until replay has put back what only the log has: the log is about to go. Replay up to
/// there needs no other member, only time. False when it does not get on; true, too, when it never
/// will, because the group has failed or the log was lost.
pub(super) async fn wait_for_replay(pipeline: &Pipeline) -> bool {
    let mut applied = pipeline.store.applied();
    let mut deadline = Instant::now() + REPLAY_TIMEOUT;
    while pipeline.store.is_replaying() {
        let Some(status) = pipeline.group.status().await else { return true };
        if status.failed.is_some() || status.last_index < pipeline.store.seen().index {
            return true;
        }
        let now = Instant::now();
        if pipeline.store.applied() != applied {
            applied = pipeline.store.applied();
            deadline = now + REPLAY_TIMEOUT;
        }
        if now > deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}

/// Waits, but not for long, until the members have applied what is in their logs: an acknowledged
/// write may be applied on the leader alone, and the logs are about to go.
pub(super) async fn wait_for_members(pipeline: &Pipeline) {
    let deadline = Instant::now() + CATCH_UP_TIMEOUT;
    let (mut level_at, mut since) = (None, Instant::now());
    while Instant::now() < deadline {
        let Some(status) = pipeline.group.status().await else { return };
        if status.failed.is_some() || (status.role != Role::Leader && status.leader.is_none()) {
            return;
        }
        let followers_are_level = status
            .followers
            .iter()
            .filter(|follower| follower.active)
            .all(|follower| follower.matched == status.last_index);
        let level = (status.applied == status.last_index && followers_are_level)
            .then_some(status.last_index);
        if level.is_none() || level != level_at {
            (level_at, since) = (level, Instant::now());
        } else if since.elapsed() >= LEAVE_DELAY {
            // The others heard meanwhile how far everything is committed, and nothing more came.
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
