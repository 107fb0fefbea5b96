//! Throttling of background work in favour of clients.
//!
//! Work is done in batches. The duration of each determines the size of the next one, which should
//! take a target time ([`Portion`]): a short one while clients use the server, so that none waits
//! long, and a longer one otherwise. [`Pace`] keeps a size for either. It sleeps after each batch
//! so that background work uses a fixed share of time, except during off-peak hours. [`ClientLoad`]
//! detects client load.

mod client_load;
mod hours;
mod portion;
mod share;

pub use client_load::ClientLoad;
pub use hours::Hours;
pub use portion::{Bounds, Portion};
pub use share::{Pace, Share, Turn};

/// An invalid setting.
#[derive(Debug, thiserror::Error)]
#[error("{key} is {value:?}: {reason}")]
pub struct PaceError {
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The expected form.
    pub reason: &'static str,
}
