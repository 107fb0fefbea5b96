//! Errors of the start ([`ScmError`]) and of requests ([`RequestError`]).

use framed::{Code, Status};
use multiraft::ProposeError;
use placement::NotReconcilable;
use placement::container::locate::LocateError;
use proto::block_location::Status as BlockStatus;
use proto::container_location::scm_container_location_response::Status as LocationStatus;
use replicated::ChangeMembersError;

/// SCM could not start.
#[derive(Debug, thiserror::Error)]
pub enum ScmError {
    /// A setting is missing or does not fit.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// A setting is invalid.
    #[error("{key}: {reason}")]
    Setting {
        /// The key.
        key: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// A setting of the pace of background work is invalid.
    #[error(transparent)]
    Pace(#[from] service::PaceError),
    /// The network topology schema cannot be used.
    #[error(transparent)]
    Schema(#[from] topology::SchemaError),
    /// The data directory is in use, another cluster's or of a newer layout.
    #[error(transparent)]
    DataDir(#[from] service::DataDirError),
    /// The database cannot be opened or read.
    #[error("scm.db: {0}")]
    Store(#[from] metastore::Error),
    /// A snapshot of another SCM was being restored when this one ended, and cannot be now.
    #[error("scm.db: a restore cannot be finished: {0}")]
    Restore(#[source] multiraft::MachineError),
    /// A leftover snapshot transfer of the last run cannot be removed.
    #[error("scm.db: a checkpoint of the last run cannot be removed: {0}")]
    Checkpoint(#[source] multiraft::MachineError),
    /// The database is Apache Ozone's, and cannot be taken over.
    #[error("{path} was written by Apache Ozone and cannot be taken over: {reason}")]
    TakeOver {
        /// The database.
        path: String,
        /// The obstacle.
        reason: String,
    },
    /// A row of the database is invalid.
    #[error("scm.db, table {table}: a row does not decode: {reason}")]
    Row {
        /// The table.
        table: &'static str,
        /// The reason.
        reason: String,
    },
    /// A port cannot be had.
    #[error(transparent)]
    Bind(#[from] service::BindError),
    /// Raft did not start, or this SCM does not lead, or was not let into its service.
    #[error("SCM: {0}")]
    Replicated(#[from] replicated::Error),
    /// The configuration does not identify this SCM among those of the service.
    #[error(
        "ozone.scm.node.id = '{named}' is not in ozone.scm.nodes.{service}, and no address there is this host's"
    )]
    WhichNode {
        /// The service.
        service: String,
        /// Value of the key.
        named: String,
    },
    /// The directory is that of another SCM of the service, or of one that was alone.
    #[error("{dir} belongs to SCM {found}, this one is {expected}")]
    AnotherScm {
        /// The directory.
        dir: String,
        /// Whose it is.
        found: String,
        /// This SCM.
        expected: String,
    },
    /// The SCMs that the configuration names are not of one cluster.
    #[error("SCM {0} is of cluster {1}, SCM {2} of {3}: ozone.scm.nodes names SCMs of two clusters", .nodes[0].0, .nodes[0].1, .nodes[1].0, .nodes[1].1)]
    TwoClusters {
        /// Two SCMs, each with its cluster.
        nodes: Box<[(String, String); 2]>,
    },
    /// A thread of blocking work ended early.
    #[error("start was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A request cannot be granted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RequestError {
    /// A field is missing or invalid.
    #[error("{0}")]
    Invalid(String),
    /// Another SCM leads.
    #[error("SCM is not the leader{}", .0.as_deref().map(|h| format!(". Suggested leader is {h}")).unwrap_or_default())]
    NotLeader(Option<String>),
    /// Not before the cluster has reported.
    #[error("SafeModePrecheck failed for {0}")]
    SafeMode(&'static str),
    /// There is no such container.
    #[error("Container #{0} not found")]
    ContainerNotFound(types::ContainerId),
    /// No replica of the container is known.
    #[error("{0}")]
    NoReplicas(String),
    /// There is no such pipeline.
    #[error("Pipeline-{0} not found")]
    PipelineNotFound(types::PipelineId),
    /// There is no such node.
    #[error("{0}")]
    NodeNotFound(String),
    /// No place for new blocks.
    #[error("{0}")]
    NoRoom(String),
    /// The change does not fit the present state.
    #[error("{0}")]
    Refused(String),
    /// The user may not do that.
    #[error("Access denied for user {0}. SCM superuser privilege is required.")]
    AccessDenied(String),
    /// The request exists in the protocol, but is not supported.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// Too much is waiting.
    #[error("SCM is busy, try again")]
    Busy,
    /// The state cannot be changed now.
    #[error("{0}")]
    Failed(String),
}

impl From<service::AccessDenied> for RequestError {
    fn from(denied: service::AccessDenied) -> Self {
        Self::AccessDenied(denied.user)
    }
}

impl RequestError {
    /// As a refusal of the transport.
    pub fn to_status(&self) -> Status {
        let code = match self {
            Self::Invalid(_) | Self::Refused(_) | Self::AccessDenied(_) => Code::Invalid,
            Self::NotLeader(hint) => {
                return Status::not_leader(self.to_string(), hint.clone().unwrap_or_default());
            }
            Self::ContainerNotFound(_) | Self::PipelineNotFound(_) | Self::NodeNotFound(_) => {
                Code::NotFound
            }
            Self::SafeMode(_) | Self::NoReplicas(_) | Self::NoRoom(_) => Code::Unavailable,
            Self::Unsupported(_) => Code::Unimplemented,
            Self::Busy => Code::Busy,
            Self::Failed(_) => Code::Internal,
        };
        Status::new(code, self.to_string())
    }

    /// The status in the block protocol's responses; `None` if the transport reports it.
    pub fn block_status(&self) -> Option<BlockStatus> {
        Some(match self {
            Self::NotLeader(_) | Self::Busy | Self::Unsupported(_) | Self::AccessDenied(_) => {
                return None;
            }
            Self::Invalid(_) => BlockStatus::InvalidBlockSize,
            Self::SafeMode(_) => BlockStatus::SafeModeException,
            Self::ContainerNotFound(_) => BlockStatus::ContainerNotFound,
            Self::NoReplicas(_) => BlockStatus::NoReplicaFound,
            Self::PipelineNotFound(_) => BlockStatus::PipelineNotFound,
            Self::NodeNotFound(_) => BlockStatus::NoSuchDatanode,
            Self::NoRoom(_) => BlockStatus::FailedToAllocateEnoughBlocks,
            Self::Refused(_) => BlockStatus::UnexpectedContainerState,
            Self::Failed(_) => BlockStatus::InternalError,
        })
    }

    /// The status in the container location protocol's responses; `None` if the transport reports
    /// it.
    pub fn location_status(&self) -> Option<LocationStatus> {
        match self {
            Self::NotLeader(_) | Self::Busy | Self::Unsupported(_) => None,
            // The protocol's only code for missing objects.
            Self::ContainerNotFound(_) | Self::NoReplicas(_) | Self::PipelineNotFound(_) => {
                Some(LocationStatus::ContainerIsMissing)
            }
            // Ozone has no status for the rest: the response is unsuccessful, and the message has
            // the reason.
            _ => Some(LocationStatus::Ok),
        }
    }
}

impl From<types::WireError> for RequestError {
    fn from(e: types::WireError) -> Self {
        Self::Invalid(e.to_string())
    }
}

impl From<LocateError> for RequestError {
    fn from(e: LocateError) -> Self {
        match e {
            LocateError::NotFound(id) => Self::ContainerNotFound(id),
            LocateError::NoReplicas(..) => Self::NoReplicas(e.to_string()),
        }
    }
}

impl From<NotReconcilable> for RequestError {
    fn from(e: NotReconcilable) -> Self {
        Self::Refused(e.to_string())
    }
}

impl From<ChangeMembersError> for RequestError {
    fn from(e: ChangeMembersError) -> Self {
        match e {
            ChangeMembersError::Refused(why) => Self::Refused(why),
            // `admin/members.rs` fills the leader in.
            ChangeMembersError::NotLeader => Self::NotLeader(None),
            ChangeMembersError::Unavailable(_) | ChangeMembersError::Timeout(_) => {
                Self::Failed(e.to_string())
            }
        }
    }
}

impl From<ProposeError> for RequestError {
    fn from(e: ProposeError) -> Self {
        match e {
            // The endpoints check for the leader before they dispatch.
            ProposeError::NotLeader { .. } => Self::NotLeader(None),
            ProposeError::Busy => Self::Busy,
            other => Self::Failed(other.to_string()),
        }
    }
}
