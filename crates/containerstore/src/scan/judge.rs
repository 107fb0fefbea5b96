//! Classification of errors: of a replica, or of the machine.

use std::io;
use std::path::Path;

use blockio::{IoError, IoErrorKind};
use types::ContainerId;

use super::Found;
use crate::error::{ContainerFileFault, StorageError};

/// Errors of RocksDB when the process lacks a resource.
const SHORTAGES: [&str; 2] = ["Too many open files", "Cannot allocate memory"];

/// Damage, if the error is evidence of it.
pub(super) fn judge(id: ContainerId, error: &StorageError) -> Found {
    if is_evidence(error) {
        return Found::Damage(error.to_string());
    }
    tracing::warn!(container = %id, %error, "cannot scan a replica now");
    Found::Moot
}

/// Returns an error of the system, with its text.
pub(super) fn of_system(id: ContainerId, path: &Path, error: &io::Error) -> StorageError {
    StorageError::Io { container: id, error: IoError::of("stat", path, error) }
}

fn is_evidence(error: &StorageError) -> bool {
    match error {
        StorageError::Io { error, .. } => is_loss(error.kind),
        StorageError::ContainerFile { fault: ContainerFileFault::Io(error), path } => {
            // Bytes that are no text.
            error.kind() == io::ErrorKind::InvalidData
                || is_loss(IoError::of("read", path, error).kind)
        }
        StorageError::Database(metastore::Error::Corrupt { .. }) => true,
        StorageError::Database(metastore::Error::Failed { reason, .. }) => {
            !SHORTAGES.iter().any(|shortage| reason.contains(shortage))
        }
        StorageError::ContainerFile { .. }
        | StorageError::BadRow { .. }
        | StorageError::Chunks { .. }
        | StorageError::Checksum { .. }
        | StorageError::Damaged { .. }
        | StorageError::NoSuchChunk { .. }
        | StorageError::FileInconsistent { .. } => true,
        _ => false,
    }
}

/// Bytes that are not there, or that the device does not give.
fn is_loss(kind: IoErrorKind) -> bool {
    matches!(kind, IoErrorKind::NotFound | IoErrorKind::Short | IoErrorKind::Device)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn what_the_process_lacks_says_nothing_of_a_replica() {
        let (id, path) = (ContainerId(1), Path::new("1.block"));
        let table = [
            (Errno::NOENT, true),
            (Errno::IO, true),
            (Errno::MFILE, false),
            (Errno::NOMEM, false),
            (Errno::ACCESS, false),
        ];
        for (errno, expected) in table {
            let error = of_system(id, path, &io::Error::from(errno));
            assert_eq!(is_evidence(&error), expected, "{error}");
        }
        let failed = |reason: &str| {
            let reason = reason.to_owned();
            is_evidence(&metastore::Error::Failed { operation: "get", reason }.into())
        };
        assert!(failed("IO error: While pread: Input/output error"));
        assert!(!failed("IO error: While open a file: Too many open files"));
    }
}
