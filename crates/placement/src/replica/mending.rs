//! Damaged replicas whose reconciliation was ordered lately (`mend.rs`).

use rustc_hash::FxHashMap;
use types::{ContainerId, DatanodeId};

use crate::time::Millis;

/// Time until a replica that stayed UNHEALTHY is reconciled again: each time its node reads all of
/// it.
const PAUSE: Millis = 3_600_000;

/// Damaged replicas whose reconciliation was ordered, and until when it is not repeated (soft).
#[derive(Debug, Default)]
pub struct Mending(FxHashMap<(ContainerId, DatanodeId), Millis>);

impl Mending {
    /// Remembers that a replica is to be reconciled.
    pub(super) fn note(&mut self, id: ContainerId, node: DatanodeId, now: Millis) {
        self.0.insert((id, node), now.saturating_add(PAUSE));
    }

    /// Returns `true` if the reconciliation of a replica was ordered lately.
    pub(super) fn was_tried(&self, id: ContainerId, node: DatanodeId) -> bool {
        self.0.contains_key(&(id, node))
    }

    /// A round over all containers begins.
    pub(super) fn begin_round(&mut self, now: Millis) {
        self.0.retain(|_, until| *until > now);
    }
}
