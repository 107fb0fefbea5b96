//! Why a load generator could not run, or a test failed.

/// Why a load generator could not run, or a test failed.
#[derive(Debug, thiserror::Error)]
pub enum FreonError {
    /// A flag makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Tables of a server that does not run cannot be read or written.
    #[error("{0}")]
    Offline(String),
    /// The cluster refused or failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The S3 gateway refused or failed.
    #[error(transparent)]
    S3(#[from] crate::s3::S3Error),
    /// A key does not hold what it should.
    #[error("{key} has digest {found}, the first key has {expected}")]
    Content {
        /// Which key.
        key: String,
        /// SHA-256 of the first key.
        expected: String,
        /// SHA-256 of this one.
        found: String,
    },
    /// A key does not hold what was written.
    #[error("{key} differs from what was written at byte {at}")]
    Differs {
        /// Which key.
        key: String,
        /// The first byte that differs, or is missing, or too much.
        at: u64,
    },
    /// Keys that are to be read are not there.
    #[error(
        "{operation} reads keys {first} to {last}, and {missing} is not there ({present} of {wanted} are): \
         create them with -o {creator} -n {wanted} under the same prefix, or read with -n {present}"
    )]
    Missing {
        /// What was to be done.
        operation: &'static str,
        /// What makes such keys.
        creator: &'static str,
        /// The first key.
        first: String,
        /// The last key.
        last: String,
        /// The first one that is not there.
        missing: String,
        /// How many there are before it.
        present: u64,
        /// How many were to be read.
        wanted: u64,
    },
    /// There are too few keys to be listed.
    #[error(
        "{operation} found {found} of the {batch} entries of its page: create at least \
         --batch-size times --threads of them with -o {creator} under the same prefix"
    )]
    TooFew {
        /// What was to be done.
        operation: &'static str,
        /// What makes such keys.
        creator: &'static str,
        /// Entries found.
        found: usize,
        /// Entries wanted.
        batch: u32,
    },
    /// A file with the names of keys cannot be used.
    #[error("cannot read keys from {file}: {reason}")]
    KeyFile {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A path is not one of a file system, or its bucket has no files.
    #[error("{path}: {reason}")]
    Path {
        /// The path as it was given.
        path: String,
        /// Why.
        reason: String,
    },
    /// A process to be measured is not there.
    #[error("cannot read the CPU time of process {pid}: {reason}")]
    Process {
        /// Its id.
        pid: u32,
        /// Why.
        reason: String,
    },
    /// The process cannot be told to end.
    #[error("cannot wait for a signal: {0}")]
    Signal(std::io::Error),
}
