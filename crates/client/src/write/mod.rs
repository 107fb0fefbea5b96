//! Writing keys.
//!
//! * [`KeyWriter`]: what a caller holds
//! * [`session`]: the open key: blocks from OM, commit
//! * [`replicated`]: a replicated key: blocks one after the other, recovery when one fails
//! * [`block`]: one block: chunks in flight, PutBlock, what is acknowledged
//! * [`striped`]: an erasure-coded key: block groups, stripe by stripe
//! * [`chunk`]: bytes on their way to be a chunk
//! * [`reservation`]: memory of what is gathered, taken as its bytes come
//! * [`exclude`]: what failed lately and is avoided
//! * [`recover`]: what to do about a failure

mod block;
mod chunk;
mod exclude;
mod key_writer;
mod recover;
mod replicated;
mod reservation;
mod session;
mod striped;

pub(crate) use exclude::ExcludeList;
pub use key_writer::KeyWriter;
pub use session::FinishOptions;
