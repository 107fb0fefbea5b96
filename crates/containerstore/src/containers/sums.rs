//! The container's rows in the metadata table.

use metastore::Batch;

use super::Container;
use crate::tables::{self, METADATA};

/// Minimum of a container's counts when it was sealed: it takes no writes any more, and its rows
/// were durable. Neither number ever falls, so rows with lower ones, or missing rows, were lost by
/// a disk that had confirmed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) bcsid: u64,
    pub(crate) delete_tx: u64,
}

/// The container's rows in the metadata table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) bcsid: u64,
    pub(crate) blocks: u64,
    pub(crate) used: u64,
    pub(crate) pending_delete: u64,
    pub(crate) delete_tx: u64,
    /// The checksum of the Merkle tree of its blocks; 0 if unknown.
    pub(crate) checksum: u64,
}

impl Sums {
    /// Returns the minimum for a container with these sums from now on; `None` if it has no rows.
    pub(crate) fn seal(self) -> Option<Sealed> {
        let Self { bcsid, delete_tx, .. } = self;
        (self != Self::default()).then_some(Sealed { bcsid, delete_tx })
    }

    /// Puts the rows that differ from the container's counts.
    pub(crate) fn put_changed(&self, container: &Container, batch: &mut Batch) {
        let before = container.sums();
        let rows = [
            (tables::BCSID, self.bcsid, before.bcsid),
            (tables::BLOCK_COUNT, self.blocks, before.blocks),
            (tables::BYTES_USED, self.used, before.used),
            (tables::PENDING_DELETE, self.pending_delete, before.pending_delete),
            (tables::DELETE_TX, self.delete_tx, before.delete_tx),
            (tables::DATA_CHECKSUM, self.checksum, before.checksum),
        ];
        for (name, now, before) in rows {
            if now != before {
                let key = tables::metadata_key(container.id, name);
                batch.put(METADATA, key, now.to_be_bytes());
            }
        }
    }
}
