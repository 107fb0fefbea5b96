//! Waits of a pipeline before it closes and its log is erased.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use multiraft::{GroupHealth, Role};
use tokio::time::Instant;
use uuid::Uuid;

use super::Pipeline;
use super::presence::Census;

/// Interval between checks of a group.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest wait of a closing pipeline for its members to catch up, without progress and in total.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(3);
const LONGEST_CATCH_UP: Duration = Duration::from_secs(30);

/// Longest stall of the replay of a pipeline to be closed, before the close is refused.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(20);

/// Longest wait of a member without a leader for a new one when all was applied: after a leader
/// transfer to the preferred member it follows that one. If the first of the two has left, the
/// other one could not commit its first entry.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(1);

/// Delay before a member leaves when all have caught up: a follower may still receive entries from
/// the leader, or the leader may need it for others.
const LEAVE_DELAY: Duration = Duration::from_millis(500);

/// Time without a leader before members are asked for their state, and interval of the requests.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// Longest wait for a leader of a member that never had an entry. A group that too few members
/// joined never elects one; and it has no entries here that others could be missing.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest wait of a member for its leader's commit index, before it checks again whether there is
/// a leader.
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

/// Outcome of a wait for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// All entries of the log are decided, and no other member has more.
    Made,
    /// There will be no decision: the group is lost here, too few members remain for a quorum, the
    /// group never began, or the wait timed out.
    Never,
}

/// Returns `true` if every entry of the log is decided: all of them are applied, or the group is
/// lost and no entry will be decided any more.
///
/// An entry beyond the known commit index may still have been acknowledged: the leader sends its
/// followers the commit index with its next message. After a restart this holds for all entries
/// since the tables were flushed. A leader decides them once it is elected.
pub(super) async fn is_decided(pipeline: &Pipeline) -> bool {
    log_state(pipeline).await.is_some_and(|log| log.undecided.is_empty())
}

/// State of a member's log.
struct LogState {
    /// Entries that are not applied.
    undecided: Range<u64>,
    /// There is a leader, which has all acknowledged entries.
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

/// Returns `true` if this member has applied all acknowledged entries. Its leader reports the
/// commit index once a majority follows it and it has committed the entry of its election: until
/// then others may need a leaving member to commit anything.
async fn is_level(pipeline: &Pipeline) -> bool {
    let level = pipeline.group.read_index_anywhere();
    matches!(tokio::time::timeout(LEVEL_TIMEOUT, level).await, Ok(Ok(_)))
}

/// Waits until the log's present entries are decided, and no other member has entries that may have
/// been acknowledged and are missing here. `me` is this node; `current` is called repeatedly, as a
/// pipeline whose members change their addresses is restarted. Counts in `censuses` the requests to
/// the other members.
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
                tracing::info!(pipeline = %pipeline.id, "closing a pipeline that never had a leader");
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

/// Waits until replay has restored the entries that only the log has: the log will be erased.
/// Replay needs no other member up to there, only time. False if it stalls; true, too, if it will
/// never finish because the group has failed or the log was lost.
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

/// Waits until `replay`, which returns its position, has ended (`None`). False if it stalls for
/// longer than `timeout`.
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

/// Waits for a bounded time until the members have committed the entries in their logs: an
/// acknowledged write may be applied on the leader alone, and the logs will be erased. Otherwise a
/// follower with an old commit index would wait for a leader that no longer exists.
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
            // No more entries arrived meanwhile.
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Returns whether a replay ended that reports `positions` one after the other, the last one
    /// forever, and may stall for one poll at most; and the number of polls.
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
