//! Refusals of commands, and the one place that converts them to a status of the protocol.

use proto::ozone::{OmResponse, Status, Type};
use types::WireError;

use crate::tables::Table;

/// The tables cannot be read. Not a business error: a replica that meets one while applying must
/// stop, because the others may have read the row.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ViewError {
    /// The store failed.
    #[error("reading {table}: {cause}", table = table.name())]
    Store {
        /// The table being read.
        table: Table,
        /// Error of the store.
        cause: String,
    },
    /// A row is no valid message of its table.
    #[error("row {key} of {table} is damaged: {cause}", table = table.name())]
    Damaged {
        /// The table.
        table: Table,
        /// The row's key, as text.
        key: String,
        /// Error of the decoder.
        cause: String,
    },
}

/// A refusal that the client gets to see.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs)]
pub enum OmError {
    #[error("Volume {0} is not found")]
    VolumeNotFound(String),
    #[error("Volume already exists")]
    VolumeExists,
    #[error("Volume {0} is not empty")]
    VolumeNotEmpty(String),
    #[error(
        "Volume {volume} reference count is not zero ({count}). Ozone features are enabled on this volume."
    )]
    VolumeReferenced { volume: String, count: i64 },
    #[error("Too many volumes for user {user}: limit is {limit}")]
    TooManyVolumes { user: String, limit: u32 },
    #[error("Cannot create more than {limit} buckets")]
    TooManyBuckets { limit: u64 },
    #[error("Bucket not found: {volume}/{bucket}")]
    BucketNotFound { volume: String, bucket: String },
    #[error("Bucket already exists: {volume}/{bucket}")]
    BucketExists { volume: String, bucket: String },
    #[error("Bucket is not empty{}", if *.uploads { ": it has multipart uploads under way" } else { "" })]
    BucketNotEmpty { uploads: bool },
    #[error("Detected loop in bucket links. Bucket name: {bucket}, Volume name: {volume}")]
    LinkLoop { volume: String, bucket: String },
    #[error("{0}")]
    InvalidVolumeName(String),
    #[error("{0}")]
    InvalidBucketName(String),
    #[error("{0}")]
    InvalidKeyName(String),
    #[error("{0}")]
    KeyNotFound(String),
    #[error("{0}")]
    KeyExists(String),
    #[error("{0}")]
    InvalidRequest(String),
    #[error("{0}")]
    NotSupported(String),
    #[error("{0}")]
    QuotaExceeded(String),
    #[error("{0}")]
    QuotaError(String),
    #[error("key {key} has ETag {actual}, expected {expected}")]
    EtagMismatch { key: String, actual: String, expected: String },
    #[error("key {0} has no ETag to compare with")]
    EtagNotAvailable(String),
    #[error("No such multipart upload with upload id {upload_id} for key {key}")]
    NoSuchUpload { upload_id: String, key: String },
    #[error("{0}")]
    InvalidPart(String),
    #[error("{0}")]
    InvalidPartOrder(String),
    #[error("{0}")]
    EntityTooSmall(String),
    #[error("Secret for accessId {0} not found")]
    S3SecretNotFound(String),
    #[error("Secret for '{0}' already exists")]
    S3SecretExists(String),
    #[error("accessId '{0}' doesn't exist")]
    AccessIdNotFound(String),
    #[error("{0}")]
    InvalidAclPath(String),
    #[error("Key {0} is open and synced by a writer: it cannot be renamed")]
    RenameOpenFile(String),
    #[error("{0}")]
    PermissionDenied(String),
    #[error("{0}")]
    UserMismatch(String),
    #[error("{0}")]
    PrefixNotFound(String),
    #[error("{0}")]
    KeyClosed(String),
    #[error("{0}")]
    UnderLeaseRecovery(String),
    #[error("{0}")]
    UnderLeaseSoftLimit(String),
    #[error("{0}")]
    InvalidPath(String),
    #[error("{0}")]
    FileNotFound(String),
    #[error("{0}")]
    DirectoryNotFound(String),
    #[error("{0}")]
    FileExists(String),
    #[error("{0}")]
    NotAFile(String),
    #[error("Directory create failed. Cannot create directory at root level")]
    DirectoryAtRoot,
    #[error("Directory is not empty. Key:{0}")]
    DirectoryNotEmpty(String),
    #[error("{0}")]
    KeyRename(String),
    #[error("Invalid KMS provider, check configuration hadoop.security.key.provider.path: {0}")]
    NoKeyProvider(String),
    #[error("{0}")]
    InvalidSnapshot(String),
    #[error("{0}")]
    ContainsSnapshot(String),
    #[error("{0}")]
    TooManySnapshots(String),
    #[error("{0}")]
    FeatureNotEnabled(String),
    #[error("Volume not found: {0}")]
    SnapshotVolume(String),
    #[error(transparent)]
    View(#[from] ViewError),
}

impl OmError {
    /// The protocol's status for this refusal.
    pub fn status(&self) -> Status {
        match self {
            Self::VolumeNotFound(_) => Status::VolumeNotFound,
            Self::VolumeExists => Status::VolumeAlreadyExists,
            Self::VolumeNotEmpty(_) => Status::VolumeNotEmpty,
            Self::VolumeReferenced { .. } => Status::VolumeIsReferenced,
            Self::TooManyVolumes { .. } => Status::UserTooManyVolumes,
            Self::TooManyBuckets { .. } => Status::TooManyBuckets,
            Self::BucketNotFound { .. } => Status::BucketNotFound,
            Self::BucketExists { .. } => Status::BucketAlreadyExists,
            Self::BucketNotEmpty { .. } => Status::BucketNotEmpty,
            Self::LinkLoop { .. } => Status::DetectedLoopInBucketLinks,
            Self::InvalidVolumeName(_) => Status::InvalidVolumeName,
            Self::InvalidBucketName(_) => Status::InvalidBucketName,
            Self::InvalidKeyName(_) => Status::InvalidKeyName,
            Self::KeyNotFound(_) => Status::KeyNotFound,
            Self::KeyExists(_) => Status::KeyAlreadyExists,
            Self::InvalidRequest(_) => Status::InvalidRequest,
            Self::NotSupported(_) => Status::NotSupportedOperation,
            Self::QuotaExceeded(_) => Status::QuotaExceeded,
            Self::QuotaError(_) => Status::QuotaError,
            Self::EtagMismatch { .. } => Status::EtagMismatch,
            Self::EtagNotAvailable(_) => Status::EtagNotAvailable,
            Self::NoSuchUpload { .. } => Status::NoSuchMultipartUploadError,
            Self::InvalidPart(_) => Status::InvalidPart,
            Self::InvalidPartOrder(_) => Status::InvalidPartOrder,
            Self::EntityTooSmall(_) => Status::EntityTooSmall,
            Self::S3SecretNotFound(_) => Status::S3SecretNotFound,
            Self::S3SecretExists(_) => Status::S3SecretAlreadyExists,
            Self::AccessIdNotFound(_) => Status::AccessIdNotFound,
            Self::InvalidAclPath(_) => Status::InvalidPathInAclRequest,
            Self::RenameOpenFile(_) => Status::RenameOpenFile,
            Self::PermissionDenied(_) => Status::PermissionDenied,
            Self::UserMismatch(_) => Status::UserMismatch,
            Self::PrefixNotFound(_) => Status::PrefixNotFound,
            Self::KeyClosed(_) => Status::KeyAlreadyClosed,
            Self::UnderLeaseRecovery(_) => Status::KeyUnderLeaseRecovery,
            Self::UnderLeaseSoftLimit(_) => Status::KeyUnderLeaseSoftLimitPeriod,
            Self::InvalidPath(_) => Status::InvalidPath,
            Self::FileNotFound(_) => Status::FileNotFound,
            Self::DirectoryNotFound(_) => Status::DirectoryNotFound,
            Self::FileExists(_) => Status::FileAlreadyExists,
            Self::NotAFile(_) => Status::NotAFile,
            Self::DirectoryAtRoot => Status::CannotCreateDirectoryAtRoot,
            Self::DirectoryNotEmpty(_) => Status::DirectoryNotEmpty,
            Self::KeyRename(_) => Status::KeyRenameError,
            Self::NoKeyProvider(_) => Status::InvalidKmsProvider,
            Self::InvalidSnapshot(_) => Status::InvalidSnapshotError,
            Self::ContainsSnapshot(_) => Status::ContainsSnapshot,
            Self::TooManySnapshots(_) => Status::TooManySnapshots,
            Self::FeatureNotEnabled(_) => Status::FeatureNotEnabled,
            Self::SnapshotVolume(_) => Status::VolumeNotFound,
            Self::View(_) => Status::InternalError,
        }
    }

    /// The refusal as an answer to the command `cmd_type`.
    pub fn into_response(self, cmd_type: i32, trace_id: Option<String>) -> OmResponse {
        OmResponse {
            cmd_type,
            trace_id,
            success: Some(false),
            status: self.status() as i32,
            message: Some(self.to_string()),
            ..OmResponse::default()
        }
    }

    pub(crate) fn bucket_not_found(volume: &str, bucket: &str) -> Self {
        Self::BucketNotFound { volume: volume.to_owned(), bucket: bucket.to_owned() }
    }

    pub(crate) fn key_not_found(volume: &str, bucket: &str, key: &str) -> Self {
        Self::KeyNotFound(format!("Key not found: {volume}/{bucket}/{key}"))
    }

    /// The refusal of a command that no OM of this release answers.
    pub(crate) fn unsupported(cmd_type: i32) -> Self {
        Self::NotSupported(format!("{} is not supported", command_name(cmd_type)))
    }

    pub(crate) fn missing(message: &str) -> Self {
        Self::InvalidRequest(format!("the request lacks its {message}"))
    }
}

impl From<WireError> for OmError {
    fn from(e: WireError) -> Self {
        Self::InvalidRequest(e.to_string())
    }
}

/// The command's name for people.
pub(crate) fn command_name(cmd_type: i32) -> String {
    match Type::try_from(cmd_type) {
        Ok(command) => command.as_str_name().to_owned(),
        Err(_) => format!("command {cmd_type}"),
    }
}
