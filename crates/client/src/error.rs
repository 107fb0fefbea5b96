//! Errors of the client, and the kinds on which a caller may branch.

use proto::datanode::Result as ContainerResult;
use proto::ozone::Status;
use types::DatanodeId;

/// Kind of an error, for programs; the message is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The volume, bucket, key, upload, container … does not exist.
    NotFound,
    /// It already exists.
    AlreadyExists,
    /// It is not empty.
    NotEmpty,
    /// A precondition of the call (generation, ETag) does not hold.
    Conflict,
    /// Permission denied.
    Denied,
    /// The request is invalid.
    Invalid,
    /// A quota or limit would be exceeded.
    QuotaExceeded,
    /// No disk has sufficient space. A retry may succeed once there is some.
    NoSpace,
    /// SCM is in safe mode; a retry may succeed later.
    SafeMode,
    /// No server could be reached, or there is no leader; a retry may succeed later.
    Unavailable,
    /// Timeout.
    Timeout,
    /// The data being read was deleted, because the key was overwritten, renamed or deleted
    /// concurrently: reopened it is the new version.
    Overwritten,
    /// The data differs from the written data on every replica.
    Corrupt,
    /// The server does not support it.
    Unsupported,
    /// An internal error of a server.
    Internal,
}

/// Error of a client call.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// An error of OM. Formatted like in Ozone's shell: `STATUS_NAME message`.
    #[error("{} {message}", status.as_str_name())]
    Om {
        /// OM's status.
        status: Status,
        /// OM's message.
        message: String,
    },
    /// An error of a DataNode.
    #[error("datanode {datanode} answered {}: {message}", result.as_str_name())]
    Container {
        /// The DataNode.
        datanode: DatanodeId,
        /// The container protocol's code.
        result: ContainerResult,
        /// The DataNode's message.
        message: String,
    },
    /// An error of SCM.
    #[error("scm refused: {message}")]
    Scm {
        /// The kind.
        kind: ErrorKind,
        /// SCM's message.
        message: String,
    },
    /// An error of a server queried about itself.
    #[error("{address} refused: {message}")]
    Server {
        /// The server's address.
        address: String,
        /// The kind.
        kind: ErrorKind,
        /// The server's message.
        message: String,
    },
    /// A server could not be reached or had no leader before the deadline.
    #[error("{service} is unavailable: {message}")]
    Unavailable {
        /// The service, with its address if there is one.
        service: String,
        /// The last failure.
        message: String,
    },
    /// A request timed out.
    #[error("{service} did not answer within {waited:?}")]
    Timeout {
        /// The service.
        service: String,
        /// The timeout.
        waited: std::time::Duration,
    },
    /// Data failed its checksum or its length.
    #[error("block {block} of datanode {datanode}: {message}")]
    Corrupt {
        /// The block.
        block: types::BlockId,
        /// The DataNode of the replica.
        datanode: DatanodeId,
        /// Description of the difference.
        message: String,
    },
    /// The data of a key could not be read from any replica.
    #[error("cannot read block {block} from any of {} replicas: {}", failures.len(), list(failures))]
    NoReplica {
        /// The block.
        block: types::BlockId,
        /// The failure of each replica tried.
        failures: Vec<Error>,
    },
    /// Fewer replicas of a block group can be read than are required to decode its data.
    #[error(
        "cannot read block group {block}: {available} of the {needed} required replicas can \
         be read; {}",
        list_replicas(missing)
    )]
    TooFewReplicas {
        /// The block group.
        block: types::BlockId,
        /// Number of required replicas, of any index.
        needed: usize,
        /// Number of readable replicas.
        available: usize,
        /// Replica indexes that cannot be read, with the reasons.
        missing: Vec<(u32, Error)>,
    },
    /// Data decoded from the replicas of a block group has wrong checksums.
    #[error("block group {block}: {message}")]
    Undecodable {
        /// The block group.
        block: types::BlockId,
        /// Description of the difference.
        message: String,
    },
    /// A key was overwritten or deleted while it was read, and its old version cannot be read any
    /// more.
    #[error("{key} was overwritten, renamed or deleted while it was read: {last}")]
    Overwritten {
        /// The key.
        key: String,
        /// The block that is not a part of it any more.
        block: types::BlockId,
        /// The failure of the read.
        last: Box<Error>,
    },
    /// A key could not be written through any pipeline.
    #[error("cannot write {key} after {attempts} attempts: {last}")]
    WriteFailed {
        /// The key.
        key: String,
        /// Number of blocks tried.
        attempts: u32,
        /// The last pipeline's failure.
        last: Box<Error>,
    },
    /// A decoded response lacks a required part.
    #[error("{service} sent an invalid reply: {message}")]
    Protocol {
        /// The service.
        service: String,
        /// Description of the violation.
        message: String,
    },
    /// Invalid arguments; nothing was sent.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// The kind on which a caller may branch.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Om { status, .. } => om_kind(*status),
            Self::Container { result, .. } => container_kind(*result),
            Self::Scm { kind, .. } | Self::Server { kind, .. } => *kind,
            Self::Unavailable { .. } => ErrorKind::Unavailable,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Overwritten { .. } => ErrorKind::Overwritten,
            Self::NoReplica { failures, .. } => kind_of_all(failures.iter()),
            Self::TooFewReplicas { missing, .. } => kind_of_all(missing.iter().map(|(_, e)| e)),
            Self::Undecodable { .. } => ErrorKind::Corrupt,
            Self::WriteFailed { last, .. } => last.kind(),
            Self::Protocol { .. } => ErrorKind::Internal,
            Self::Usage(_) => ErrorKind::Invalid,
        }
    }

    /// OM's status, if OM responded.
    pub fn om_status(&self) -> Option<Status> {
        match self {
            Self::Om { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns `true` if OM responded with `status`.
    pub fn is_status(&self, status: Status) -> bool {
        self.om_status() == Some(status)
    }

    pub(crate) fn protocol(service: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Protocol { service: service.into(), message: message.into() }
    }

    pub(crate) fn om_reply(message: impl Into<String>) -> Self {
        Self::protocol("om", message)
    }
}

/// The kind of a failure of every replica: a transient failure takes precedence, because the block
/// may exist although another replica lacks it. A replica that was down when the container was
/// created does not have it.
fn kind_of_all<'e>(failures: impl DoubleEndedIterator<Item = &'e Error> + Clone) -> ErrorKind {
    let kinds = || failures.clone().map(Error::kind);
    [ErrorKind::Unavailable, ErrorKind::Timeout, ErrorKind::Corrupt]
        .into_iter()
        .find(|kind| kinds().any(|of_one| of_one == *kind))
        .or_else(|| kinds().next_back())
        .unwrap_or(ErrorKind::Unavailable)
}

fn list(failures: &[Error]) -> String {
    match failures {
        [] => "no replica is known".to_owned(),
        _ => failures.iter().map(Error::to_string).collect::<Vec<_>>().join("; "),
    }
}

fn list_replicas(missing: &[(u32, Error)]) -> String {
    let named = missing.iter().map(|(index, error)| format!("replica {index}: {error}"));
    named.collect::<Vec<_>>().join("; ")
}

fn om_kind(status: Status) -> ErrorKind {
    use Status as S;
    match status {
        S::VolumeNotFound
        | S::BucketNotFound
        | S::KeyNotFound
        | S::FileNotFound
        | S::DirectoryNotFound
        | S::NoSuchMultipartUploadError
        | S::S3SecretNotFound
        | S::UserNotFound
        | S::PrefixNotFound
        | S::TenantNotFound
        | S::AccessIdNotFound => ErrorKind::NotFound,
        S::VolumeNotUnique
        | S::VolumeAlreadyExists
        | S::BucketAlreadyExists
        | S::KeyAlreadyExists
        | S::FileAlreadyExists
        | S::DirectoryAlreadyExists
        | S::S3SecretAlreadyExists
        | S::TenantAlreadyExists => ErrorKind::AlreadyExists,
        S::VolumeNotEmpty | S::BucketNotEmpty | S::DirectoryNotEmpty | S::TenantNotEmpty => {
            ErrorKind::NotEmpty
        }
        S::AtomicWriteConflict | S::EtagMismatch | S::EtagNotAvailable => ErrorKind::Conflict,
        S::AccessDenied
        | S::PermissionDenied
        | S::UserMismatch
        | S::InvalidToken
        | S::TokenExpired
        | S::Unauthorized
        | S::InvalidAuthMethod => ErrorKind::Denied,
        S::InvalidKeyName
        | S::InvalidRequest
        | S::InvalidBucketName
        | S::InvalidVolumeName
        | S::InvalidPath
        | S::InvalidPart
        | S::InvalidPartOrder
        | S::EntityTooSmall
        | S::MissingUploadParts
        | S::MismatchMultipartList
        | S::DetectedLoopInBucketLinks
        | S::NotAFile => ErrorKind::Invalid,
        S::QuotaExceeded | S::QuotaError | S::TooManyBuckets | S::UserTooManyVolumes => {
            ErrorKind::QuotaExceeded
        }
        S::ScmInSafeMode => ErrorKind::SafeMode,
        S::Timeout => ErrorKind::Timeout,
        S::OmNotInitialized | S::RatisError | S::ScmGetPipelineException => ErrorKind::Unavailable,
        S::NotSupportedOperation
        | S::FeatureNotEnabled
        | S::NotSupportedOperationWhenPrepared
        | S::NotSupportedOperationPriorFinalization => ErrorKind::Unsupported,
        _ => ErrorKind::Internal,
    }
}

fn container_kind(result: ContainerResult) -> ErrorKind {
    use ContainerResult as R;
    match result {
        R::ContainerNotFound | R::NoSuchBlock | R::UnableToFindChunk | R::ContainerMissing => {
            ErrorKind::NotFound
        }
        R::ContainerExists | R::ContainerAlreadyExists => ErrorKind::AlreadyExists,
        R::DeleteOnNonEmptyContainer => ErrorKind::NotEmpty,
        R::ChecksumMismatch | R::ContainerChecksumError | R::ChunkFileInconsistency => {
            ErrorKind::Corrupt
        }
        R::DiskOutOfSpace => ErrorKind::NoSpace,
        R::BlockTokenVerificationFailed => ErrorKind::Denied,
        R::MalformedRequest | R::InvalidArgument | R::ProtocDecodingError => ErrorKind::Invalid,
        R::UnsupportedRequest | R::NoSuchAlgorithm | R::UnknownContainerType => {
            ErrorKind::Unsupported
        }
        R::ClosedContainerIo
        | R::ClosedContainerRetry
        | R::ContainerNotOpen
        | R::BlockNotCommitted
        | R::UnknownBcsid
        | R::BcsidMismatch => ErrorKind::Unavailable,
        _ => ErrorKind::Internal,
    }
}
