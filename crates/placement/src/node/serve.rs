//! Operational states of nodes, as requested by operators.
//!
//! ```text
//! IN_SERVICE ─► DECOMMISSIONING ─► DECOMMISSIONED
//!     │  ▲ recommission: from anywhere, and when maintenance is over
//!     └──┴► ENTERING_MAINTENANCE ─► IN_MAINTENANCE
//! ```
//! The state is soft here: the node itself stores it, and sends it with every registration and
//! heartbeat. So it survives restarts of both, and every SCM has it.

use types::{DatanodeId, OperationalState};

use super::destination::forget_destination;
use crate::replica::Replication;
use crate::replica::backoff::Backoffs;
use crate::replica::report::forget_replicas_of;
use crate::settings::Settings;
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::history::Histories;
use crate::state::left_bytes::LeftBytes;
use crate::state::node::Health;
use crate::state::nodes::{Destinations, Nodes};
use crate::state::order::OrderKind;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;
use crate::time::Millis;

/// Reason for which a node does not change its state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// No such node.
    #[error("node {0} is not known")]
    Unknown(DatanodeId),
    /// Its state does not allow it.
    #[error("Cannot {verb} node {node} in {} state", .state.to_wire().as_str_name())]
    State {
        /// The requested change.
        verb: &'static str,
        /// The node.
        node: String,
        /// Its state.
        state: OperationalState,
    },
}

/// State that a change of a node's operational state reads and changes.
#[derive(Debug)]
pub(crate) struct Serving<'a> {
    pub nodes: &'a mut Nodes,
    pub pipelines: &'a mut Pipelines,
    pub destinations: &'a Destinations,
    pub replicas: &'a mut Replicas,
    pub pending: &'a mut PendingTasks,
    pub backoffs: &'a mut Backoffs,
    pub histories: &'a mut Histories,
}

impl Serving<'_> {
    pub(super) fn replication<'a>(&'a self, settings: &'a Settings) -> Replication<'a> {
        let Self { nodes, pipelines, replicas, pending, .. } = self;
        Replication { settings, nodes, pipelines, replicas, pending }
    }

    /// Begins to decommission a node. Does nothing if that is in progress or done.
    ///
    /// # Errors
    /// When it is in, or enters, maintenance.
    pub fn decommission(&mut self, id: DatanodeId, now: Millis) -> Result<Decision, ServeError> {
        use OperationalState::{Decommissioned, Decommissioning, InService};
        match self.op_state(id)? {
            InService => Ok(self.set_op_state(id, Decommissioning, 0, now)),
            Decommissioning | Decommissioned => Ok(Decision::default()),
            state => Err(self.wrong_state("decommission", id, state)),
        }
    }

    /// Begins to prepare a node for maintenance until `expiry`, in seconds since 1970; 0 is without
    /// end.
    ///
    /// # Errors
    /// When it is being decommissioned.
    pub fn begin_maintenance(
        &mut self,
        id: DatanodeId,
        expiry: i64,
        now: Millis,
    ) -> Result<Decision, ServeError> {
        use OperationalState::{EnteringMaintenance, InMaintenance, InService};
        match self.op_state(id)? {
            InService => Ok(self.set_op_state(id, EnteringMaintenance, expiry, now)),
            // Once more with another end.
            state @ (EnteringMaintenance | InMaintenance) => {
                Ok(self.set_op_state(id, state, expiry, now))
            }
            state => Err(self.wrong_state("start maintenance on", id, state)),
        }
    }

    /// Returns a node to service from any state.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn recommission(&mut self, id: DatanodeId, now: Millis) -> Result<Decision, ServeError> {
        match self.op_state(id)? {
            OperationalState::InService => Ok(Decision::default()),
            _ => Ok(self.set_op_state(id, OperationalState::InService, 0, now)),
        }
    }

    pub(super) fn set_op_state(
        &mut self,
        id: DatanodeId,
        state: OperationalState,
        expiry: i64,
        now: Millis,
    ) -> Decision {
        let mut decision = Decision::default();
        let Some(node) = self.nodes.get_mut(id) else { return decision };
        (node.details.op_state, node.details.op_state_expiry) = (state, expiry);
        let on_its_way = matches!(
            state,
            OperationalState::Decommissioning | OperationalState::EnteringMaintenance
        );
        node.leaving_since = on_its_way.then(|| node.leaving_since.unwrap_or(now));
        node.left_bytes = LeftBytes::default();
        let (details, health) = (node.details.clone(), node.health);
        if !on_its_way {
            decision.changes.extend(forget_destination(self.destinations, id));
        }
        self.pipelines.refresh_member(&details);
        decision.order(id, OrderKind::SetOperationalState { state, expiry });
        if state != OperationalState::InService {
            decision.merge(close_pipelines_of(self.pipelines, id, now));
        } else if health == Health::Dead {
            // In maintenance its replicas were counted although it was down.
            let Self { replicas, histories, backoffs, pending, .. } = self;
            forget_replicas_of(replicas, histories, backoffs, pending, id, now);
        }
        decision
    }

    fn op_state(&self, id: DatanodeId) -> Result<OperationalState, ServeError> {
        self.nodes.get(id).map(|n| n.details.op_state).ok_or(ServeError::Unknown(id))
    }

    fn wrong_state(
        &self,
        verb: &'static str,
        id: DatanodeId,
        state: OperationalState,
    ) -> ServeError {
        let node = self.nodes.get(id).map(|n| n.details.to_string()).unwrap_or_default();
        ServeError::State { verb, node, state }
    }
}

/// The operational state that a node reports. If it differs, the leader sends its own again;
/// another SCM learns it from the node.
pub(crate) fn report_op_state(
    nodes: &mut Nodes,
    pipelines: &mut Pipelines,
    id: DatanodeId,
    (state, expiry): (OperationalState, i64),
    leads: bool,
) -> Decision {
    let mut decision = Decision::default();
    let Some(node) = nodes.get_mut(id) else { return decision };
    let wanted = (node.details.op_state, node.details.op_state_expiry);
    if wanted == (state, expiry) {
        return decision;
    }
    if leads {
        let (state, expiry) = wanted;
        decision.order(id, OrderKind::SetOperationalState { state, expiry });
    } else {
        (node.details.op_state, node.details.op_state_expiry) = (state, expiry);
        let details = node.details.clone();
        pipelines.refresh_member(&details);
    }
    decision
}

/// Closes the pipelines of a node that accepts no more writes.
pub(super) fn close_pipelines_of(pipelines: &Pipelines, node: DatanodeId, now: Millis) -> Decision {
    let mut decision = Decision::default();
    for id in pipelines.of_node(node) {
        if pipelines.accepts_or_will_accept_writes(id) {
            decision.changes.push(Change::ClosePipeline { id, now });
        }
    }
    decision
}
