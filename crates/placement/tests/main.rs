//! Tests of SCM's rules.

#![allow(clippy::unwrap_used)]

mod allocation;
mod containers;
mod deletion;
mod fixture;
mod nodes;
mod pipelines;
mod repairs;
mod replicas;
mod safemode;
mod sequences;
mod simulation;
