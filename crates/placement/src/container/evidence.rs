//! What has to be known before a container counts as one that nobody has, kept with its record.
//!
//! That SCM knows of no replica says nothing of nodes that it has not heard of since it started.
//! So the record has who may have one, whether all that ought to be there were seen empty, and what
//! was ordered away since. All of it is replicated. A record of an earlier release has none of it:
//! its container is kept wherever it turns up.

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, OperationalState, PipelineId};

use crate::cluster::Cluster;
use crate::state::change::{Applied, Refused, Touched};
use crate::state::container::Container;
use crate::state::history::Event;
use crate::state::replica::{Replica, ReplicaState};
use crate::time::Millis;

impl Cluster {
    /// Whether all that may have a replica of a container whose pipeline is gone, and that was not
    /// closed, have said that they have none. Only the members of the pipeline can have been
    /// written to: what is not closed is not copied.
    pub(super) fn nobody_can_have(&self, c: &Container, now: Millis) -> bool {
        let members = &c.evidence.members;
        self.replicas.of(c.id).is_empty()
            && !members.is_empty()
            && members.iter().all(|member| self.has_told_all(*member, now))
    }

    /// Whether a container that is CLOSING, without a pipeline and a known replica, may have
    /// acknowledged blocks. Those that have yet to say what they have would have them all: each
    /// member if it is erasure coded, else a majority.
    pub(crate) fn may_be_missing(&self, c: &Container) -> bool {
        let members = &c.evidence.members;
        let has_told = |id: DatanodeId| {
            self.nodes.get(id).is_some_and(|n| n.is_heard(None, self.settings.stale_after))
        };
        let silent = members.iter().filter(|member| !has_told(**member)).count();
        let enough =
            if c.config.is_ec() { members.len() } else { (members.len() / 2).saturating_add(1) };
        c.state == LifeCycleState::Closing
            && self.replicas.of(c.id).is_empty()
            && self.is_without_pipeline(c)
            && !members.is_empty()
            && silent >= enough
    }

    /// Whether a container's pipeline was removed, or it never had one.
    pub(super) fn is_without_pipeline(&self, c: &Container) -> bool {
        c.pipeline.is_none_or(|id| self.pipelines.get(id).is_none())
    }

    /// Whether a container is CLOSING and neither has a pipeline nor members of one.
    pub fn is_without_members(&self, id: ContainerId) -> bool {
        self.containers.get(id).is_some_and(|c| {
            c.state == LifeCycleState::Closing
                && c.evidence.members.is_empty()
                && self.is_without_pipeline(c)
        })
    }

    /// Those that have yet to say whether they have a replica of a container that is CLOSING, whose
    /// pipeline is gone, and of which no replica is known.
    pub fn silent_members(&self, id: ContainerId, now: Millis) -> Vec<DatanodeId> {
        let Some(c) = self.containers.get(id) else { return Vec::new() };
        if c.state != LifeCycleState::Closing || !self.replicas.of(id).is_empty() {
            return Vec::new();
        }
        let members = c.evidence.members.iter();
        members.copied().filter(|member| !self.has_told_all(*member, now)).collect()
    }

    /// Whether a container is on its way to its next state, so that looks at short intervals bring
    /// it there. One whose pipeline is gone, and of which only nodes that are away may have a
    /// replica, may wait for long.
    pub fn any_container_on_its_way(&self, now: Millis) -> bool {
        let waits = |c: &Container| {
            self.is_without_pipeline(c)
                && self.replicas.of(c.id).is_empty()
                && !self.nobody_can_have(c, now)
        };
        let in_state = |state| self.containers.in_state(state);
        let of = |id| self.containers.get(id);
        in_state(LifeCycleState::Closing).filter_map(of).any(|c| !waits(c))
            || in_state(LifeCycleState::QuasiClosed)
                .filter_map(of)
                .any(|c| self.closes_soon(c, now))
            || in_state(LifeCycleState::Deleting).any(|id| self.goes_soon(id))
    }

    /// Whether a QUASI_CLOSED container has a replica that an order is for. What changes with time
    /// alone is seen by the looks at long intervals.
    fn closes_soon(&self, c: &Container, now: Millis) -> bool {
        let replicas = self.replicas.of(c.id);
        let open = |r: &Replica| matches!(r.state, ReplicaState::Open | ReplicaState::Closing);
        replicas.iter().any(open) || !replicas.is_empty() && self.last_write_is_known(c, now)
    }

    /// Whether a DELETING container has no replica any more, or one that a node would delete. What
    /// is left with blocks in it goes at long intervals, if it may go.
    fn goes_soon(&self, id: ContainerId) -> bool {
        let replicas = self.replicas.of(id);
        replicas.is_empty() || replicas.iter().any(|r| r.keys == 0)
    }

    /// Whether what a node has is known: it was heard of lately, has told this leader what is
    /// there, and has no disk that could not be read. One that is decommissioned was emptied, and
    /// an operator says that it is gone.
    fn has_told_all(&self, id: DatanodeId, now: Millis) -> bool {
        self.nodes.get(id).is_some_and(|node| {
            node.details.op_state == OperationalState::Decommissioned
                || node.is_heard(Some(now), self.settings.stale_after)
                    && node.storage.iter().all(|disk| !disk.failed)
        })
    }

    /// A pipeline goes: its members stay with the containers that are not closed.
    pub(crate) fn apply_remove_pipeline(&mut self, id: PipelineId) -> Applied {
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
    pub(crate) fn apply_clear(&mut self, id: ContainerId, indexes: &[u32]) -> Applied {
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
    pub(crate) fn note_emptied(&mut self, id: ContainerId) {
        self.containers.update(id, |c| c.evidence.emptied = true);
    }

    /// It was not deleted after all: what was seen of it was wrong, or is no longer so.
    pub(crate) fn apply_revive(&mut self, id: ContainerId, quasi: bool, now: Millis) -> Applied {
        let state = self.containers.get(id).ok_or(Refused::ContainerNotFound(id))?.state;
        if !matches!(state, LifeCycleState::Deleting | LifeCycleState::Deleted) {
            let event = proto::hdds::LifeCycleEvent::Close;
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
