//! Commands for DataNodes.

use types::{ContainerId, DatanodeId, OperationalState, PipelineId};

/// A command for a DataNode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Order {
    /// The node that it is for.
    pub node: DatanodeId,
    /// The task.
    pub kind: OrderKind,
}

/// A task for a DataNode. All of them may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OrderKind {
    /// Start the pipeline's group, or learn its members' current addresses.
    CreatePipeline(PipelineId),
    /// Stop the pipeline's group and erase it.
    ClosePipeline(PipelineId),
    /// Close a replica.
    CloseContainer {
        /// The container.
        id: ContainerId,
        /// The pipeline it is written through.
        pipeline: PipelineId,
        /// From QUASI_CLOSED straight to CLOSED.
        force: bool,
    },
    /// Delete a replica.
    DeleteContainer {
        /// The container.
        id: ContainerId,
        /// The index of the erasure-coded replica: if the node holds another one when the order
        /// arrives, it keeps that. 0 for a replicated container.
        index: u32,
        /// Even if there are blocks in it.
        force: bool,
    },
    /// Copy a replica to another node, or move it to another disk of the same one.
    ReplicateContainer {
        /// The container.
        id: ContainerId,
        /// The node that gets it. The node that it is for moves it to a disk of its storage type.
        target: DatanodeId,
    },
    /// Decode replicas of an erasure coded container from others and store them on the targets. The
    /// node that it is for coordinates this, and is the first target.
    ReconstructEcContainer {
        /// The container.
        id: ContainerId,
        /// Nodes with a good replica, and its index; each index once.
        sources: Vec<(DatanodeId, u32)>,
        /// Nodes that get a replica, and its index.
        targets: Vec<(DatanodeId, u32)>,
    },
    /// Compare a replica with those of other nodes, and fetch missing data from them.
    ReconcileContainer {
        /// The container.
        id: ContainerId,
        /// The nodes that have the others.
        peers: Vec<DatanodeId>,
    },
    /// Sets the operational state that an operator requested.
    SetOperationalState {
        /// The state.
        state: OperationalState,
        /// End of the state, in seconds since 1970; 0 is never.
        expiry: i64,
    },
    /// Delete the blocks of these transactions of the deletion log.
    DeleteBlocks(Vec<u64>),
}
