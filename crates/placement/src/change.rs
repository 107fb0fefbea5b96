//! Changes of the replicated state, and their application.
//!
//! [`Cluster::apply`] is the state machine: deterministic, no clock, refuses what does not fit. The
//! server encodes changes into log entries and writes the rows named by [`Touched`] in the same
//! batch as the applied index.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, DatanodeId, Pipeline, PipelineId, PipelineState};

use crate::container::{Usage, lifecycle};
use crate::deletion::Transaction;
use crate::{Balancer, Cluster, Container, Event, Millis, Sequence};

/// One change of the replicated state.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new pipeline, ALLOCATED.
    AddPipeline(Pipeline),
    /// All members have reported the pipeline: it takes writes.
    OpenPipeline(PipelineId),
    /// An operator puts a pipeline aside, or (false) back to use.
    SetPipelineDormant(PipelineId, bool),
    /// The pipeline takes no writes any more; its open containers are CLOSING from now on.
    ClosePipeline {
        /// Which pipeline.
        id: PipelineId,
        /// When.
        now: Millis,
    },
    /// The pipeline's groups are gone, so is its record.
    RemovePipeline(PipelineId),
    /// A new container, OPEN.
    AddContainer(Container),
    /// An event in a container's life.
    MoveContainer {
        /// Which container.
        id: ContainerId,
        /// What happened.
        event: LifeCycleEvent,
        /// When.
        now: Millis,
        /// Size and commit sequence as reported, to be kept with the record.
        usage: Usage,
    },
    /// All replicas of a CLOSED container are empty: it is DELETING.
    DeleteEmptied {
        /// Which container.
        id: ContainerId,
        /// When.
        now: Millis,
        /// Size and commit sequence as reported.
        usage: Usage,
    },
    /// What is left of a container that was deleted as empty goes, of these indexes.
    ClearLeftOvers {
        /// Which container.
        id: ContainerId,
        /// Indexes.
        indexes: Vec<u32>,
    },
    /// A container thought empty has a replica with blocks in it: it is not deleted, but CLOSED or
    /// QUASI_CLOSED like that replica.
    ReviveContainer {
        /// Which container.
        id: ContainerId,
        /// Whether the replica is QUASI_CLOSED: there may be others with more in them.
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
    /// The container balancer was started or stopped, or has come to its next iteration.
    SetBalancer(Balancer),
    /// Where the replicas of a node that leaves go to; `None`: to any nodes.
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

/// What a change did: the rows to write, or why it was refused.
pub type Applied = Result<Vec<Touched>, Refused>;

/// Why a change was not applied. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such pipeline.
    #[error("pipeline {0} not found")]
    PipelineNotFound(PipelineId),
    /// A pipeline of that id is there already.
    #[error("pipeline {0} exists already")]
    PipelineExists(PipelineId),
    /// The pipeline is not in a state that allows it.
    #[error("pipeline {id} is in state {state:?}")]
    PipelineState {
        /// Which pipeline.
        id: PipelineId,
        /// Its state.
        state: PipelineState,
    },
    /// No such container.
    #[error("container {0} not found")]
    ContainerNotFound(ContainerId),
    /// A container of that id is there already.
    #[error("container {0} exists already")]
    ContainerExists(ContainerId),
    /// The event does not fit the container's state.
    #[error("container {id} in state {} does not take event {}", .state.as_str_name(), .event.as_str_name())]
    ContainerState {
        /// Which container.
        id: ContainerId,
        /// Its state.
        state: LifeCycleState,
        /// The event.
        event: LifeCycleEvent,
    },
    /// Nothing of the container may be ordered away, or not as much.
    #[error("container {0} is not deleted and empty, or too much of it was ordered away already")]
    NotLeftOver(ContainerId),
    /// A change of a later release, or one that is not whole.
    #[error("{0}")]
    Unknown(String),
    /// Applying it failed because of a bug.
    #[error("the change could not be applied because of a bug")]
    Failed,
    /// Another request reserved numbers since the proposer looked.
    #[error("sequence {} is at {last}, not {expected}", .sequence.name())]
    SequenceMoved {
        /// Which sequence.
        sequence: Sequence,
        /// Where it is.
        last: u64,
        /// Where the proposer thought it was.
        expected: u64,
    },
}

impl Cluster {
    /// Applies a committed change.
    ///
    /// # Errors
    /// When the change does not fit the state; nothing is changed then.
    pub fn apply(&mut self, change: &Change) -> Applied {
        match change {
            Change::AddPipeline(pipeline) => self.apply_add_pipeline(pipeline),
            Change::OpenPipeline(id) => {
                self.apply_pipeline_state(*id, PipelineState::Open, &[PipelineState::Allocated])
            }
            Change::SetPipelineDormant(id, true) => {
                self.apply_pipeline_state(*id, PipelineState::Dormant, &[PipelineState::Open])
            }
            Change::SetPipelineDormant(id, false) => {
                self.apply_pipeline_state(*id, PipelineState::Open, &[PipelineState::Dormant])
            }
            Change::ClosePipeline { id, now } => self.apply_close_pipeline(*id, *now),
            Change::RemovePipeline(id) => self.apply_remove_pipeline(*id),
            Change::AddContainer(container) => self.apply_add_container(container),
            Change::MoveContainer { id, event, now, usage } => {
                self.apply_move_container(*id, *event, *now, *usage)
            }
            Change::DeleteEmptied { id, now, usage } => {
                let touched =
                    self.apply_move_container(*id, LifeCycleEvent::Delete, *now, *usage)?;
                self.note_emptied(*id);
                Ok(touched)
            }
            Change::ClearLeftOvers { id, indexes } => self.apply_clear(*id, indexes),
            Change::ReviveContainer { id, quasi, now } => self.apply_revive(*id, *quasi, *now),
            Change::ReserveIds { sequence, expected, last } => {
                if self.sequences.reserve(*sequence, *expected, *last) {
                    return Ok(vec![Touched::Sequence(*sequence)]);
                }
                let at = self.sequences.last(*sequence);
                Err(Refused::SequenceMoved { sequence: *sequence, last: at, expected: *expected })
            }
            Change::AddDeletions(transactions) => {
                let touched = transactions.iter().map(|t| Touched::Deletion(t.id)).collect();
                transactions.iter().for_each(|t| self.deletions.insert(t.clone()));
                Ok(touched)
            }
            Change::RemoveDeletions(ids) => Ok(self.apply_remove_deletions(ids)),
            Change::SetBalancer(balancer) => {
                self.balancer = Some(balancer.clone());
                Ok(vec![Touched::Balancer])
            }
            Change::SetDestination { node, destination } => {
                match destination {
                    Some(destination) => self.destinations.insert(*node, *destination),
                    None => self.destinations.remove(node),
                };
                Ok(vec![Touched::Destinations])
            }
        }
    }

    fn apply_add_pipeline(&mut self, pipeline: &Pipeline) -> Applied {
        if !self.pipelines.insert(pipeline.clone()) {
            return Err(Refused::PipelineExists(pipeline.id));
        }
        Ok(vec![Touched::Pipeline(pipeline.id)])
    }

    fn apply_pipeline_state(
        &mut self,
        id: PipelineId,
        to: PipelineState,
        from: &[PipelineState],
    ) -> Applied {
        let state = self.pipelines.get(id).ok_or(Refused::PipelineNotFound(id))?.record.state;
        if !from.contains(&state) {
            return Err(Refused::PipelineState { id, state });
        }
        self.pipelines.set_state(id, to);
        Ok(vec![Touched::Pipeline(id)])
    }

    fn apply_close_pipeline(&mut self, id: PipelineId, now: Millis) -> Applied {
        let state = self.pipelines.get(id).ok_or(Refused::PipelineNotFound(id))?.record.state;
        if state == PipelineState::Closed {
            return Err(Refused::PipelineState { id, state });
        }
        self.pipelines.set_state(id, PipelineState::Closed);
        self.pipelines.note_closed(id, now);
        let mut touched = vec![Touched::Pipeline(id)];
        for container in self.containers.of_pipeline(id) {
            let Some(usage) = self.containers.get(container).map(Container::usage) else {
                continue;
            };
            if self.apply_move_container(container, LifeCycleEvent::Finalize, now, usage).is_ok() {
                touched.push(Touched::Container(container));
            }
        }
        Ok(touched)
    }

    fn apply_add_container(&mut self, container: &Container) -> Applied {
        if self.containers.get(container.id).is_some() {
            return Err(Refused::ContainerExists(container.id));
        }
        // The pipeline may have closed since the leader looked: the container is then born closing.
        let open = container.pipeline.is_some_and(|p| self.pipelines.is_open(p));
        let mut container = container.clone();
        if !open {
            container.state = LifeCycleState::Closing;
        }
        let (id, at, pipeline) = (container.id, container.state_enter_ms, container.pipeline);
        self.containers.insert(container);
        self.histories.note(id, at, Event::Created { pipeline });
        Ok(vec![Touched::Container(id)])
    }

    fn apply_move_container(
        &mut self,
        id: ContainerId,
        event: LifeCycleEvent,
        now: Millis,
        usage: Usage,
    ) -> Applied {
        let container = self.containers.get(id).ok_or(Refused::ContainerNotFound(id))?;
        let state = container.state;
        let to =
            lifecycle::next(state, event).ok_or(Refused::ContainerState { id, state, event })?;
        self.containers.update(id, |c| {
            c.state = to;
            c.state_enter_ms = now;
            c.used_bytes = usage.used_bytes;
            c.keys = usage.keys;
            c.sequence_id = c.sequence_id.max(usage.sequence_id);
            // It is deleted without that anybody has looked, unless the change says so.
            c.evidence.emptied &= event != LifeCycleEvent::Delete;
            if lifecycle::is_closed(to) {
                c.evidence.members.clear();
            }
        });
        self.histories.note(id, now, Event::Entered(to));
        Ok(vec![Touched::Container(id)])
    }

    /// What is forgotten is remembered as a number: a replica that comes later, and has not taken
    /// all up to it, may have blocks that were deleted.
    fn apply_remove_deletions(&mut self, ids: &[u64]) -> Vec<Touched> {
        let mut touched = Vec::new();
        for id in ids {
            let Some(container) = self.deletions.get(*id).map(|t| t.container) else { continue };
            self.deletions.remove(*id);
            touched.push(Touched::Deletion(*id));
            let is_behind = |c: &Container| c.delete_transaction < *id;
            if self.containers.get(container).is_some_and(is_behind) {
                self.containers.update(container, |c| c.delete_transaction = *id);
                touched.push(Touched::Container(container));
            }
        }
        touched
    }
}
