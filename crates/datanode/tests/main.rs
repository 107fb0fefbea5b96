//! DataNodes in one process around an SCM of the test, and DataNodes in processes that are killed.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod closing;
mod copying;
mod crash;
mod deletion;
mod failing_disk;
mod growing;
mod grpc;
mod identity;
mod pipelines;
mod places;
mod ratis;
mod small_blocks;
mod support;
mod writes;
