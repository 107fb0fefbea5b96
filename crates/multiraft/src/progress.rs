//! Log positions of a group's members known to this node: a leader receives them with every
//! response to an append, so sharing them costs nothing on the network.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tokio::sync::watch;
use uuid::Uuid;

/// Log position of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberProgress {
    /// The member's node.
    pub node: Uuid,
    /// Last entry that is in its log.
    pub matched: u64,
    /// Its commit index.
    pub committed: u64,
    /// Time since its last message, at the leader, which sends requests all the time. Zero for this
    /// node itself.
    pub silent: Duration,
}

/// The positions of all members. Written by the group's loop, read by any thread.
pub(crate) struct ProgressBoard {
    me: Uuid,
    began: Instant,
    members: RwLock<Box<[Known]>>,
    /// Number of changes.
    changes: watch::Sender<u64>,
}

struct Known {
    node: Uuid,
    matched: AtomicU64,
    committed: AtomicU64,
    /// Time of its last message, in milliseconds of the board's clock.
    heard: AtomicU64,
}

impl Known {
    fn nothing(node: Uuid) -> Self {
        let zero = || AtomicU64::new(0);
        Self { node, matched: zero(), committed: zero(), heard: zero() }
    }

    fn copy(&self) -> Self {
        let copy = |from: &AtomicU64| AtomicU64::new(from.load(Ordering::Acquire));
        let (matched, committed) = (copy(&self.matched), copy(&self.committed));
        Self { node: self.node, matched, committed, heard: copy(&self.heard) }
    }
}

impl ProgressBoard {
    /// A board without positions of the given members.
    pub(crate) fn new(me: Uuid, nodes: impl IntoIterator<Item = Uuid>) -> Self {
        let members = RwLock::new(nodes.into_iter().map(Known::nothing).collect());
        Self { me, began: Instant::now(), members, changes: watch::Sender::new(0) }
    }

    /// Sets the other members: remaining ones keep their positions.
    pub(crate) fn set_members(&self, nodes: impl IntoIterator<Item = Uuid>) {
        let now = self.now();
        let mut members = self.members.write();
        let keep = |node: Uuid| match members.iter().find(|known| known.node == node) {
            Some(known) => known.copy(),
            None => Known { heard: AtomicU64::new(now), ..Known::nothing(node) },
        };
        let next = nodes.into_iter().map(keep).collect();
        *members = next;
    }

    /// Time since a member's last message.
    pub(crate) fn silent(&self, node: Uuid) -> Option<Duration> {
        let now = self.now();
        let members = self.members.read();
        let known = members.iter().find(|known| known.node == node)?;
        Some(Duration::from_millis(now.saturating_sub(known.heard.load(Ordering::Relaxed))))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Records a message from a member.
    pub(crate) fn heard(&self, node: Uuid) {
        if let Some(known) = self.members.read().iter().find(|known| known.node == node) {
            known.heard.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Resets all silences: from now on this node sends requests.
    pub(crate) fn listen(&self) {
        let now = self.now();
        self.members.read().iter().for_each(|known| known.heard.store(now, Ordering::Relaxed));
    }

    /// Records a member's position; returns `true` if it is new. A commit index stays valid under
    /// every leader: a lower one from a new leader is not new.
    pub(crate) fn note(&self, node: Uuid, matched: u64, committed: u64) -> bool {
        let members = self.members.read();
        let Some(known) = members.iter().find(|known| known.node == node) else {
            return false;
        };
        let stored = known.matched.swap(matched, Ordering::AcqRel) != matched;
        known.committed.fetch_max(committed, Ordering::AcqRel) < committed || stored
    }

    /// Notifies waiting callers of a change.
    pub(crate) fn announce(&self) {
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    pub(crate) fn read(&self) -> Vec<MemberProgress> {
        let now = self.now();
        let silent = |known: &Known| match known.node == self.me {
            true => 0,
            false => now.saturating_sub(known.heard.load(Ordering::Relaxed)),
        };
        let progress = |known: &Known| MemberProgress {
            node: known.node,
            matched: known.matched.load(Ordering::Acquire),
            committed: known.committed.load(Ordering::Acquire),
            silent: Duration::from_millis(silent(known)),
        };
        self.members.read().iter().map(progress).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_never_taken_back() {
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let board = ProgressBoard::new(a, [a, b]);
        assert!(board.note(b, 7, 5));
        assert!(!board.note(b, 7, 4), "an older position");
        assert!(board.note(b, 0, 0), "a new leader has no record of its log yet");
        assert!(!board.note(Uuid::from_u128(3), 9, 9), "no member");
        let known = board.read();
        assert_eq!((known[0].node, known[0].matched, known[0].committed), (a, 0, 0));
        assert_eq!((known[1].node, known[1].matched, known[1].committed), (b, 0, 5));
        assert_eq!(known[0].silent, Duration::ZERO, "itself");
        let c = Uuid::from_u128(3);
        board.set_members([b, c]);
        let known = board.read();
        assert_eq!(
            (known[0].node, known[0].committed),
            (b, 5),
            "a remaining member keeps its position"
        );
        assert_eq!((known[1].node, known.len()), (c, 2));
    }
}
