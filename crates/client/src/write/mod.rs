//! Writing keys.
//!
//! * [`KeyWriter`]: what a caller holds; blocks one after the other, recovery when one fails
//! * [`block`]: one block: chunks in flight, PutBlock, what is acknowledged
//! * [`chunk`]: bytes on their way to be a chunk
//! * [`exclude`]: what failed lately and is avoided
//! * [`recover`]: what to do about a failure

mod block;
mod chunk;
mod exclude;
mod recover;
mod writer;

pub(crate) use exclude::ExcludeList;
pub use writer::{FinishOptions, KeyWriter};
