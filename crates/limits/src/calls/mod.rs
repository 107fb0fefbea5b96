//! Whose call is next, when not all can be worked on at once.
//!
//! Hadoop's FairCallQueue with its DecayRpcScheduler, for calls that are futures: users who lately
//! asked for a large share of all calls get a lower level, levels take turns by weight, and within
//! a level users take turns, and the verbs of each user. What is not there in Hadoop: a call that
//! nobody stands in the way of does not go through the queue at all; and while the processor is
//! what is short, calls of those who ask for much give way there, too ([`CallQueue::set_busy`]).
//!
//! * [`CallQueueOptions`]: Hadoop's settings, `ipc.PORT.…`
//! * [`Shares`]: how much each user asked for lately; all queues of a server have one
//! * [`CallQueue`], [`Permit`]: a bound on calls of a kind that are worked on at once

mod levels;
mod options;
mod queue;
mod shares;

pub use options::{CallQueueOptions, Identity, OptionsError};
pub use queue::{Asks, CallQueue, CallQueueStats, Permit, Refused};
pub use shares::{Rank, Shares};
