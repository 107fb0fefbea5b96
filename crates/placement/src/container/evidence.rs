//! What has to be known before a container counts as one that nobody has, kept with its record.
//!
//! That SCM knows of no replica says nothing of nodes that it has not heard of since it started.
//! So the record has who may have one, whether all that ought to be there were seen empty, and what
//! was ordered away since. All of it is replicated. A record of an earlier release has none of it:
//! its container is kept wherever it turns up.

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, OperationalState};

use super::Reported;
use crate::state::container::{Container, Containers};
use crate::state::replica::{Replica, ReplicaState};
use crate::time::Millis;

impl Reported<'_> {
    /// Whether all that may have a replica of a container whose pipeline is gone, and that was not
    /// closed, have said that they have none. Only the members of the pipeline can have been
    /// written to: what is not closed is not copied.
    pub(crate) fn nobody_can_have(&self, c: &Container, now: Millis) -> bool {
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
    pub(crate) fn is_without_pipeline(&self, c: &Container) -> bool {
        c.pipeline.is_none_or(|id| self.pipelines.get(id).is_none())
    }

    /// Whether a container is CLOSING and neither has a pipeline nor members of one.
    pub(crate) fn is_without_members(&self, containers: &Containers, id: ContainerId) -> bool {
        containers.get(id).is_some_and(|c| {
            c.state == LifeCycleState::Closing
                && c.evidence.members.is_empty()
                && self.is_without_pipeline(c)
        })
    }

    /// Those that have yet to say whether they have a replica of a container that is CLOSING, whose
    /// pipeline is gone, and of which no replica is known.
    pub(crate) fn silent_members(
        &self,
        containers: &Containers,
        id: ContainerId,
        now: Millis,
    ) -> Vec<DatanodeId> {
        let Some(c) = containers.get(id) else { return Vec::new() };
        if c.state != LifeCycleState::Closing || !self.replicas.of(id).is_empty() {
            return Vec::new();
        }
        let members = c.evidence.members.iter();
        members.copied().filter(|member| !self.has_told_all(*member, now)).collect()
    }

    /// Whether a container is on its way to its next state, so that looks at short intervals bring
    /// it there. One whose pipeline is gone, and of which only nodes that are away may have a
    /// replica, may wait for long.
    pub(crate) fn any_on_its_way(&self, containers: &Containers, now: Millis) -> bool {
        let waits = |c: &Container| {
            self.is_without_pipeline(c)
                && self.replicas.of(c.id).is_empty()
                && !self.nobody_can_have(c, now)
        };
        let in_state = |state| containers.in_state(state);
        let of = |id| containers.get(id);
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
}
