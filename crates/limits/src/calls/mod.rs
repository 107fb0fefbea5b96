//! Order of calls if they exceed the capacity.
//!
//! Hadoop's FairCallQueue with its DecayRpcScheduler, for calls that are futures: users with a
//! recent large share of all calls get a lower level, levels are served by weight, and within a
//! level users are served in turn, and so are the verbs of each user. Additions to Hadoop: a call
//! without competition bypasses the queue; and while the processor is the bottleneck, calls of
//! heavy users yield there, too ([`CallQueue::set_busy`]).
//!
//! * [`CallQueueOptions`]: Hadoop's settings, `ipc.PORT.…`
//! * [`Shares`]: each user's recent share of calls; all queues of a server have one
//! * [`CallQueue`], [`Permit`]: a limit on concurrent calls of a kind

mod levels;
mod options;
mod queue;
mod shares;

pub use options::{CallQueueOptions, Identity, OptionsError};
pub use queue::{Asks, CallQueue, CallQueueStats, Permit, Refused};
pub use shares::{Rank, Shares};
