//! The commands of the container protocol: their checks, changes and reads.
//!
//! * [`registry`]: the table of them; each has a file of its own
//! * [`check`]: checks before a change is proposed
//! * [`answer`], [`refusal`]: responses; [`peek`]: single fields of encoded messages
//! * [`budget`]: limit of the bytes in flight
//!
//! [`dispatch`](crate::dispatch) routes a command to a pipeline or to this replica. Chunk bytes are
//! separate from the message in all code after the endpoints.

pub mod answer;
pub mod budget;
pub(crate) mod check;
mod close_container;
mod create_container;
mod delete_container;
mod echo;
mod finalize_block;
mod get_block;
mod get_committed_block_length;
mod get_container_checksum_info;
mod get_small_file;
pub mod late_reads;
mod list_block;
mod list_container;
pub mod peek;
mod put_block;
mod put_small_file;
mod read_chunk;
mod read_container;
pub mod refusal;
pub(crate) mod registry;
mod write_chunk;

use std::net::IpAddr;
use std::time::Instant;

use bytes::Bytes;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, DatanodeBlockId, Type,
};
use types::{ContainerId, StorageType};

pub use answer::{Answer, Failure};
use budget::Budget;
pub use refusal::Refusal;
pub(crate) use registry::Class;

use crate::command::late_reads::LateReads;
use crate::settings::Settings;
use containerstore::{ContainerStore, InitialState, NewContainer, StorageError};

/// Most entries of one listing.
const MAX_LIST: u32 = 10_000;

/// Result of a command whose response is a message alone.
pub(crate) type Done = Result<ContainerCommandResponseProto, Failure>;

/// Result of a read: a response, or its own failure; or a refusal if nothing was done.
pub(crate) type Read = Result<Result<Answer, Failure>, Refusal>;

/// A received command, with its chunk bytes separate from the message.
#[derive(Debug)]
pub struct Command {
    /// The message as received, without chunk bytes: its form in the Raft log.
    pub header: Bytes,
    /// The same, decoded. Boxed, since each `async fn` on a command's way would hold it twice.
    pub request: Box<ContainerCommandRequestProto>,
    /// The chunk bytes.
    pub payload: Bytes,
    /// The caller's deadline.
    pub deadline: Option<Instant>,
    /// The client's address, if the endpoint has it.
    pub peer: Option<IpAddr>,
    /// Verify here what is read: the client cannot tell when it finds damage.
    pub verify_reads: bool,
}

impl Command {
    /// Returns its kind; `None` for one unknown to this version.
    pub fn kind(&self) -> Option<Type> {
        Type::try_from(self.request.cmd_type).ok()
    }

    /// Returns its class; `None` for a command unknown to this version.
    pub(crate) fn class(&self) -> Option<Class> {
        self.kind().map(registry::class)
    }

    /// Returns `true` if the caller's deadline has passed.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// State that commands work on.
pub(crate) struct CommandContext<'a> {
    /// The disks.
    pub store: &'a ContainerStore,
    /// Settings at the DataNode's start.
    pub settings: &'a Settings,
    /// Bound on the bytes of reads in flight.
    pub read_budget: &'a Budget,
    /// Reads that were refused lately.
    pub late_reads: &'a LateReads,
    /// The storage type of the disk for a replica created now, if it is known.
    pub storage_type: Option<StorageType>,
}

impl CommandContext<'_> {
    /// Changes a container's state, not on a thread that serves requests: before a container is
    /// closed its disk is flushed, and requests and heartbeats would wait for that.
    pub async fn change_container(
        &self,
        id: ContainerId,
        change: impl FnOnce(&ContainerStore, ContainerId) -> Result<(), StorageError> + Send + 'static,
    ) -> Result<(), StorageError> {
        let (store, container) = (self.store.clone(), self.store.container(id)?);
        let changed = tokio::task::spawn_blocking(move || change(&store, id)).await;
        changed.map_err(|error| StorageError::disk(container.path(), error))?
    }
}

/// The part of a request that its command needs.
///
/// # Errors
/// When it is missing.
pub(crate) fn part<'a, T>(part: Option<&'a T>, name: &str) -> Result<&'a T, Failure> {
    part.ok_or_else(|| Failure::malformed(format!("{name} is missing")))
}

/// Returns an error if a block is requested by an index in an EC group that is not this replica's.
///
/// # Errors
/// When it is of another one.
pub(crate) fn check_replica(
    context: &CommandContext<'_>,
    block: &DatanodeBlockId,
) -> Result<(), Failure> {
    let (id, asked) = (ContainerId::from_wire(block.container_id), block.replica_index());
    let has = context.store.container(id).map_or(0, |container| container.info().replica_index);
    if asked > 0 && has > 0 && asked != has {
        return Err(StorageError::ReplicaIndex { id, has, asked }.into());
    }
    Ok(())
}

/// Creates a missing container: clients never do.
fn ensure(
    context: &CommandContext<'_>,
    id: ContainerId,
    replica_index: i32,
    state: InitialState,
) -> Result<(), Failure> {
    let storage_type = context.storage_type;
    let new = NewContainer { id, replica_index, pipeline: None, disk: None, storage_type, state };
    context.store.create_container(new)?;
    Ok(())
}

/// The protocol's name of a command, for metrics and logs.
pub fn name(kind: Option<Type>) -> &'static str {
    kind.map_or("Unknown", |kind| kind.as_str_name())
}
