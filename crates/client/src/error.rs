//! What can go wrong, and what a caller may branch on.

use proto::datanode::Result as ContainerResult;
use proto::ozone::Status;
use types::DatanodeId;

/// What a program branches on; the message is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The volume, bucket, key, upload, container … does not exist.
    NotFound,
    /// It exists already.
    AlreadyExists,
    /// It still holds something.
    NotEmpty,
    /// A precondition of the call (generation, ETag) does not hold.
    Conflict,
    /// The caller may not do that.
    Denied,
    /// The request makes no sense.
    Invalid,
    /// A quota or limit would be exceeded.
    QuotaExceeded,
    /// No disk has room for it. Once there is some it will work.
    NoSpace,
    /// SCM has not seen enough of the cluster yet; later it will work.
    SafeMode,
    /// No server could be reached, or none leads; later it may work.
    Unavailable,
    /// No answer in time.
    Timeout,
    /// What was being read is gone, because the key was overwritten, renamed or deleted meanwhile:
    /// opened again it is the new version.
    Overwritten,
    /// What was read is not what was written, on every replica.
    Corrupt,
    /// The server does not do that.
    Unsupported,
    /// A server failed.
    Internal,
}

/// Why a client call failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// OM's answer. Prints as Ozone's shell shows it: `STATUS_NAME message`.
    #[error("{} {message}", status.as_str_name())]
    Om {
        /// OM's status.
        status: Status,
        /// OM's words.
        message: String,
    },
    /// A DataNode's answer.
    #[error("datanode {datanode} answered {}: {message}", result.as_str_name())]
    Container {
        /// The server that answered.
        datanode: DatanodeId,
        /// The container protocol's code.
        result: ContainerResult,
        /// The DataNode's words.
        message: String,
    },
    /// SCM's answer.
    #[error("scm refused: {message}")]
    Scm {
        /// What to branch on.
        kind: ErrorKind,
        /// SCM's words.
        message: String,
    },
    /// The answer of a server that was asked about itself.
    #[error("{address} refused: {message}")]
    Server {
        /// Which server.
        address: String,
        /// What to branch on.
        kind: ErrorKind,
        /// The server's words.
        message: String,
    },
    /// A server could not be reached or had no leader until the deadline.
    #[error("{service} is unavailable: {message}")]
    Unavailable {
        /// Which service, with its address where there is one.
        service: String,
        /// The last failure.
        message: String,
    },
    /// A server did not answer in time.
    #[error("{service} did not answer within {waited:?}")]
    Timeout {
        /// Which service.
        service: String,
        /// How long we waited.
        waited: std::time::Duration,
    },
    /// Data failed its checksum or its length.
    #[error("block {block} of datanode {datanode}: {message}")]
    Corrupt {
        /// Which block.
        block: types::BlockId,
        /// Whose replica.
        datanode: DatanodeId,
        /// What differs.
        message: String,
    },
    /// The data of a key could not be read from any replica.
    #[error("cannot read block {block} from any of {} replicas: {}", failures.len(), list(failures))]
    NoReplica {
        /// Which block.
        block: types::BlockId,
        /// How each replica failed that was asked.
        failures: Vec<Error>,
    },
    /// Fewer replicas of a block group can be read than it takes to know its data.
    #[error(
        "cannot read block group {block}: {available} of the {needed} replicas that are needed can \
         be read; {}",
        list_replicas(missing)
    )]
    TooFewReplicas {
        /// Which block group.
        block: types::BlockId,
        /// Replicas that are needed: any that many.
        needed: usize,
        /// Replicas that can be read.
        available: usize,
        /// Replica indexes that cannot be read, and why.
        missing: Vec<(u32, Error)>,
    },
    /// What the replicas of a block group say of lost data is not what was written.
    #[error("block group {block}: {message}")]
    Undecodable {
        /// Which block group.
        block: types::BlockId,
        /// What differs.
        message: String,
    },
    /// A key that was being read is another one by now, or none, and what it was cannot be read any
    /// more.
    #[error("{key} was overwritten, renamed or deleted while it was read: {last}")]
    Overwritten {
        /// Which key.
        key: String,
        /// The block that it no longer has.
        block: types::BlockId,
        /// How reading the block failed.
        last: Box<Error>,
    },
    /// A key could not be written through any pipeline.
    #[error("cannot write {key} after {attempts} attempts: {last}")]
    WriteFailed {
        /// Which key.
        key: String,
        /// How many blocks were tried.
        attempts: u32,
        /// The last pipeline's failure.
        last: Box<Error>,
    },
    /// A reply that parsed but lacks what it must have.
    #[error("{service} sent an invalid reply: {message}")]
    Protocol {
        /// Which service.
        service: String,
        /// What is wrong.
        message: String,
    },
    /// The caller asked for something impossible; nothing was sent.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// What to branch on.
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

    /// OM's status, when OM answered.
    pub fn om_status(&self) -> Option<Status> {
        match self {
            Self::Om { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether OM answered with `status`.
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

/// What to branch on when every replica failed: the failure that may pass decides, for the block
/// may be there although another replica does not have it. A replica that was down when the
/// container was made has never heard of it.
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
