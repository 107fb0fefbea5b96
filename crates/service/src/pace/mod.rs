//! How background work makes way for clients.
//!
//! Work is done in portions. Each says how long it took, and the next one is so large that it takes
//! about as long as it should ([`Portion`]): a moment while clients use the server, so that none
//! waits long behind one, and longer while nobody does. [`Pace`] keeps a size for either. It adds a
//! pause behind each portion, by which the work takes a share of the time only, and has the hours
//! in which it makes way for nobody. [`ClientLoad`] says whether clients use the server.

mod client_load;
mod hours;
mod portion;
mod share;

pub use client_load::ClientLoad;
pub use hours::Hours;
pub use portion::{Bounds, Portion};
pub use share::{Pace, Share, Turn};

/// A setting that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{key} is {value:?}: {reason}")]
pub struct PaceError {
    /// The key.
    pub key: &'static str,
    /// What it is set to.
    pub value: String,
    /// What is expected.
    pub reason: &'static str,
}
