//! What can go wrong with the store.

use std::path::PathBuf;

/// Result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The database could not be opened.
    #[error("cannot open the database at {}: {reason}", path.display())]
    Open {
        /// Directory of the database.
        path: PathBuf,
        /// RocksDB's words.
        reason: String,
    },
    /// Stored bytes do not match their checksum or do not decode.
    #[error("table {table} is corrupt: {reason}")]
    Corrupt {
        /// The table, or the operation where the table is not known.
        table: String,
        /// What is wrong.
        reason: String,
    },
    /// The disk has no room.
    #[error("no space left for {operation}: {reason}")]
    NoSpace {
        /// What was attempted.
        operation: &'static str,
        /// RocksDB's words.
        reason: String,
    },
    /// Anything else RocksDB reports.
    #[error("{operation} failed: {reason}")]
    Failed {
        /// What was attempted.
        operation: &'static str,
        /// RocksDB's words.
        reason: String,
    },
    /// An earlier write or flush failed: what of it is on the disk is unknown.
    #[error("{operation} refused, the database has failed: {reason}")]
    Broken {
        /// What was attempted.
        operation: &'static str,
        /// What failed first.
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
