//! A state machine with its pending entries, and the callers that wait for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use uuid::Uuid;

use crate::consensus::{Entry, EntryType};
use crate::entry::{bytes_of, is_external};
use crate::error::ProposeError;
use crate::event::{Event, Reply};
use crate::failure::{FailureCause, panic_text};
use crate::machine::{Committed, LogPosition, MachineError, StateMachine};
use crate::metrics::add;
use crate::shared::GroupShared;
use crate::snapshot::{Incoming, Outgoing};
use crate::status::Applied;

/// A state machine, the entries to be applied, and the callers that wait for them.
pub(crate) struct Machine {
    shared: Arc<GroupShared>,
    machine: Box<dyn StateMachine>,
    at: LogPosition,
    /// Entries collected in this round.
    entries: Vec<Entry>,
    replies: VecDeque<(u64, Reply)>,
    failed: bool,
}

impl Machine {
    pub(super) fn new(shared: Arc<GroupShared>, machine: Box<dyn StateMachine>) -> Self {
        let at = machine.applied();
        let (entries, replies) = (Vec::new(), VecDeque::new());
        Self { shared, machine, at, entries, replies, failed: false }
    }

    /// Adds to the next batch; returns `true` if the batch was empty before.
    pub(super) fn gather(
        &mut self,
        mut entries: Vec<Entry>,
        mut replies: VecDeque<(u64, Reply)>,
    ) -> bool {
        let first = self.entries.is_empty();
        if first {
            self.entries = entries;
            self.replies = replies;
        } else {
            self.entries.append(&mut entries);
            self.replies.append(&mut replies);
        }
        first
    }

    fn send(&self, event: Event) {
        self.shared.inbox.push(event);
    }

    fn publish(&self) {
        self.shared.applied.store(self.at.index, Ordering::SeqCst);
        if self.shared.notify_applied.swap(false, Ordering::SeqCst) {
            self.send(Event::AppliedMoved { group: self.shared.number });
        }
    }

    /// Calls the state machine; an error or panic in it stops the group.
    fn guarded<R>(
        &mut self,
        f: impl FnOnce(&mut Box<dyn StateMachine>) -> Result<R, MachineError>,
    ) -> Option<R> {
        if self.failed {
            return None;
        }
        let machine = &mut self.machine;
        let (cause, reason) = match catch_unwind(AssertUnwindSafe(|| f(machine))) {
            Ok(Ok(result)) => return Some(result),
            Ok(Err(error)) => (FailureCause::of(&error), error.to_string()),
            Err(panic) => {
                let reason = format!("state machine panicked: {}", panic_text(&*panic));
                (FailureCause::Machine, reason)
            }
        };
        self.failed = true;
        self.send(Event::MachineFailed { group: self.shared.number, cause, reason });
        None
    }

    /// Stops the group after a panic outside of the state machine's code.
    pub(super) fn fail(&mut self, reason: String) {
        self.failed = true;
        self.entries.clear();
        self.replies.clear();
        let cause = FailureCause::Machine;
        self.send(Event::MachineFailed { group: self.shared.number, cause, reason });
    }

    /// Applies the batch.
    pub(super) fn apply(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        let mut replies = std::mem::take(&mut self.replies);
        let Some(last) = entries.last().map(|e| LogPosition { term: e.term, index: e.index })
        else {
            return;
        };
        self.shared.applying_bytes.fetch_sub(bytes_of(&entries), Ordering::Relaxed);
        let mut committed: Vec<Committed> = entries.into_iter().filter_map(commit).collect();
        attach_contexts(&mut committed, &mut replies);
        let count = committed.len();
        let mut responses = Vec::new();
        if count > 0 {
            let given = self.guarded(|machine| {
                let responses = machine.apply(&mut committed)?;
                if responses.len() == count {
                    return Ok(responses);
                }
                let given = responses.len();
                Err(format!("{given} responses for {count} entries").into())
            });
            match given {
                Some(given) => responses = given,
                None => {
                    let error = ProposeError::Failed(String::from("state machine failed"));
                    replies.into_iter().for_each(|(_, reply)| reply.send(Err(error.clone())));
                    return;
                }
            }
        } else if self.failed {
            return;
        }
        let metrics = &self.shared.metrics;
        add(&metrics.applied, count as u64);
        add(&metrics.apply_rounds, 1);
        self.at = last;
        // Before the responses: a caller that received one must see its own write.
        self.publish();
        for (entry, response) in committed.into_iter().zip(responses) {
            while let Some((index, reply)) = replies.pop_front_if(|(at, _)| *at <= entry.index) {
                let term = entry.term;
                let response = if index == entry.index { response.clone() } else { Bytes::new() };
                reply.send(Ok(Applied { index, term, response }));
            }
        }
        for (index, reply) in replies {
            reply.send(Ok(Applied { index, term: last.term, response: Bytes::new() }));
        }
    }

    pub(super) fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        self.guarded(|machine| {
            machine.leader_changed(leader, term, is_me);
            Ok(())
        });
    }

    pub(super) fn flush(&mut self) {
        let group = self.shared.number;
        if let Some(at) = self.guarded(|machine| machine.flush()) {
            self.send(Event::Flushed { group, at });
        }
    }

    pub(super) fn restore(&mut self, incoming: Incoming, at: LogPosition) {
        let _span = event_span!(self.shared.id, "restore snapshot", index = at.index).entered();
        if self.guarded(|machine| machine.restore(incoming.source(), at)).is_some() {
            self.at = at;
            self.publish();
            self.send(Event::Restored { group: self.shared.number, at });
        }
    }

    pub(super) fn snapshot(&mut self) {
        let (group, at) = (self.shared.number, self.at);
        let _span = event_span!(self.shared.id, "take snapshot", index = at.index).entered();
        // A failed snapshot is no reason to stop.
        let taken = self.guarded(|machine| Ok(machine.snapshot()));
        let result = match taken {
            Some(Ok(source)) => Ok(Outgoing::new(at, source)),
            Some(Err(error)) => Err(error),
            None => return,
        };
        self.send(Event::SnapshotTaken { group, result });
    }
}

/// The entry as the state machine sees it; `None` for entries of Raft itself.
fn commit(entry: Entry) -> Option<Committed> {
    let own = entry.get_entry_type() != EntryType::EntryNormal;
    if own || (entry.data.is_empty() && entry.context.is_empty()) {
        return None;
    }
    let payload = if is_external(&entry) { Bytes::new() } else { entry.context };
    let at = LogPosition { term: entry.term, index: entry.index };
    Some(Committed { payload, ..Committed::new(at, entry.data) })
}

/// Attaches the contexts of these entries' proposers. Both are in log order.
fn attach_contexts(committed: &mut [Committed], replies: &mut VecDeque<(u64, Reply)>) {
    let mut committed = committed.iter_mut().peekable();
    for (index, reply) in replies {
        while committed.next_if(|entry| entry.index < *index).is_some() {}
        if let Some(entry) = committed.peek_mut().filter(|entry| entry.index == *index) {
            entry.context = std::mem::take(&mut reply.context);
        }
    }
}
