//! Replicas whose checksums are to be worked out.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use types::ContainerId;

use crate::containers::Container;

/// Replicas whose checksums are to be worked out.
#[derive(Debug, Default)]
pub(crate) struct ChecksumsDue(Mutex<BTreeSet<ContainerId>>);

impl ChecksumsDue {
    /// Queues a replica if it must have a checksum and has none.
    pub fn note(&self, container: &Container) {
        if container.is_settled() && container.sums().checksum == 0 {
            self.0.lock().insert(container.id());
        }
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Takes the next one.
    pub fn pop(&self) -> Option<ContainerId> {
        self.0.lock().pop_first()
    }
}
