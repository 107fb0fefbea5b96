//! Evidence, kept in a container's record, that it has no replicas.
//!
//! SCM may have no replica of a container because nodes have not reported since it started. So the
//! record has the nodes that may have one, a flag that is set if all required replicas were
//! reported as empty, and the indexes deleted since. All of it is replicated. A record of an
//! earlier release has no evidence: its container is kept wherever a replica is reported.

use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, OperationalState};

use super::Reported;
use crate::state::container::{Container, Containers};
use crate::state::replica::{Replica, ReplicaState};
use crate::time::Millis;

impl Reported<'_> {
    /// Returns `true` if all nodes that may have a replica of a container without a pipeline, which
    /// was not closed, have reported that they have none. Only the members of the pipeline can have
    /// been written to: containers are copied only after they are closed.
    pub(crate) fn nobody_can_have(&self, c: &Container, now: Millis) -> bool {
        let members = &c.evidence.members;
        self.replicas.of(c.id).is_empty()
            && !members.is_empty()
            && members.iter().all(|member| self.has_told_all(*member, now))
    }

    /// Returns `true` if a CLOSING container without a pipeline and a known replica may have
    /// acknowledged blocks. The members that have not reported yet would have them all: each member
    /// if it is erasure coded, else a majority.
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

    /// Returns `true` if a container's pipeline was removed, or it never had one.
    pub(crate) fn is_without_pipeline(&self, c: &Container) -> bool {
        c.pipeline.is_none_or(|id| self.pipelines.get(id).is_none())
    }

    /// Returns `true` if a container is CLOSING and has neither a pipeline nor members of one.
    pub(crate) fn is_without_members(&self, containers: &Containers, id: ContainerId) -> bool {
        containers.get(id).is_some_and(|c| {
            c.state == LifeCycleState::Closing
                && c.evidence.members.is_empty()
                && self.is_without_pipeline(c)
        })
    }

    /// Members that have not yet reported if they have a replica of a CLOSING container without a
    /// pipeline and without known replicas.
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

    /// Returns `true` if a container is in a transition that checks at short intervals complete.
    /// One without a pipeline, of which only unreachable nodes may have a replica, may wait for
    /// long.
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

    /// Returns `true` if a QUASI_CLOSED container has a replica that an order can close.
    /// Transitions that only depend on time are left to the checks at long intervals.
    fn closes_soon(&self, c: &Container, now: Millis) -> bool {
        let replicas = self.replicas.of(c.id);
        let open = |r: &Replica| matches!(r.state, ReplicaState::Open | ReplicaState::Closing);
        replicas.iter().any(open) || !replicas.is_empty() && self.last_write_is_known(c, now)
    }

    /// Returns `true` if a DELETING container has no replica any more, or one that a node would
    /// delete. Leftovers with blocks are deleted at long intervals, if they may be deleted.
    fn goes_soon(&self, id: ContainerId) -> bool {
        let replicas = self.replicas.of(id);
        replicas.is_empty() || replicas.iter().any(|r| r.keys == 0)
    }

    /// Returns `true` if all replicas of a node are known: it sent a recent heartbeat, has reported
    /// its replicas to this leader, and has no unreadable disk. A decommissioned node was emptied,
    /// and the operator confirms that it was removed.
    fn has_told_all(&self, id: DatanodeId, now: Millis) -> bool {
        self.nodes.get(id).is_some_and(|node| {
            node.details.op_state == OperationalState::Decommissioned
                || node.is_heard(Some(now), self.settings.stale_after)
                    && node.storage.iter().all(|disk| !disk.failed)
        })
    }
}
