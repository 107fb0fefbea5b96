//! Why a load generator could not run, or a test failed.

/// Why a load generator could not run, or a test failed.
#[derive(Debug, thiserror::Error)]
pub enum FreonError {
    /// A flag makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The cluster refused or failed.
    #[error(transparent)]
    Client(#[from] client::Error),
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
