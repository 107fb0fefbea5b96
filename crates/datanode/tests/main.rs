//! DataNodes in one process around an SCM of the test, and DataNodes in processes that are killed.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod chunk_cache;
mod closing;
mod copying;
mod crash;
mod deletion;
mod disk_balancing;
mod extremes;
mod failing_disk;
mod failing_group;
mod growing;
mod grpc;
mod identity;
mod late_reads;
mod losing;
mod pipelines;
mod places;
mod ratis;
mod reconcile;
mod reconstruct;
mod repair_pace;
mod scanning;
mod small_blocks;
mod strangers;
mod support;
mod voting;
mod writes;
