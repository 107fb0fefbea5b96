//! End-to-end tests of OM: over its endpoints, with a fake SCM.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod acl;
mod audit;
mod blocks;
mod catch_up;
mod checkpoint;
mod compaction;
mod counters;
mod damaged_rows;
mod deletion;
mod directories;
mod durability;
mod endpoints;
mod extremes;
mod failing_group;
mod fairness;
mod features;
mod follower_reads;
mod ha;
mod hadoop;
mod latency;
mod lease;
mod linearizable;
mod members;
mod multipart;
mod names;
mod prepare;
mod quota;
mod snapshots;
mod start;
mod support;
mod trash;
