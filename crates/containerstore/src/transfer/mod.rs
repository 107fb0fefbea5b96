//! Transfer of a container from one DataNode to another.
//!
//! * [`export`]: reads a closed container block by block, in the order of its rows, and checks
//!   every chunk;
//! * [`arrival`]: receives the blocks, checks them again, and stores them aside until all are here;
//! * [`publish`]: makes the arrived container one of the store's, all of it or nothing;
//! * [`copying`]: prevents the creation of the container meanwhile.
//!
//! Blocks are transferred, not files: each replica packs small blocks itself, and a copy has none
//! of the dead records.
//!
//! # Invariants
//! * **A container that has not arrived whole is invisible**, also after a crash: it lies in the
//!   folder of arrivals, or in its place with a marker file. Both are removed at the next start.
//! * **A copy and a replica never mix.** Their rows have the same keys. So a copy begins only if
//!   the container is neither served nor being created, the container's pipeline ends the copy
//!   before it creates the container, and the rows of a replica that is served are never removed
//!   with those of a copy.
//!   of a copy.
//! * **A copy has the source's origin**: for a QUASI_CLOSED container it is not another witness of
//!   the last write.

mod arrival;
mod copying;
mod export;
mod folder;
mod publish;
mod writeback;

use container::ContainerState;
use types::{PipelineId, StorageType};

pub use arrival::Arrival;
pub(crate) use copying::Copying;
pub use export::{Export, Part};
pub(crate) use folder::{is_unfinished, set_aside_copy};

/// Constant fields of a container that is copied, and its totals at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its state: CLOSED or QUASI_CLOSED.
    pub state: ContainerState,
    /// The pipeline it was written by.
    pub pipeline: Option<PipelineId>,
    /// The node that made it first.
    pub origin: String,
    /// Its index in an EC group, else 0.
    pub replica_index: i32,
    /// Size at which it counted as full.
    pub max_size: u64,
    /// Its block commit sequence id.
    pub bcsid: u64,
    /// Highest deletion transaction taken.
    pub delete_tx: u64,
    /// Bytes of its blocks, for the choice of a disk.
    pub used: u64,
    /// The storage type of the disk that it belongs on, if that is known.
    pub storage_type: Option<StorageType>,
}
