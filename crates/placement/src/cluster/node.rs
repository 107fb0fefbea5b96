//! DataNodes of the cluster.

use types::{DatanodeDetails, DatanodeId, OperationalState, PipelineId};

use super::Cluster;
use crate::node::destination::plan_destinations;
use crate::node::leave::{check_leaving_nodes, obstacles};
use crate::node::progress::leaving_progress;
use crate::node::register::Registration;
use crate::node::serve::{Serving, report_op_state};
use crate::node::watch::{Watching, heartbeat};
use crate::node::{
    DestinationChoice, DestinationError, LeavingNode, LeavingProgress, Obstacles, Registered,
    ServeError, Shift,
};
use crate::state::change::Change;
use crate::state::decision::Decision;
use crate::state::node::Storage;
use crate::time::Millis;

impl Cluster {
    fn serving(&mut self) -> Serving<'_> {
        Serving {
            nodes: &mut self.nodes,
            pipelines: &mut self.pipelines,
            destinations: &self.destinations,
            replicas: &mut self.replicas,
            pending: &mut self.pending,
            backoffs: &mut self.backoffs,
            histories: &mut self.histories,
        }
    }

    /// A node registers, listing the pipelines whose groups it has on disk. Its container report is
    /// handed to [`Cluster::report_all_replicas`], its pipeline report to
    /// [`Cluster::report_pipelines`], by the caller.
    pub fn register(
        &mut self,
        details: DatanodeDetails,
        storage: Vec<Storage>,
        pipelines_on_disk: &[PipelineId],
        now: Millis,
    ) -> (Registered, Decision) {
        let mut registration = Registration {
            nodes: &mut self.nodes,
            pipelines: &mut self.pipelines,
            replicas: &self.replicas,
            pending: &mut self.pending,
            backoffs: &mut self.backoffs,
            deletions: &mut self.deletions,
        };
        registration.register(details, storage, pipelines_on_disk, now)
    }

    /// A heartbeat of `node`. `None` when the node is unknown and has to register; else the shift
    /// back to HEALTHY, if there was one. A DEAD node has to register too: its replicas were
    /// forgotten.
    pub fn heartbeat(&mut self, node: DatanodeId, now: Millis) -> Option<Option<Shift>> {
        heartbeat(&mut self.nodes, node, now)
    }

    /// Expires the last heartbeat of a node, which is DEAD at the next check. For tests: a live
    /// node may send no heartbeat for longer than they wait.
    pub fn silence(&mut self, node: DatanodeId) {
        if let Some(entry) = self.nodes.get_mut(node) {
            entry.last_heartbeat = 0;
        }
    }

    /// Looks at the age of every node's last heartbeat. Pipelines of nodes that are STALE or DEAD,
    /// or that have not registered in the time after which they were DEAD, are to be closed. The
    /// replicas of a node that went DEAD are forgotten.
    pub fn watch_nodes(&mut self, now: Millis) -> (Vec<Shift>, Decision) {
        let mut watching = Watching {
            settings: &self.settings,
            pipelines: &self.pipelines,
            nodes: &mut self.nodes,
            replicas: &mut self.replicas,
            pending: &mut self.pending,
            backoffs: &mut self.backoffs,
            histories: &mut self.histories,
            watched_since: &mut self.watched_since,
        };
        watching.watch(now)
    }

    /// Begins to decommission a node. Does nothing if that is in progress or done.
    ///
    /// # Errors
    /// When it is in, or enters, maintenance.
    pub fn decommission(&mut self, id: DatanodeId, now: Millis) -> Result<Decision, ServeError> {
        self.serving().decommission(id, now)
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
        self.serving().begin_maintenance(id, expiry, now)
    }

    /// Takes a node back into service, whatever it was doing.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn recommission(&mut self, id: DatanodeId, now: Millis) -> Result<Decision, ServeError> {
        self.serving().recommission(id, now)
    }

    /// The operational state that a node reports. If it differs, the leader sends its own again;
    /// another SCM learns it from the node.
    pub fn report_op_state(
        &mut self,
        id: DatanodeId,
        state: OperationalState,
        expiry: i64,
        leads: bool,
    ) -> Decision {
        report_op_state(&mut self.nodes, &mut self.pipelines, id, (state, expiry), leads)
    }

    /// The destination of a node that leaves.
    pub fn destination(&self, node: DatanodeId) -> Option<DatanodeId> {
        self.destinations.get(&node).copied()
    }

    /// The changes that give nodes that begin to leave together their destinations.
    ///
    /// # Errors
    /// When the requested node cannot be the destination.
    pub fn plan_destinations(
        &self,
        leaving: &[DatanodeId],
        choice: DestinationChoice,
    ) -> Result<Vec<Change>, DestinationError> {
        plan_destinations(&self.replication(), &self.destinations, leaving, choice)
    }

    /// Obstacles that prevent a node from leaving.
    pub fn obstacles(&self, id: DatanodeId) -> Obstacles {
        obstacles(&self.replication(), &self.containers, id)
    }

    /// Progress of a node that leaves.
    pub fn leaving_progress(&self, id: DatanodeId) -> LeavingProgress {
        leaving_progress(&self.replication(), &self.containers, id)
    }

    /// Nodes that are neither in service nor through.
    pub fn any_node_leaves(&self) -> bool {
        self.nodes.iter().any(|n| n.leaving_since.is_some())
    }

    /// Checks all nodes that leave service, or whose maintenance is over.
    pub fn check_leaving_nodes(&mut self, now: Millis) -> (Vec<LeavingNode>, Decision) {
        if self.safe_mode.is_on() {
            return (Vec::new(), Decision::default());
        }
        let mut serving = Serving {
            nodes: &mut self.nodes,
            pipelines: &mut self.pipelines,
            destinations: &self.destinations,
            replicas: &mut self.replicas,
            pending: &mut self.pending,
            backoffs: &mut self.backoffs,
            histories: &mut self.histories,
        };
        check_leaving_nodes(&mut serving, &self.settings, &self.containers, now)
    }
}
