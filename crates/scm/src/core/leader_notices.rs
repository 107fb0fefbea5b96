//! Nodes that were asked to register because this SCM became the leader.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::DatanodeId;

/// Pause before a node that has not registered since the last notice gets another one.
const INTERVAL: Duration = Duration::from_secs(5);

/// The last notice to each node: in which of this SCM's terms as the leader, and when.
#[derive(Default)]
pub(super) struct LeaderNotices {
    sent: Mutex<FxHashMap<DatanodeId, (i64, Instant)>>,
}

impl LeaderNotices {
    /// Returns `true` if `node` got a notice in `term`.
    pub(super) fn was_sent(&self, node: DatanodeId, term: i64) -> bool {
        self.sent.lock().get(&node).is_some_and(|(of, _)| *of == term)
    }

    /// Returns `true` if `node` needs a notice now, which then counts as sent: it got none in
    /// `term`, or it is not `confirmed` some time after the last one.
    pub(super) fn send(&self, node: DatanodeId, term: i64, confirmed: bool, now: Instant) -> bool {
        let mut sent = self.sent.lock();
        match sent.get(&node) {
            Some((of, _)) if *of == term && confirmed => false,
            Some((of, at)) if *of == term && now.duration_since(*at) < INTERVAL => false,
            _ => {
                sent.insert(node, (term, now));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_gets_a_notice_in_each_term_and_again_while_it_does_not_register() {
        let (notices, node, now) = (LeaderNotices::default(), DatanodeId::random(), Instant::now());
        assert!(!notices.was_sent(node, 1));
        assert!(notices.send(node, 1, false, now));
        assert!(notices.was_sent(node, 1) && !notices.was_sent(node, 2));
        assert!(!notices.send(node, 1, false, now), "the last notice was just sent");
        assert!(notices.send(node, 1, false, now + INTERVAL), "it was lost");
        assert!(!notices.send(node, 1, true, now + INTERVAL * 3), "the node has registered");
        assert!(notices.send(node, 2, true, now), "it registered in an earlier term");
    }
}
