//! Replication levels of an entry, and waiting for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::group::{Group, Progress, Refusal};
use crate::level::Level;
use crate::wire::common::ReplicationLevel;

/// Maximum interval between checks of the leader and of the reachable members.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Silence after which a member is considered unreachable, so that waiting for it is pointless:
/// many elections would have passed.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);

impl Level {
    /// # Errors
    /// If the number is not in the enum.
    pub(crate) fn from_wire(level: i32) -> Result<Self, Refusal> {
        match ReplicationLevel::try_from(level) {
            Ok(ReplicationLevel::Majority) => Ok(Self::Majority),
            Ok(ReplicationLevel::All) => Ok(Self::All),
            Ok(ReplicationLevel::MajorityCommitted) => Ok(Self::MajorityCommitted),
            Ok(ReplicationLevel::AllCommitted) => Ok(Self::AllCommitted),
            Err(_) => Err(Refusal::Invalid(format!("unknown replication level {level}"))),
        }
    }

    pub(crate) fn to_wire(self) -> ReplicationLevel {
        match self {
            Self::Majority => ReplicationLevel::Majority,
            Self::All => ReplicationLevel::All,
            Self::MajorityCommitted => ReplicationLevel::MajorityCommitted,
            Self::AllCommitted => ReplicationLevel::AllCommitted,
        }
    }

    /// Returns `true` if a single member can block it.
    fn waits_for_all(self) -> bool {
        matches!(self, Self::All | Self::AllCommitted)
    }

    /// The last entry at this level.
    pub(crate) fn index(self, progress: &[Progress]) -> u64 {
        let mut committed: Vec<u64> = progress.iter().map(|member| member.committed).collect();
        committed.sort_unstable();
        let newest = committed.last().copied().unwrap_or(0);
        match self {
            Self::Majority => newest,
            Self::All => progress.iter().map(|m| m.stored).min().unwrap_or(0).min(newest),
            // Ascending: a majority is at this position or after it.
            Self::MajorityCommitted => committed
                .len()
                .checked_sub(1)
                .and_then(|last| committed.get(last / 2))
                .map_or(0, |i| *i),
            Self::AllCommitted => committed.first().copied().unwrap_or(0),
        }
    }
}

/// Waits until the entry `index` has reached `level`; returns the members' positions at that time.
///
/// # Errors
/// [`Refusal::NotReplicated`] on timeout, [`Refusal::NotLeader`] if this member is not the leader.
pub(crate) async fn wait(
    group: &Arc<dyn Group>,
    index: u64,
    level: Level,
    limit: Duration,
) -> Result<Vec<Progress>, Refusal> {
    let deadline = Instant::now() + limit;
    let mut changes = group.progress_changes();
    loop {
        group.check_leader()?;
        changes.mark_unchanged();
        let progress = group.progress();
        if level.index(&progress) >= index {
            return Ok(progress);
        }
        let now = Instant::now();
        // Only reachable members are worth waiting for.
        let there: Vec<_> =
            progress.iter().filter(|m| m.silent < SILENCE_TIMEOUT).cloned().collect();
        let hopeless = level.waits_for_all() && level.index(&there) >= index;
        if now >= deadline || hopeless {
            return Err(Refusal::NotReplicated { index, level });
        }
        let look = deadline.min(now + POLL_INTERVAL);
        if let Ok(Err(_)) = tokio::time::timeout_at(look, changes.changed()).await {
            return Err(Refusal::AlreadyClosed("the group stopped".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::PeerId;

    #[test]
    fn each_level_asks_more_of_the_members() {
        let peer = PeerId::new(Uuid::from_u128(1));
        let member = |stored, committed| Progress {
            peer: peer.clone(),
            stored,
            committed,
            silent: Duration::ZERO,
        };
        let three = [member(9, 8), member(7, 5), member(6, 2)];
        let index = |level: Level, members: &[Progress]| level.index(members);
        assert_eq!(index(Level::Majority, &three), 8);
        assert_eq!(index(Level::All, &three), 6);
        assert_eq!(index(Level::MajorityCommitted, &three), 5);
        assert_eq!(index(Level::AllCommitted, &three), 2);
        let two = [member(9, 8), member(7, 5)];
        assert_eq!(index(Level::MajorityCommitted, &two), 5, "a majority of two is both");
        let one = [member(9, 8)];
        for level in [Level::Majority, Level::All, Level::MajorityCommitted, Level::AllCommitted] {
            assert_eq!(index(level, &one), 8);
            assert_eq!(index(level, &[]), 0);
        }
    }
}
