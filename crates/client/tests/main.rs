//! The client against servers in memory, with injected failures.
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
