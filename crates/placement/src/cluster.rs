//! Everything SCM knows, in one value.

use types::{ContainerId, DatanodeId, OperationalState, PipelineId};

use crate::node::Destinations;
use crate::{
    Backoffs, Balancer, Change, Containers, DeletionLog, Histories, Millis, Moves, Nodes,
    PendingTasks, Pipelines, Repaired, Replicas, SafeMode, Sequences, Settings, StorageTypeRepairs,
    Urgency,
};

/// Everything SCM knows. See the [crate] for how it changes.
#[derive(Debug)]
pub struct Cluster {
    /// What decisions depend on.
    pub settings: Settings,
    /// DataNodes (soft).
    pub nodes: Nodes,
    /// Pipelines (replicated; leader and reports are soft).
    pub pipelines: Pipelines,
    /// Containers (replicated; sizes are soft until the state changes).
    pub containers: Containers,
    /// Copies of containers on nodes (soft).
    pub replicas: Replicas,
    /// Copies and deletions of replicas under way (soft).
    pub pending: PendingTasks,
    /// Containers whose copies failed lately (soft).
    pub backoffs: Backoffs,
    /// Replicas on their way to another node (soft).
    pub moves: Moves,
    /// What the container balancer was asked to do; `None` before its first start (replicated).
    pub balancer: Option<Balancer>,
    /// Where the replicas of nodes that leave go to (replicated).
    pub destinations: Destinations,
    /// Which repairs go first when there are too many (soft).
    pub urgency: Urgency,
    /// Replicas on disks of another storage type (soft).
    pub storage_types: StorageTypeRepairs,
    /// What was repaired lately (soft).
    pub repaired: Repaired,
    /// What happened to containers lately (soft).
    pub histories: Histories,
    /// Blocks to be deleted (replicated; acknowledgements are soft).
    pub deletions: DeletionLog,
    /// Sequence numbers (replicated; the leader's ranges are soft).
    pub sequences: Sequences,
    /// The wait after a start (soft).
    pub safe_mode: SafeMode,
    /// When nodes were first looked at: a node that has not registered by then may still be on its
    /// way (soft).
    pub watched_since: Option<Millis>,
    /// Changes of the log that the rules never judged (soft).
    pub refused: RefusedChanges,
}

/// Changes that were refused although the rules did not refuse them, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedChanges {
    /// Their application panicked.
    pub panics: u64,
    /// This release does not know them.
    pub unknown: u64,
}

impl RefusedChanges {
    /// The application of one panicked.
    pub fn count_panic(&mut self) {
        self.panics = self.panics.saturating_add(1);
    }

    /// One is not known.
    pub fn count_unknown(&mut self) {
        self.unknown = self.unknown.saturating_add(1);
    }
}

impl Cluster {
    /// A cluster of which nothing is known yet. The server loads the replicated state into the
    /// parts, then calls [`Cluster::begin_safe_mode`].
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            nodes: Nodes::default(),
            pipelines: Pipelines::default(),
            containers: Containers::default(),
            replicas: Replicas::default(),
            pending: PendingTasks::default(),
            backoffs: Backoffs::default(),
            moves: Moves::default(),
            balancer: None,
            destinations: Destinations::default(),
            urgency: Urgency::default(),
            storage_types: StorageTypeRepairs::default(),
            repaired: Repaired::default(),
            histories: Histories::default(),
            deletions: DeletionLog::default(),
            sequences: Sequences::default(),
            safe_mode: SafeMode::default(),
            watched_since: None,
            refused: RefusedChanges::default(),
        }
    }

    /// Drops the replicated state, to be loaded anew from another SCM's snapshot. Soft state stays.
    pub fn forget_replicated(&mut self) {
        self.pipelines = Pipelines::default();
        self.containers = Containers::default();
        self.deletions = DeletionLog::default();
        self.sequences = Sequences::default();
        self.balancer = None;
        self.destinations = Destinations::default();
    }
}

/// What a rule wants done: changes to propose and orders to send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// To be proposed, in this order.
    pub changes: Vec<Change>,
    /// To be sent; they do not depend on the changes.
    pub orders: Vec<Order>,
}

impl Decision {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.orders.is_empty()
    }

    /// Adds what `other` wants.
    pub fn merge(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.orders.extend(other.orders);
    }

    pub(crate) fn order(&mut self, node: DatanodeId, kind: OrderKind) {
        self.orders.push(Order { node, kind });
    }
}

/// A command for a DataNode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Order {
    /// The node that it is for.
    pub node: DatanodeId,
    /// What to do.
    pub kind: OrderKind,
}

/// What a DataNode shall do. All of it may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OrderKind {
    /// Start the pipeline's group, or learn its members' current addresses.
    CreatePipeline(PipelineId),
    /// Stop the pipeline's group and erase it.
    ClosePipeline(PipelineId),
    /// Close a replica.
    CloseContainer {
        /// Which container.
        id: ContainerId,
        /// The pipeline it is written through.
        pipeline: PipelineId,
        /// From QUASI_CLOSED straight to CLOSED.
        force: bool,
    },
    /// Delete a replica.
    DeleteContainer {
        /// Which container.
        id: ContainerId,
        /// The index of the erasure-coded replica that is meant: if the node holds another one by
        /// the time the order arrives, it keeps that. 0 for a replicated container.
        index: u32,
        /// Even if there are blocks in it.
        force: bool,
    },
    /// Copy a replica to another node, or move it to another disk of the same one.
    ReplicateContainer {
        /// Which container.
        id: ContainerId,
        /// The node that gets it. The node that it is for moves it to a disk of its storage type.
        target: DatanodeId,
    },
    /// Decode replicas of an erasure coded container from others and store them on the targets. The
    /// node that it is for coordinates this, and is the first target.
    ReconstructEcContainer {
        /// Which container.
        id: ContainerId,
        /// Nodes with a good replica, and its index; each index once.
        sources: Vec<(DatanodeId, u32)>,
        /// Nodes that get a replica, and its index.
        targets: Vec<(DatanodeId, u32)>,
    },
    /// Compare a replica with those of other nodes, and get from them what it lacks.
    ReconcileContainer {
        /// Which container.
        id: ContainerId,
        /// The nodes that have the others.
        peers: Vec<DatanodeId>,
    },
    /// Take over what an operator wants of the node.
    SetOperationalState {
        /// What.
        state: OperationalState,
        /// When it ends by itself, in seconds since 1970; 0 is never.
        expiry: i64,
    },
    /// Delete the blocks of these transactions of the deletion log.
    DeleteBlocks(Vec<u64>),
}
