//! Method numbers of the framed transport: which pair of messages a frame carries.

/// `OMRequest` → `OMResponse`.
pub const OM: u16 = 1;
/// `SCMBlockLocationRequest` → `SCMBlockLocationResponse`.
pub const SCM_BLOCK: u16 = 2;
/// `SCMDatanodeRequest` → `SCMDatanodeResponse`.
pub const SCM_DATANODE: u16 = 3;
/// `ScmMembershipRequestProto` → `ScmMembershipResponseProto`: the cluster of an SCM, and the
/// members of its Raft group. An SCM answers it before it serves anything else.
pub const SCM_MEMBERSHIP: u16 = 15;
/// `ScmContainerLocationRequest` → `ScmContainerLocationResponse`.
pub const SCM_CONTAINER_LOCATION: u16 = 4;
/// `ContainerCommandRequestProto` → `ContainerCommandResponseProto`, chunk data in the payload.
pub const CONTAINER: u16 = 5;
/// Raft messages of many groups, one-way.
pub const RAFT: u16 = 6;
/// A piece of a Raft snapshot.
pub const RAFT_SNAPSHOT: u16 = 7;
/// `OMStateRequest` → `OMStateResponse`, answered by every OM.
pub const OM_STATE: u16 = 20;
/// `OMAdminCall` → the answer of the method it names.
pub const OM_ADMIN: u16 = 21;
/// `BackgroundServicesRequest` → `BackgroundServicesResponse`, answered by every role about itself.
pub const BACKGROUND_SERVICES: u16 = 13;
/// `DeletionStatusRequest` → `DeletionStatusResponse`, answered by every role about itself.
pub const DELETION_STATUS: u16 = 14;
/// Chunk bytes that a replica lacks, asked of a peer.
pub const PAYLOAD_FETCH: u16 = 8;
/// A piece of a container that one DataNode copies to another.
pub const CONTAINER_PUSH: u16 = 9;
/// Nothing → nothing: whether a DataNode is there.
pub const ALIVE: u16 = 10;
/// A reader got bytes of a replica that do not have their checksums: container and block, eight
/// bytes each, big-endian.
pub const REPORT_DAMAGE: u16 = 11;
/// A pipeline's id (16 bytes) → the DataNode's id (16 bytes) and what it has of the pipeline (one
/// byte: 0 its group, 1 nothing since it closed it, 2 nothing). Between members of a pipeline that
/// is closed.
pub const PIPELINE_PRESENCE: u16 = 12;
