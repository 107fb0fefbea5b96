//! Application of changes to the replicated state.
//!
//! [`Cluster::apply`] is the state machine: deterministic, no clock, refuses what does not fit.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, Pipeline, PipelineId, PipelineState};

use crate::cluster::Cluster;
use crate::state::change::{Applied, Change, Refused, Touched};
use crate::state::container::{Container, Usage};
use crate::state::history::Event;
use crate::state::lifecycle;
use crate::time::Millis;

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

    /// A pipeline goes: its members stay with the containers that are not closed.
    fn apply_remove_pipeline(&mut self, id: PipelineId) -> Applied {
        let entry = self.pipelines.get(id).ok_or(Refused::PipelineNotFound(id))?;
        let members = entry.member_ids();
        let mut touched = vec![Touched::Pipeline(id)];
        for container in self.containers.of_pipeline(id) {
            let is_written =
                |c: &Container| matches!(c.state, LifeCycleState::Open | LifeCycleState::Closing);
            if self.containers.get(container).is_some_and(is_written) {
                self.containers.update(container, |c| c.evidence.members.clone_from(&members));
                touched.push(Touched::Container(container));
            }
        }
        self.pipelines.remove(id);
        Ok(touched)
    }

    /// What is left of a deleted container goes, of these indexes. It is written down before any
    /// order is sent, so that what goes adds up whichever SCM orders it, and when.
    fn apply_clear(&mut self, id: ContainerId, indexes: &[u32]) -> Applied {
        let container = self.containers.get(id).ok_or(Refused::ContainerNotFound(id))?;
        let deleted = matches!(container.state, LifeCycleState::Deleting | LifeCycleState::Deleted);
        let group = 1..=container.config.required_nodes();
        let mut cleared = container.evidence.cleared.clone();
        cleared.extend(indexes.iter().filter(|index| group.contains(index)));
        let few = container.most_cleared().is_some_and(|most| cleared.len() <= most);
        if !deleted || !container.evidence.emptied || !few {
            return Err(Refused::NotLeftOver(id));
        }
        self.containers.update(id, |c| c.evidence.cleared = cleared);
        Ok(vec![Touched::Container(id)])
    }

    /// A container of which all replicas were seen empty comes to be deleted.
    fn note_emptied(&mut self, id: ContainerId) {
        self.containers.update(id, |c| c.evidence.emptied = true);
    }

    /// It was not deleted after all: what was seen of it was wrong, or is no longer so.
    fn apply_revive(&mut self, id: ContainerId, quasi: bool, now: Millis) -> Applied {
        let state = self.containers.get(id).ok_or(Refused::ContainerNotFound(id))?.state;
        if !matches!(state, LifeCycleState::Deleting | LifeCycleState::Deleted) {
            let event = LifeCycleEvent::Close;
            return Err(Refused::ContainerState { id, state, event });
        }
        let to = if quasi { LifeCycleState::QuasiClosed } else { LifeCycleState::Closed };
        self.containers.update(id, |c| {
            c.state = to;
            c.state_enter_ms = now;
            c.evidence.emptied = false;
        });
        self.histories.note(id, now, Event::Revived(to));
        Ok(vec![Touched::Container(id)])
    }
}
