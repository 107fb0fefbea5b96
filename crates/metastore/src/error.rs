//! Errors of the store.

use std::path::PathBuf;

/// Result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The database could not be opened.
    #[error("cannot open the database at {}: {reason}", path.display())]
    Open {
        /// Directory of the database.
        path: PathBuf,
        /// RocksDB's message.
        reason: String,
    },
    /// Stored bytes do not match their checksum or do not decode.
    #[error("table {table} is corrupt: {reason}")]
    Corrupt {
        /// The table, or the operation where the table is not known.
        table: String,
        /// The reason.
        reason: String,
    },
    /// The disk is full.
    #[error("no space left for {operation}: {reason}")]
    NoSpace {
        /// The operation.
        operation: &'static str,
        /// RocksDB's message.
        reason: String,
    },
    /// Anything else RocksDB reports.
    #[error("{operation} failed: {reason}")]
    Failed {
        /// The operation.
        operation: &'static str,
        /// RocksDB's message.
        reason: String,
    },
    /// An earlier write or flush failed: the state on disk is unknown.
    #[error("{operation} refused, the database has failed: {reason}")]
    Broken {
        /// The operation.
        operation: &'static str,
        /// The first failure.
        reason: String,
    },
    /// No table of that name was declared at open.
    #[error("no table {0} in this database")]
    NoSuchTable(String),
}

impl Error {
    pub(crate) fn of(operation: &'static str, e: rust_rocksdb::Error) -> Self {
        let reason = e.to_string();
        if e.kind() == rust_rocksdb::ErrorKind::Corruption {
            return Self::Corrupt { table: operation.to_owned(), reason };
        }
        if reason.contains("No space left") || reason.contains("NoSpace") {
            return Self::NoSpace { operation, reason };
        }
        Self::Failed { operation, reason }
    }
}
