//! An apply thread: gathers the committed entries of each group that piled up, applies them
//! as one batch and answers the proposers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use raft::eraftpb::{Entry, EntryType};
use rustc_hash::FxHashMap;

use super::ApplyTask;
use crate::error::ProposeError;
use crate::group::Applied;
use crate::inbox::Inbox;
use crate::machine::{Committed, LogPosition, MachineError, StateMachine};
use crate::metrics::add;
use crate::shared::GroupShared;
use crate::snapshot::Outgoing;
use crate::store::{bytes_of, is_external};
use crate::turn::event::{Event, Reply};

struct Machine {
    shared: Arc<GroupShared>,
    machine: Box<dyn StateMachine>,
    at: LogPosition,
    /// Entries gathered in this round.
    entries: Vec<Entry>,
    replies: VecDeque<(u64, Reply)>,
    failed: bool,
}

pub(crate) fn run(inbox: Arc<Inbox<ApplyTask>>) {
    let mut machines: FxHashMap<u64, Machine> = FxHashMap::default();
    let mut tasks = Vec::new();
    let mut touched = Vec::new();
    while inbox.take(&mut tasks, None) {
        for task in tasks.drain(..) {
            handle(task, &mut machines, &mut touched);
        }
        for group in touched.drain(..) {
            if let Some(machine) = machines.get_mut(&group) {
                machine.apply();
            }
        }
    }
}

fn handle(task: ApplyTask, machines: &mut FxHashMap<u64, Machine>, touched: &mut Vec<u64>) {
    match task {
        ApplyTask::Start { shared, machine } => {
            let at = machine.applied();
            let number = shared.number;
            let (entries, replies) = (Vec::new(), VecDeque::new());
            let machine = Machine { shared, machine, at, entries, replies, failed: false };
            machines.insert(number, machine);
        }
        ApplyTask::Entries { group, mut entries, mut replies } => {
            let Some(machine) = machines.get_mut(&group) else { return };
            if machine.entries.is_empty() {
                touched.push(group);
                machine.entries = entries;
                machine.replies = replies;
            } else {
                machine.entries.append(&mut entries);
                machine.replies.append(&mut replies);
            }
        }
        ApplyTask::LeaderChanged { group, leader, term, is_me } => {
            with(machines, group, |m| {
                m.guarded(|machine| {
                    machine.leader_changed(leader, term, is_me);
                    Ok(())
                });
            });
        }
        ApplyTask::Flush { group } => with(machines, group, Machine::flush),
        ApplyTask::Snapshot { group } => with(machines, group, Machine::snapshot),
        ApplyTask::Restore { group, incoming, at } => {
            with(machines, group, |m| {
                if m.guarded(|machine| machine.restore(incoming.source(), at)).is_some() {
                    m.at = at;
                    m.publish();
                    m.tell(Event::Restored { group, at });
                }
            });
        }
        ApplyTask::Stop { group, done } => {
            with(machines, group, |_| {});
            let removed = machines.remove(&group).is_some();
            let _ = done.send(removed);
        }
    }
}

/// Runs `f` after what was gathered for the group before.
fn with(machines: &mut FxHashMap<u64, Machine>, group: u64, f: impl FnOnce(&mut Machine)) {
    if let Some(machine) = machines.get_mut(&group) {
        machine.apply();
        f(machine);
    }
}

impl Machine {
    fn tell(&self, event: Event) {
        self.shared.inbox.push(event);
    }

    fn publish(&self) {
        self.shared.applied.store(self.at.index, Ordering::SeqCst);
        if self.shared.notify_applied.swap(false, Ordering::SeqCst) {
            self.tell(Event::AppliedMoved { group: self.shared.number });
        }
    }

    /// Calls the state machine; an error or panic of it stops the group.
    fn guarded<R>(
        &mut self,
        f: impl FnOnce(&mut Box<dyn StateMachine>) -> Result<R, MachineError>,
    ) -> Option<R> {
        if self.failed {
            return None;
        }
        let machine = &mut self.machine;
        let reason = match catch_unwind(AssertUnwindSafe(|| f(machine))) {
            Ok(Ok(result)) => return Some(result),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                format!("state machine panicked: {}", text.unwrap_or("unknown"))
            }
        };
        self.failed = true;
        self.tell(Event::MachineFailed { group: self.shared.number, reason });
        None
    }

    fn apply(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        let mut replies = std::mem::take(&mut self.replies);
        let Some(last) = entries.last().map(|e| LogPosition { term: e.term, index: e.index })
        else {
            return;
        };
        self.shared.applying_bytes.fetch_sub(bytes_of(&entries), Ordering::Relaxed);
        let committed: Vec<Committed> = entries.into_iter().filter_map(commit).collect();
        let count = committed.len();
        let mut responses = Vec::new();
        if count > 0 {
            let given = self.guarded(|machine| {
                let responses = machine.apply(&committed)?;
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
        // Before the answers: who got one must see its own write.
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

    fn flush(&mut self) {
        let group = self.shared.number;
        if let Some(at) = self.guarded(|machine| machine.flush()) {
            self.tell(Event::Flushed { group, at });
        }
    }

    fn snapshot(&mut self) {
        let (group, at) = (self.shared.number, self.at);
        // A snapshot that cannot be taken now is no reason to stop.
        let taken = self.guarded(|machine| Ok(machine.snapshot()));
        let result = match taken {
            Some(Ok(source)) => Ok(Outgoing::new(at, source)),
            Some(Err(error)) => Err(error.to_string()),
            None => return,
        };
        self.tell(Event::SnapshotTaken { group, result });
    }
}

/// What the state machine sees of an entry; nothing of those that Raft itself makes.
fn commit(entry: Entry) -> Option<Committed> {
    let own = entry.get_entry_type() != EntryType::EntryNormal;
    if own || (entry.data.is_empty() && entry.context.is_empty()) {
        return None;
    }
    let payload = if is_external(&entry) { Bytes::new() } else { entry.context };
    Some(Committed { index: entry.index, term: entry.term, header: entry.data, payload })
}
