//! Writing keys.
//!
//! * [`KeyWriter`]: the caller's handle
//! * [`session`]: the open key: blocks from OM, commit
//! * [`replicated`]: a replicated key: blocks one after the other, recovery when one fails
//! * [`block`]: one block: chunks in flight, PutBlock, acknowledgements
//! * [`striped`]: an erasure-coded key: block groups, stripe by stripe
//! * [`chunk`]: buffers of chunks
//! * [`reservation`]: memory of buffered data, reserved as it arrives
//! * [`recover`]: reactions to failures

mod block;
mod chunk;
mod key_writer;
mod recover;
mod replicated;
mod reservation;
mod session;
mod striped;

pub use key_writer::KeyWriter;
pub use session::FinishOptions;
