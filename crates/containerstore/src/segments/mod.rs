//! Small blocks, packed.
//!
//! A block gets its place in the container's active segment when it is applied; the bytes wait in
//! memory, readable, and are written in long runs: when enough wait on the disk, or at a flush.
//! Until then the Raft log is what makes them durable.

mod append;
mod compact;
mod first_look;
mod read;
mod recover;
mod write;

pub(crate) use recover::{Recovered, recover};
