//! Rules of containers, tested from outside: properties, tables of cases, golden bytes, junk.
#![allow(missing_docs, clippy::unwrap_used)]

mod checksum;
mod chunks;
mod extremes;
mod limits;
mod segment;
