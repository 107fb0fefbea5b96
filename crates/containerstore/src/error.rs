//! Errors of the disks, and the one place that maps them to `Result` codes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use blockio::{IoError, IoErrorKind};
use container::bcsid::BcsidError;
use container::checksum::ChecksumError;
use container::chunks::ChunkListError;
use container::deletion::DeletionError;
use container::segment::SegmentError;
use container::state::{ContainerState, TransitionError};
use proto::datanode::Result as ResultCode;
use types::{BlockId, ContainerId, PipelineId};

/// Result of a storage operation.
pub type Result<T, E = StorageError> = std::result::Result<T, E>;

/// Faults of a `.container` file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ContainerFileFault {
    /// It cannot be read.
    #[error(transparent)]
    Io(Arc<std::io::Error>),
    /// It is another document.
    #[error("does not start with !<KeyValueContainerData>")]
    Tag,
    /// A line is no field.
    #[error("no field: {0}")]
    NoField(String),
    /// A field is not there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// An impossible value of a field.
    #[error("{name} is not valid: {value}")]
    Field {
        /// The field.
        name: String,
        /// Its value.
        value: String,
    },
    /// It is not as it was written.
    #[error("checksum mismatch")]
    Checksum,
}

/// Errors of the disks.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StorageError {
    /// No such container here.
    #[error("container {0} does not exist")]
    ContainerNotFound(ContainerId),
    /// There are records of the container, but its directory is missing.
    #[error("container {0} is lost: its records are here, its directory is not")]
    ContainerMissing(ContainerId),
    /// The container's state does not allow it.
    #[error("container {id} is {state} and takes no writes")]
    NotWritable {
        /// The container.
        id: ContainerId,
        /// Its state.
        state: ContainerState,
    },
    /// An entry of the log for a container that was closed here without the log: other replicas
    /// carry it out.
    #[error("container {0} was closed without its pipeline's log, which has more for it")]
    ClosedBesideLog(ContainerId),
    /// A change that is only for a container whose pipeline has no group on this node.
    #[error("container {id} still has its pipeline {pipeline} here")]
    PipelineLives {
        /// The container.
        id: ContainerId,
        /// Its pipeline.
        pipeline: PipelineId,
    },
    /// Copying a container that is not closed.
    #[error("container {id} is {state} and cannot be copied")]
    NotClosed {
        /// The container.
        id: ContainerId,
        /// Its state.
        state: ContainerState,
    },
    /// A copy of a container that is here.
    #[error("container {0} is here already")]
    AlreadyHere(ContainerId),
    /// A container of which a copy is in progress here.
    #[error("container {0} is being copied to a disk of this node")]
    BeingMade(ContainerId),
    /// A copy that did not arrive whole.
    #[error("the copy of container {id} did not arrive: {reason}")]
    NotArrived {
        /// The container.
        id: ContainerId,
        /// The reason.
        reason: String,
    },
    /// A replica that stays on its disk.
    #[error("container {id} is not moved to another disk: {reason}")]
    NotRelocated {
        /// The container.
        id: ContainerId,
        /// The reason.
        reason: String,
    },
    /// A replica that cannot be reconciled with others, or not now.
    #[error("container {id} is not reconciled: {reason}")]
    NotReconciled {
        /// The container.
        id: ContainerId,
        /// The reason.
        reason: String,
    },
    /// A change of state that is not allowed.
    #[error("container {id}: {error}")]
    Transition {
        /// The container.
        id: ContainerId,
        /// The change.
        error: TransitionError,
    },
    /// The replica has another index than the requested one.
    #[error("container {id} has replica index {has}, not {asked}")]
    ReplicaIndex {
        /// The container.
        id: ContainerId,
        /// Index it has.
        has: i32,
        /// Requested index.
        asked: i32,
    },
    /// Deleting a container that takes writes.
    #[error("container {0} is open and cannot be deleted")]
    DeleteOnOpen(ContainerId),
    /// Deleting a container that has blocks.
    #[error("container {id} has {blocks} blocks and cannot be deleted")]
    DeleteOnNonEmpty {
        /// The container.
        id: ContainerId,
        /// Blocks in it.
        blocks: u64,
    },
    /// No such block here.
    #[error("block {0} does not exist")]
    NoSuchBlock(BlockId),
    /// This replica lags behind the reader.
    #[error("{block}: {error}")]
    Behind {
        /// The requested block.
        block: BlockId,
        /// The lag.
        error: BcsidError,
    },
    /// This replica is replaying its log and has not reached the block yet.
    #[error("block {0} is not recovered yet")]
    Recovering(BlockId),
    /// A chunk or chunk list that cannot be.
    #[error("block {block}: {error}")]
    Chunks {
        /// The block.
        block: BlockId,
        /// The fault.
        error: ChunkListError,
    },
    /// Bytes that do not have their checksums.
    #[error("block {block}: {error}")]
    Checksum {
        /// The block.
        block: BlockId,
        /// The fault and its place.
        error: ChecksumError,
    },
    /// A packed block whose bytes changed on the disk.
    #[error("block {block} is damaged: {error}")]
    Damaged {
        /// The block.
        block: BlockId,
        /// The fault.
        error: SegmentError,
    },
    /// A range that is not in the block.
    #[error("block {block} has no bytes {offset}+{len}")]
    NoSuchChunk {
        /// The block.
        block: BlockId,
        /// Requested start.
        offset: u64,
        /// Requested length.
        len: u64,
    },
    /// A block file lacks bytes of its record.
    #[error("block {block} should have {expected} bytes on disk, there are {found}")]
    FileInconsistent {
        /// The block.
        block: BlockId,
        /// Bytes there should be.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A write to a packed block, which is immutable.
    #[error("block {0} is packed and cannot be extended")]
    Packed(BlockId),
    /// A write to a block that was finalized.
    #[error("block {0} is finalized and takes no writes")]
    Finalized(BlockId),
    /// A block of several chunks, where one is wanted.
    #[error("block {0} has more or less than one chunk")]
    NotSmall(BlockId),
    /// No disk has space, or the disk in question has none.
    #[error("out of disk space: {0}")]
    OutOfSpace(String),
    /// An invalid deletion transaction.
    #[error(transparent)]
    Deletion(#[from] DeletionError),
    /// File I/O.
    #[error("container {container}: {error}")]
    Io {
        /// The container whose file it was.
        container: ContainerId,
        /// The failed operation.
        error: IoError,
    },
    /// The disk's executor or directories.
    #[error("{}: {reason}", path.display())]
    Disk {
        /// The path.
        path: PathBuf,
        /// The failure.
        reason: String,
    },
    /// The disk's database.
    #[error("database: {0}")]
    Database(#[from] metastore::Error),
    /// A row that does not decode.
    #[error("row of {what} in container {container} is damaged: {reason}")]
    BadRow {
        /// The container.
        container: ContainerId,
        /// The kind of row.
        what: &'static str,
        /// The decoder's error.
        reason: String,
    },
    /// A `.container` file that cannot be understood.
    #[error("{}: {fault}", path.display())]
    ContainerFile {
        /// The file.
        path: PathBuf,
        /// The fault.
        fault: ContainerFileFault,
    },
    /// A directory in use, foreign, newer or damaged.
    #[error("{0}")]
    DataDir(String),
    /// The disk failed earlier and takes no more writes.
    #[error("disk {disk} has failed: {reason}")]
    DiskFailed {
        /// Its storage id.
        disk: String,
        /// The first failure.
        reason: String,
    },
    /// A disk that the pipeline or container needs is not configured.
    #[error("no disk {0}")]
    NoSuchDisk(String),
}

impl StorageError {
    /// Returns `true` if a disk did not respond in time, which proves nothing about its data.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind == IoErrorKind::Late)
    }

    /// The code that clients see. The one mapping there is.
    pub fn result(&self) -> ResultCode {
        match self {
            Self::ContainerNotFound(_) => ResultCode::ContainerNotFound,
            Self::ContainerMissing(_) => ResultCode::ContainerMissing,
            Self::NotWritable { state, .. } => match state {
                ContainerState::Unhealthy => ResultCode::ContainerUnhealthy,
                ContainerState::Closing => ResultCode::ContainerNotOpen,
                ContainerState::Closed | ContainerState::QuasiClosed => {
                    ResultCode::ClosedContainerIo
                }
                _ => ResultCode::InvalidContainerState,
            },
            Self::Transition { .. } | Self::NotClosed { .. } | Self::PipelineLives { .. } => {
                ResultCode::InvalidContainerState
            }
            Self::AlreadyHere(_) => ResultCode::ContainerExists,
            Self::BeingMade(_)
            | Self::NotArrived { .. }
            | Self::NotRelocated { .. }
            | Self::NotReconciled { .. } => ResultCode::ContainerInternalError,
            Self::ReplicaIndex { .. } => ResultCode::ContainerNotFound,
            Self::DeleteOnOpen(_) => ResultCode::DeleteOnOpenContainer,
            Self::DeleteOnNonEmpty { .. } => ResultCode::DeleteOnNonEmptyContainer,
            Self::NoSuchBlock(_) => ResultCode::NoSuchBlock,
            Self::Behind { error: BcsidError::Unknown { .. }, .. } | Self::Recovering(_) => {
                ResultCode::UnknownBcsid
            }
            Self::Behind { error: BcsidError::Mismatch { .. }, .. } => ResultCode::BcsidMismatch,
            Self::Chunks { error, .. } => match error {
                ChunkListError::WrongLength { .. } => ResultCode::InvalidWriteSize,
                _ => ResultCode::InvalidArgument,
            },
            Self::Checksum { .. } | Self::Damaged { .. } => ResultCode::ChecksumMismatch,
            Self::NoSuchChunk { .. } => ResultCode::UnableToFindChunk,
            Self::FileInconsistent { .. } => ResultCode::ChunkFileInconsistency,
            Self::Packed(_) => ResultCode::UnsupportedRequest,
            Self::Finalized(_) => ResultCode::BlockAlreadyFinalized,
            Self::NotSmall(_) => ResultCode::GetSmallFileError,
            Self::OutOfSpace(_) => ResultCode::DiskOutOfSpace,
            Self::Deletion(_) => ResultCode::InvalidArgument,
            Self::Io { error, .. } => match error.kind {
                IoErrorKind::NoSpace => ResultCode::DiskOutOfSpace,
                IoErrorKind::NotFound | IoErrorKind::Short => ResultCode::UnableToFindChunk,
                _ => ResultCode::IoException,
            },
            Self::Database(metastore::Error::NoSpace { .. }) => ResultCode::DiskOutOfSpace,
            Self::Database(_) | Self::BadRow { .. } => ResultCode::UnableToReadMetadataDb,
            Self::DiskFailed { .. } => ResultCode::IoException,
            Self::ContainerFile { .. } => ResultCode::ContainerMetadataError,
            Self::Disk { .. }
            | Self::DataDir(_)
            | Self::NoSuchDisk(_)
            | Self::ClosedBesideLog(_) => ResultCode::ContainerInternalError,
        }
    }

    pub(crate) fn not_reconciled(id: ContainerId, reason: impl ToString) -> Self {
        Self::NotReconciled { id, reason: reason.to_string() }
    }

    pub(crate) fn not_relocated(id: ContainerId, reason: impl ToString) -> Self {
        Self::NotRelocated { id, reason: reason.to_string() }
    }

    /// A disk that failed or could not be used, and why.
    pub fn disk(path: &Path, error: impl ToString) -> Self {
        Self::Disk { path: path.to_owned(), reason: error.to_string() }
    }

    /// Maps the error of a container's file or directory, `OutOfSpace` among them.
    pub(crate) fn file(path: &Path, error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::OutOfSpace(error.to_string()),
            _ => Self::disk(path, error),
        }
    }

    /// A row of a container that cannot be decoded, and why.
    pub fn row(container: ContainerId, what: &'static str, why: impl ToString) -> Self {
        Self::BadRow { container, what, reason: why.to_string() }
    }

    pub(crate) fn io(container: ContainerId) -> impl Fn(IoError) -> Self {
        move |error| Self::Io { container, error }
    }
}
