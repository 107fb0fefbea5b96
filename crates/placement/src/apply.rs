//! Application of changes to the records: deterministic, no clock, refuses what does not fit.

use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, Pipeline, PipelineId, PipelineState};

use crate::state::change::{Applied, Refused, Touched};
use crate::state::container::{Container, Containers, Usage};
use crate::state::deletion::DeletionLog;
use crate::state::history::{Event, Histories};
use crate::state::lifecycle;
use crate::state::pipeline::Pipelines;
use crate::time::Millis;

/// The records that changes of pipelines and containers are applied to.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    pub pipelines: &'a mut Pipelines,
    pub containers: &'a mut Containers,
    pub histories: &'a mut Histories,
}

impl Records<'_> {
    pub fn add_pipeline(&mut self, pipeline: &Pipeline) -> Applied {
        if !self.pipelines.insert(pipeline.clone()) {
            return Err(Refused::PipelineExists(pipeline.id));
        }
        Ok(vec![Touched::Pipeline(pipeline.id)])
    }

    pub fn pipeline_state(
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

    pub fn close_pipeline(&mut self, id: PipelineId, now: Millis) -> Applied {
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
            if self.move_container(container, LifeCycleEvent::Finalize, now, usage).is_ok() {
                touched.push(Touched::Container(container));
            }
        }
        Ok(touched)
    }

    pub fn add_container(&mut self, container: &Container) -> Applied {
        if self.containers.get(container.id).is_some() {
            return Err(Refused::ContainerExists(container.id));
        }
        // The pipeline may have closed since the leader's decision: the container is then created
        // in state CLOSING.
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

    pub fn move_container(
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
            // Without the change's own evidence, a deletion does not prove that the replicas were
            // empty.
            c.evidence.emptied &= event != LifeCycleEvent::Delete;
            if lifecycle::is_closed(to) {
                c.evidence.members.clear();
            }
        });
        self.histories.note(id, now, Event::Entered(to));
        Ok(vec![Touched::Container(id)])
    }

    /// Removes a pipeline: its members are recorded in the containers that are not closed.
    pub fn remove_pipeline(&mut self, id: PipelineId) -> Applied {
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

    /// Removes these indexes of a deleted container's leftover replicas. The change is replicated
    /// before any order is sent, so that the total is the same whichever SCM sends the orders, and
    /// when.
    pub fn clear(&mut self, id: ContainerId, indexes: &[u32]) -> Applied {
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

    /// A container of which all replicas were reported as empty is about to be deleted.
    pub fn note_emptied(&mut self, id: ContainerId) {
        self.containers.update(id, |c| c.evidence.emptied = true);
    }

    /// Cancels the deletion of a container: the evidence was wrong, or is outdated.
    pub fn revive(&mut self, id: ContainerId, quasi: bool, now: Millis) -> Applied {
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

/// The highest id of the forgotten transactions is stored: a replica that is reported later, and
/// has not applied all up to it, may have blocks that were deleted.
pub(crate) fn remove_deletions(
    deletions: &mut DeletionLog,
    containers: &mut Containers,
    ids: &[u64],
) -> Vec<Touched> {
    let mut touched = Vec::new();
    for id in ids {
        let Some(container) = deletions.get(*id).map(|t| t.container) else { continue };
        deletions.remove(*id);
        touched.push(Touched::Deletion(*id));
        let is_behind = |c: &Container| c.delete_transaction < *id;
        if containers.get(container).is_some_and(is_behind) {
            containers.update(container, |c| c.delete_transaction = *id);
            touched.push(Touched::Container(container));
        }
    }
    touched
}
