//! Method numbers of the framed transport: the pair of messages in a frame.

/// `OMRequest` → `OMResponse`.
pub const OM: u16 = 1;
/// `SCMBlockLocationRequest` → `SCMBlockLocationResponse`.
pub const SCM_BLOCK: u16 = 2;
/// `SCMDatanodeRequest` → `SCMDatanodeResponse`.
pub const SCM_DATANODE: u16 = 3;
/// `ScmMembershipRequestProto` → `ScmMembershipResponseProto`: the cluster id of an SCM, and the
/// members of its Raft group. An SCM serves it before anything else.
pub const SCM_MEMBERSHIP: u16 = 15;
/// `ScmContainerLocationRequest` → `ScmContainerLocationResponse`.
pub const SCM_CONTAINER_LOCATION: u16 = 4;
/// `ContainerCommandRequestProto` → `ContainerCommandResponseProto`, chunk data in the payload.
pub const CONTAINER: u16 = 5;
/// Raft messages of many groups, one-way.
pub const RAFT: u16 = 6;
/// A piece of a Raft snapshot.
pub const RAFT_SNAPSHOT: u16 = 7;
/// `OMStateRequest` → `OMStateResponse`, served by every OM.
pub const OM_STATE: u16 = 20;
/// `OMAdminCall` → the response of the method in it.
pub const OM_ADMIN: u16 = 21;
/// `BackgroundServicesRequest` → `BackgroundServicesResponse`, served by every role about itself.
pub const BACKGROUND_SERVICES: u16 = 13;
/// `DeletionStatusRequest` → `DeletionStatusResponse`, served by every role about itself.
pub const DELETION_STATUS: u16 = 14;
/// Chunk data that a replica lacks, requested from a peer.
pub const PAYLOAD_FETCH: u16 = 8;
/// A piece of a container that one DataNode copies to another.
pub const CONTAINER_PUSH: u16 = 9;
/// Empty → empty: a liveness check of a DataNode.
pub const ALIVE: u16 = 10;
/// A reader's report of replica data that does not match its checksums: container and block, eight
/// bytes each, big-endian.
pub const REPORT_DAMAGE: u16 = 11;
/// A pipeline's id (16 bytes) → the DataNode's id (16 bytes) and its state of the pipeline (one
/// byte: 0 its group exists, 1 removed after closing it, 2 unknown). Between members of a closed
/// pipeline.
pub const PIPELINE_PRESENCE: u16 = 12;
