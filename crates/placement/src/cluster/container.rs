//! Containers of the cluster.

use std::sync::Arc;

use types::{ContainerId, DatanodeId, Pipeline};

use super::Cluster;
use crate::container::clean::Cleaning;
use crate::container::history::{note_order, note_orders};
use crate::container::left_over::LeftOvers;
use crate::container::locate::{LocateError, Locating};
use crate::container::reconcilable::{self, NotReconcilable};
use crate::container::{Holders, Reported, close};
use crate::state::container::Container;
use crate::state::decision::Decision;
use crate::state::order::Order;
use crate::time::Millis;

impl Cluster {
    pub(crate) fn reported(&self) -> Reported<'_> {
        let Self { settings, nodes, pipelines, replicas, .. } = self;
        Reported { settings, nodes, pipelines, replicas }
    }

    pub(crate) fn holders(&self) -> Holders<'_> {
        let Self { containers, pipelines, replicas, .. } = self;
        Holders { containers, pipelines, replicas }
    }

    pub(super) fn left_overs(&self) -> LeftOvers<'_> {
        let Self { settings, nodes, containers, replicas, watched_since, .. } = self;
        LeftOvers { settings, nodes, containers, replicas, watched_since: *watched_since }
    }

    /// Finalizes a container that accepts no more blocks: it is full, or a node or an operator
    /// requests that it closes. Does nothing if it is not OPEN.
    pub fn finalize_container(&self, id: ContainerId, now: Millis) -> Decision {
        close::finalize(&self.containers, id, now)
    }

    /// Orders for a CLOSING container: every node that has, or may make, a replica shall close it,
    /// unless it has.
    pub fn order_close(&self, id: ContainerId) -> Decision {
        close::order_close(self.holders(), id)
    }

    /// Checks CLOSED and DELETING containers: deletes the empty ones, completes the deletion of
    /// those without replicas.
    pub fn clean_containers(&mut self, now: Millis) -> Decision {
        let mut candidates = std::mem::take(&mut self.replicas.empty);
        let (reported, in_safe_mode) = (self.reported(), self.safe_mode.is_on());
        let cleaning = Cleaning { reported, containers: &self.containers, in_safe_mode };
        let decision = cleaning.clean(&mut candidates, now);
        self.replicas.empty = candidates;
        decision
    }

    /// Orders the deletion of leftovers of deleted containers, once all nodes had time to come
    /// back.
    pub fn clear_left_overs(&mut self, now: Millis) -> Decision {
        let mut known = std::mem::take(&mut self.replicas.left_over);
        let decision = self.left_overs().clear_all(&mut known, now);
        self.replicas.left_over = known;
        decision
    }

    /// Returns `true` if a container is CLOSING and has neither a pipeline nor members of one.
    pub fn is_without_members(&self, id: ContainerId) -> bool {
        self.reported().is_without_members(&self.containers, id)
    }

    /// Members that have not yet reported if they have a replica of a CLOSING container without a
    /// pipeline and without known replicas.
    pub fn silent_members(&self, id: ContainerId, now: Millis) -> Vec<DatanodeId> {
        self.reported().silent_members(&self.containers, id, now)
    }

    /// Returns `true` if a container is in a transition that checks at short intervals complete.
    /// One without a pipeline, of which only unreachable nodes may have a replica, may wait for
    /// long.
    pub fn any_container_on_its_way(&self, now: Millis) -> bool {
        self.reported().any_on_its_way(&self.containers, now)
    }

    /// The container, and the pipeline to reach it through: while OPEN that of its writes, else one
    /// for reads, of the nodes that have a replica, the best first.
    ///
    /// # Errors
    /// When there is no such container, or it has no known replica.
    pub fn locate(&self, id: ContainerId) -> Result<(&Container, Arc<Pipeline>), LocateError> {
        let (containers, pending) = (&self.containers, &self.pending);
        let in_safe_mode = self.safe_mode.is_on();
        Locating { reported: self.reported(), containers, pending, in_safe_mode }.locate(id)
    }

    /// The container, if its replicas can be reconciled.
    ///
    /// # Errors
    /// Why they cannot.
    pub fn reconcilable(&self, id: ContainerId) -> Result<&Container, NotReconcilable> {
        reconcilable::reconcilable(&self.containers, &self.replicas, &self.deletions, id)
    }

    /// Orders each node with a replica to compare it with those of the others, as an administrator
    /// requests. A node that has the only replica notes that in its log.
    ///
    /// # Errors
    /// Why the replicas cannot be reconciled.
    pub fn order_reconciliation(
        &mut self,
        id: ContainerId,
        now: Millis,
    ) -> Result<Vec<Order>, NotReconcilable> {
        self.reconcilable(id)?;
        let orders = reconcilable::order_reconciliation(&self.replicas, id);
        for order in &orders {
            let why = Some(reconcilable::WHY);
            note_order(&mut self.histories, &self.containers, id, order, why, now);
        }
        Ok(orders)
    }

    /// The nodes from whose replicas the others may get blocks.
    pub fn reconciliation_sources(&self, id: ContainerId) -> Vec<DatanodeId> {
        reconcilable::sources(&self.replicas, id)
    }

    /// Notes orders about single containers, that are sent because of what their containers are.
    pub fn note_orders(&mut self, orders: &[Order], now: Millis) {
        note_orders(&mut self.histories, &self.containers, orders, now);
    }
}
