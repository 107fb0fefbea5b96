//! Copying containers between DataNodes by SCM's order: the source node pushes a container to the
//! target.
//!
//! * [`send`]: reads a container and sends it, throttled, resuming after interruptions;
//! * [`stream`]: the steps of one attempt;
//! * [`receive`]: receives it and publishes it when it is whole;
//! * [`wire`]: the messages;
//! * [`counts`]: counts of copies, for metrics.

mod admit;
mod counts;
pub(crate) mod receive;
mod send;
mod stream;
mod wire;

pub(crate) use receive::{Arrivals, Receiver};
pub(crate) use send::{ATTEMPTS, PushError, Pusher, RETRY_DELAY, may_pass};
pub(crate) use stream::{PushStream, Reached, STEP};
