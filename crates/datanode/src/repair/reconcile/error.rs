//! Errors of reconciling a replica.

use types::{ContainerId, DatanodeId, LocalId, WireError};

use crate::repair::push::PushError;
use crate::repair::replica_source::SourceError;
use containerstore::StorageError;

/// A replica was not reconciled with all of its peers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// The order is invalid.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It cannot be started.
    #[error(transparent)]
    Push(#[from] PushError),
    /// The disks.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is no replica to compare with.
    #[error("the order contains no other replica of container {0}")]
    NoPeers(ContainerId),
    /// Some peers could not be compared with, or did not give all they have.
    #[error("container {container} was not reconciled with each of its peers: {reasons}")]
    Peers {
        /// The container.
        container: ContainerId,
        /// The peers, each with its reason.
        reasons: String,
    },
}

/// Reasons for skipping a peer before all of its data was here.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    /// Its response is missing or an error.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The disks here.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It cannot be called.
    #[error(transparent)]
    Push(#[from] PushError),
    /// Its replica takes writes.
    #[error("its replica is not closed")]
    NotClosed,
    /// Its block differs from its tree.
    #[error("block {0} differs from its tree")]
    OtherBlock(LocalId),
    /// A chunk is longer than any may be.
    #[error("block {local} has a chunk of {len} bytes")]
    LongChunk {
        /// The block.
        local: LocalId,
        /// The length of the chunk.
        len: u64,
    },
    /// It has not taken all deletions that were taken here.
    #[error("{0} of its blocks may have been deleted: it has not received every deletion yet")]
    Lags(u64),
    /// Its blocks and those here differ, and there is no proof which are right.
    #[error("{count} of its blocks differ from those here, the first is {first}")]
    Conflicts {
        /// Their number.
        count: u64,
        /// The first of them.
        first: LocalId,
    },
    /// Some of its blocks did not come.
    #[error("{count} of its blocks did not arrive, the first is {first}: {reason}")]
    Blocks {
        /// Their number.
        count: u64,
        /// The first of them.
        first: LocalId,
        /// Reason of the first one.
        reason: String,
    },
}

impl PeerError {
    /// Returns one line of a report.
    pub fn of(self, node: DatanodeId) -> String {
        format!("{node}: {self}")
    }
}
