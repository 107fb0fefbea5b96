//! Writing an erasure-coded key.
//!
//! * [`StripedWriter`]: gathers a stripe while the one before is written
//! * [`groups`]: block groups one after the other; a stripe that failed is written again to a new
//!   one
//! * [`group`]: one block group: cells to all replicas
//! * [`put`]: PutBlock to all replicas, while the cells of the next stripe are written
//! * [`replica`]: the replicas of a group, and calls to them
//! * [`parity`]: parity cells, computed on another core
//!
//! A replica answers for itself: no Raft group orders what is written. A stripe is acknowledged
//! when every replica of the group has acknowledged the PutBlock that lists it, and a group ends at
//! its last acknowledged stripe.

mod group;
mod groups;
mod parity;
mod put;
mod replica;
mod writer;

pub(super) use writer::StripedWriter;
