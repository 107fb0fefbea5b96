//! Pipelines: Raft groups that replicate containers.
//!
//! A pipeline lives on one disk: its log is in that disk's log engine, its containers and their
//! records are on that disk, so a round of entries is one batch of one store.
//!
//! * [`Pipelines`]: all of them: create, open again at start, close
//! * [`pipeline_locks`], [`disk_reservation`]: order of changes, disk of a new one
//! * [`before_close`], [`presence`]: waits of a pipeline before its log is erased
//! * [`machine`]: applying entries
//! * [`payload`]: chunk bytes outside of the log
//! * [`withheld`]: entries that this replica cannot store and does not confirm
//! * [`buffered_chunks`]: small chunks that wait for their PutBlock
//! * [`snapshot`], [`catch_up`]: a replica that lags behind the trimmed log

mod before_close;
pub(crate) mod buffered_chunks;
mod catch_up;
mod machine;
mod membership;
mod payload;
mod pipeline_locks;
mod presence;
mod proof;
mod registry;
mod snapshot;
mod withheld;

use std::sync::Arc;

use multiraft::{Group, Peer, Supervisor};
use types::PipelineId;

pub(crate) use membership::Membership;
pub(crate) use registry::{Parts, PipelineError, Pipelines};

use containerstore::{Disk, PipelineStore};
use payload::Payloads;

/// A running pipeline.
pub(crate) struct Pipeline {
    /// Its id, which is also its group's.
    pub id: PipelineId,
    /// Its Raft group.
    pub group: Group,
    /// Starts the group again when it fails.
    pub supervisor: Supervisor,
    /// Its applied position and its containers.
    pub store: PipelineStore,
    /// The disk that it lives on.
    pub disk: Arc<Disk>,
    /// Its members, this node among them.
    pub peers: Vec<Peer>,
    /// Small chunks that were answered and not proposed yet.
    pub buffered: buffered_chunks::BufferedChunks,
    payloads: Payloads,
}
