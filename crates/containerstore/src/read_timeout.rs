//! Timeout of a read.

/// Timeout of a read on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadTimeout {
    /// No timeout: there is no other replica to read, or none was better.
    Unlimited,
    /// The limit for reads: the client can read another replica.
    Limited,
}
