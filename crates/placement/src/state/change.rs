//! Changes of the replicated state, and the results of applying them.
//!
//! The server encodes changes into log entries and writes the rows named by [`Touched`] in the same
//! batch as the applied index.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, DatanodeId, Pipeline, PipelineId, PipelineState};

use super::balancer::Balancer;
use super::container::{Container, Usage};
use super::deletion::Transaction;
use super::sequence::Sequence;
use crate::time::Millis;

/// One change of the replicated state.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new pipeline, ALLOCATED.
    AddPipeline(Pipeline),
    /// All members have reported the pipeline: it accepts writes.
    OpenPipeline(PipelineId),
    /// An operator puts a pipeline aside, or (false) back to use.
    SetPipelineDormant(PipelineId, bool),
    /// The pipeline accepts no more writes; its open containers are CLOSING from now on.
    ClosePipeline {
        /// The pipeline.
        id: PipelineId,
        /// When.
        now: Millis,
    },
    /// Removes the record of a pipeline whose groups were deleted.
    RemovePipeline(PipelineId),
    /// A new container, OPEN.
    AddContainer(Container),
    /// An event in a container's life.
    MoveContainer {
        /// The container.
        id: ContainerId,
        /// The event.
        event: LifeCycleEvent,
        /// When.
        now: Millis,
        /// Size and commit sequence as reported, to be kept with the record.
        usage: Usage,
    },
    /// All replicas of a CLOSED container are empty: it is DELETING.
    DeleteEmptied {
        /// The container.
        id: ContainerId,
        /// When.
        now: Millis,
        /// Size and commit sequence as reported.
        usage: Usage,
    },
    /// Deletes leftovers, of these indexes, of a container that was deleted as empty.
    ClearLeftOvers {
        /// The container.
        id: ContainerId,
        /// Indexes.
        indexes: Vec<u32>,
    },
    /// A container thought empty has a replica with blocks in it: it is not deleted, but CLOSED or
    /// QUASI_CLOSED like that replica.
    ReviveContainer {
        /// The container.
        id: ContainerId,
        /// True if the replica is QUASI_CLOSED: there may be others with more writes.
        quasi: bool,
        /// When.
        now: Millis,
    },
    /// Reserves the numbers after `expected` up to and including `last`.
    ReserveIds {
        /// Of which sequence.
        sequence: Sequence,
        /// The last number reserved before, as the proposer saw it.
        expected: u64,
        /// The last number reserved from now on.
        last: u64,
    },
    /// New transactions of the deletion log.
    AddDeletions(Vec<Transaction>),
    /// Transactions that every replica has acknowledged.
    RemoveDeletions(Vec<u64>),
    /// The container balancer was started or stopped, or has reached its next iteration.
    SetBalancer(Balancer),
    /// Destination of the replicas of a node that leaves; `None`: any nodes.
    SetDestination {
        /// The node that leaves.
        node: DatanodeId,
        /// The node that gets them.
        destination: Option<DatanodeId>,
    },
}

/// A row of the store that a change has written or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Touched {
    /// Table `pipelines`.
    Pipeline(PipelineId),
    /// Table `containers`.
    Container(ContainerId),
    /// Table `sequenceId`.
    Sequence(Sequence),
    /// Table `deletedBlocks`.
    Deletion(u64),
    /// Table `statefulServiceConfig`: the container balancer's row.
    Balancer,
    /// Table `statefulServiceConfig`: the row of the nodes' destinations.
    Destinations,
}

/// Result of a change: the rows to write, or the reason of the refusal.
pub type Applied = Result<Vec<Touched>, Refused>;

/// Reason for which a change was not applied. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such pipeline.
    #[error("pipeline {0} not found")]
    PipelineNotFound(PipelineId),
    /// A pipeline with that id exists.
    #[error("pipeline {0} exists already")]
    PipelineExists(PipelineId),
    /// The pipeline is not in a state that allows it.
    #[error("pipeline {id} is in state {state:?}")]
    PipelineState {
        /// The pipeline.
        id: PipelineId,
        /// Its state.
        state: PipelineState,
    },
    /// No such container.
    #[error("container {0} not found")]
    ContainerNotFound(ContainerId),
    /// A container with that id exists.
    #[error("container {0} exists already")]
    ContainerExists(ContainerId),
    /// The event does not fit the container's state.
    #[error("container {id} in state {} does not take event {}", .state.as_str_name(), .event.as_str_name())]
    ContainerState {
        /// The container.
        id: ContainerId,
        /// Its state.
        state: LifeCycleState,
        /// The event.
        event: LifeCycleEvent,
    },
    /// Leftovers of the container may not be deleted, or not as many.
    #[error("container {0} is not deleted and empty, or too many of its indexes were deleted")]
    NotLeftOver(ContainerId),
    /// A change of a later release, or one that is not whole.
    #[error("{0}")]
    Unknown(String),
    /// Applying it failed because of a bug.
    #[error("the change could not be applied because of a bug")]
    Failed,
    /// Another request reserved numbers since the proposer read the sequence.
    #[error("sequence {} is at {last}, not {expected}", .sequence.name())]
    SequenceMoved {
        /// The sequence.
        sequence: Sequence,
        /// Its last number.
        last: u64,
        /// The number that the proposer expected.
        expected: u64,
    },
}
