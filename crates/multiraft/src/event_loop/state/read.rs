//! Pending reads.

use std::collections::VecDeque;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::error::ReadError;

pub(in crate::event_loop) type Sender = oneshot::Sender<Result<u64, ReadError>>;

/// A round of heartbeats that confirms leadership for its readers.
pub(in crate::event_loop) struct Round {
    pub(in crate::event_loop) number: u64,
    pub(in crate::event_loop) started: Instant,
    /// Reading of the lease clock at that moment, in nanoseconds.
    pub(in crate::event_loop) lease_from: u64,
    pub(in crate::event_loop) readers: Vec<Sender>,
}

/// Pending reads of a group, by stage.
pub(crate) struct Reads {
    /// Reads received since the last round began.
    pub(in crate::event_loop) queued: Vec<(Instant, Sender)>,
    pub(in crate::event_loop) rounds: VecDeque<Round>,
    /// Reads that wait until their read index is applied.
    pub(in crate::event_loop) indexed: Vec<(u64, Sender)>,
    pub(in crate::event_loop) next: u64,
}

impl Default for Reads {
    fn default() -> Self {
        // A response to a request from before a restart must not match a later request.
        let next = uuid::Uuid::new_v4().as_u64_pair().0 >> 1;
        Self { queued: Vec::new(), rounds: VecDeque::new(), indexed: Vec::new(), next }
    }
}

impl Reads {
    pub(crate) fn refuse_all(&mut self) {
        self.queued.clear();
        self.rounds.clear();
        self.indexed.clear();
    }

    pub(in crate::event_loop) fn drain_unconfirmed(&mut self) -> impl Iterator<Item = Sender> {
        let queued = self.queued.drain(..).map(|(_, sender)| sender);
        queued.chain(self.rounds.drain(..).flat_map(|round| round.readers))
    }
}
