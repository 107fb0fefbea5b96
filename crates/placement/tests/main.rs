//! Tests of SCM's rules.

#![allow(clippy::unwrap_used)]

mod allocation;
mod containers;
mod deletion;
mod erasure_coded;
mod extremes;
mod fixture;
mod nodes;
mod over_replication;
mod pipelines;
mod repairs;
mod replicas;
mod safemode;
mod sequences;
mod simulation;
