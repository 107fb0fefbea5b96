//! Tests of the crate, as one program.

#![allow(clippy::unwrap_used)]

mod conformance;
mod group;
mod join;
mod ledger;
