//! Writing an erasure-coded key.
//!
//! * [`StripedWriter`]: collects a stripe while earlier ones are written
//! * [`groups`]: one block group after the other; failed stripes are written again to a new one
//! * [`group`]: one block group and the lists of its replicas
//! * [`unacknowledged`]: the stripes of a group in flight
//! * [`stripe`]: one of them; [`cells`]: its cells to all replicas
//! * [`put`]: PutBlock to all replicas, while the cells of later stripes are written
//! * [`replica`]: the replicas of a group, and calls to them
//! * [`failure`]: failed replicas, and stripes that are not acknowledged
//! * [`parity`]: parity cells, computed on another core
//!
//! Replicas are independent: no Raft group orders the writes. A stripe is acknowledged when every
//! replica of the group has acknowledged a PutBlock that lists it, and a group ends at its last
//! acknowledged stripe.

mod cells;
mod failure;
mod group;
mod groups;
mod parity;
mod put;
mod replica;
mod stripe;
mod unacknowledged;
mod writer;

pub(super) use writer::StripedWriter;
