//! The client against servers that keep everything in memory and fail when told to.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod datanode;
mod erasure_reads;
mod erasure_writes;
mod metadata;
mod om;
mod reads;
mod replicas;
mod support;
mod writes;
