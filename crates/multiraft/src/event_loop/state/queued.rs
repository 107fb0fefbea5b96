//! Proposals and appends that wait for their payloads.

use crate::consensus::{Entry, Message};
use crate::event::Reply;

/// A proposal whose payload is being written to the payload store.
pub(crate) struct Preparing {
    pub(in crate::event_loop) ticket: u64,
    pub(in crate::event_loop) entry: Entry,
    pub(in crate::event_loop) reply: Reply,
    pub(in crate::event_loop) ready: bool,
}

/// An append that waits for its payloads to be stored.
pub(crate) struct QueuedAppend {
    pub(in crate::event_loop) message: Message,
    /// Tickets of the payloads being written: `first..end`.
    pub(in crate::event_loop) first: u64,
    pub(in crate::event_loop) end: u64,
    pub(in crate::event_loop) missing: u64,
    pub(in crate::event_loop) failed: bool,
    pub(in crate::event_loop) bytes: usize,
}
