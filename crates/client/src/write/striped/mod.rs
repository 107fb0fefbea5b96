//! Writing an erasure-coded key.
//!
//! * [`StripedWriter`]: gathers a stripe while the ones before are written
//! * [`groups`]: block groups one after the other; stripes that failed are written again to a new
//!   one
//! * [`group`]: one block group and what its replicas list
//! * [`unacknowledged`]: the stripes of a group that are on their way
//! * [`stripe`]: one of them; [`cells`]: its cells to all replicas
//! * [`put`]: PutBlock to all replicas, while the cells of later stripes are written
//! * [`replica`]: the replicas of a group, and calls to them
//! * [`parity`]: parity cells, computed on another core
//!
//! A replica answers for itself: no Raft group orders what is written. A stripe is acknowledged
//! when every replica of the group has acknowledged a PutBlock that lists it, and a group ends at
//! its last acknowledged stripe.

mod cells;
mod group;
mod groups;
mod parity;
mod put;
mod replica;
mod stripe;
mod unacknowledged;
mod writer;

pub(super) use writer::StripedWriter;
