//! Groups of real hosts over an in-memory network, with real logs.

// Helpers, too, fail a test by panicking.
#![allow(clippy::unwrap_used)]

mod chaos;
mod clock;
mod crash;
mod damage;
mod hostile;
mod lost_log;
mod many;
mod members;
mod neighbours;
mod over_tcp;
mod payload;
mod replicate;
mod restart;
mod resting;
mod single;
mod snapshot;
mod support;
