//! Errors of load generators and tests.

/// Error of a load generator or a test.
#[derive(Debug, thiserror::Error)]
pub enum FreonError {
    /// An invalid argument.
    #[error("{0}")]
    Usage(String),
    /// The tables of a stopped server cannot be read or written.
    #[error("{0}")]
    Offline(String),
    /// The cluster refused or failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An error of the S3 gateway or the connection to it.
    #[error(transparent)]
    S3(#[from] crate::s3::S3Error),
    /// The content of a key differs from the first one's.
    #[error("{key} has digest {found}, the first key has {expected}")]
    Content {
        /// The key.
        key: String,
        /// SHA-256 of the first key.
        expected: String,
        /// SHA-256 of this one.
        found: String,
    },
    /// The content of a key differs from the written content.
    #[error("{key} differs from the written content at byte {at}")]
    Differs {
        /// The key.
        key: String,
        /// Position of the first byte that differs, is missing or is surplus.
        at: u64,
    },
    /// Keys to be read are missing.
    #[error(
        "{operation} reads keys {first} to {last}, but {missing} does not exist ({present} of {wanted} do): \
         create them with -o {creator} -n {wanted} and the same prefix, or read with -n {present}"
    )]
    Missing {
        /// The operation.
        operation: &'static str,
        /// The operation that creates such keys.
        creator: &'static str,
        /// The first key.
        first: String,
        /// The last key.
        last: String,
        /// The first missing one.
        missing: String,
        /// The number of existing keys before it.
        present: u64,
        /// The number of keys to be read.
        wanted: u64,
    },
    /// There are too few keys to list.
    #[error(
        "{operation} found {found} of the {batch} entries of its page: create at least \
         --batch-size times --threads of them with -o {creator} and the same prefix"
    )]
    TooFew {
        /// The operation.
        operation: &'static str,
        /// The operation that creates such keys.
        creator: &'static str,
        /// Entries found.
        found: usize,
        /// Required entries.
        batch: u32,
    },
    /// A file with the names of keys cannot be used.
    #[error("cannot read keys from {file}: {reason}")]
    KeyFile {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A path is not one of a file system, or its bucket has no files.
    #[error("{path}: {reason}")]
    Path {
        /// The path, as given.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A process to be measured does not exist.
    #[error("cannot read the CPU time of process {pid}: {reason}")]
    Process {
        /// Its id.
        pid: u32,
        /// The reason.
        reason: String,
    },
    /// The signal handlers cannot be installed.
    #[error("cannot wait for a signal: {0}")]
    Signal(std::io::Error),
}
