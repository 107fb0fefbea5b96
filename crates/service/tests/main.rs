//! Building blocks of every daemon, from outside.
#![allow(clippy::unwrap_used, missing_docs)]

mod audit;
mod background;
mod data_dir;
mod metrics;
mod status;
