//! Timeout of a read.

/// Timeout of a read on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadTimeout {
    /// For as long as it takes: there is no other replica to ask, or none was better.
    Unlimited,
    /// No longer than the limit for reads: the client can ask another replica.
    Limited,
}
