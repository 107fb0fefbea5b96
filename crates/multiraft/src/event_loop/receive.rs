//! Messages from other members. `verify.rs` says which of them are taken.
//!
//! Appends whose entries carry payloads wait until the payload store has those; appends
//! behind them wait, too, so that a group's log stays in order, but the payloads of all of
//! them are written at the same time. Everything else passes.

use std::io;
use std::sync::atomic::Ordering;

use super::core::GroupCore;
use super::out::Out;
use super::verify::{FAR_AHEAD, verify, verify_snapshot};
use crate::consensus::{Entry, EntryType, Message, MessageType, Storage};
use crate::entry::{bytes_of, is_external, strip};
use crate::event::Event;
use crate::metrics::add;
use crate::snapshot::Incoming;

/// An append that waits for its payloads.
pub(crate) struct QueuedAppend {
    message: Message,
    /// Tickets of the payloads on their way: `first..end`.
    first: u64,
    end: u64,
    missing: u64,
    failed: bool,
    bytes: usize,
}

impl GroupCore {
    pub(crate) fn on_message(&mut self, message: Message, out: &mut Out) {
        if message.to != self.my_id || message.from == self.my_id {
            add(&out.metrics.messages_dropped, 1);
            return;
        }
        if message.get_msg_type() == MessageType::MsgCheckQuorum {
            self.on_announcement(&message, out);
            return;
        }
        if self.member(message.from).is_none() && !self.may_come(&message) {
            add(&out.metrics.messages_dropped, 1);
            return;
        }
        if let Err(why) = verify(&message, self.here()) {
            self.refuse(&message, why, out);
            return;
        }
        if self.is_far_ahead(&message) {
            self.refuse(&message, FAR_AHEAD, out);
            return;
        }
        if let Some(from) = self.node_of(message.from) {
            self.shared.progress.heard(from);
        }
        let leads = matches!(
            message.get_msg_type(),
            MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgTimeoutNow
        );
        if leads && self.catch_up.is_silent() {
            add(&out.metrics.messages_dropped, 1);
            return;
        }
        self.note_leader(&message, out.now);
        if message.get_msg_type() == MessageType::MsgHeartbeatResponse {
            let from = self.members.iter_mut().find(|m| m.raft_id == message.from);
            if let Some(from) = from {
                from.stamp = message.index;
            }
            self.on_greeting(&message, out);
        }
        match message.get_msg_type() {
            MessageType::MsgRequestVote | MessageType::MsgRequestPreVote
                if self.has_no_answer(&message) || !self.may_elect(message.index) =>
            {
                self.catch_up.log_refusal(self.shared.id, message.index);
            }
            MessageType::MsgHeartbeat => {
                // A leader that knows this replica from before its log was lost is ahead of it.
                let mut message = message;
                let committed = self.node.committed();
                let commit = message.commit.min(self.node.last_index());
                message.commit = self.catch_up.believed(message.term, commit, committed);
                self.step(message);
            }
            MessageType::MsgHeartbeatResponse if message.reject => {
                self.node.forget_progress(message.from, message.reject_hint);
                self.step(message);
            }
            MessageType::MsgAppend if self.overloaded() => {
                // The leader sends it again, at the pace that this replica can keep.
                add(&out.metrics.messages_dropped, 1);
            }
            MessageType::MsgAppend => self.on_append(message, out),
            // A leader that does not know yet what is committed lets followers ask again.
            MessageType::MsgReadIndex
                if self.node.leads() && self.node.commit_to_current_term() =>
            {
                self.answer_read(message, out);
            }
            MessageType::MsgTimeoutNow
                if self.behind_its_log() || self.catch_up.is_incomplete() => {}
            MessageType::MsgReadIndex => {}
            _ => self.step(message),
        }
    }

    /// Whether Raft's library could not answer, and would panic: it gives its own term with a
    /// refusal, or that of the request with a vote, and takes none for a mistake. In the first term
    /// of all it refuses members that rank below it.
    fn has_no_answer(&self, vote: &Message) -> bool {
        let node = &self.node;
        let theirs = match vote.priority {
            0 => i64::try_from(vote.deprecated_priority).unwrap_or(i64::MAX),
            priority => priority,
        };
        let refused = theirs < node.priority() && vote.index <= node.last_index();
        vote.term == 0 || (node.term() == 0 && refused)
    }

    /// Whether a message of a node that is no member here is to be heard: this one may have missed
    /// that it became one. Where it is must be known, for the answer.
    fn may_come(&self, message: &Message) -> bool {
        let kind = matches!(
            message.get_msg_type(),
            MessageType::MsgAppend
                | MessageType::MsgHeartbeat
                | MessageType::MsgSnapshot
                | MessageType::MsgReadIndexResp
                | MessageType::MsgTimeoutNow
                | MessageType::MsgRequestVote
                | MessageType::MsgRequestPreVote
        );
        kind && self.target_of(message.from).is_some()
    }

    /// Tells a follower what its read must show. While the lease holds no other can have
    /// committed anything, and the answer needs no round.
    fn answer_read(&mut self, mut message: Message, out: &mut Out) {
        if !self.shared.lease_held() {
            if !self.lead.lease.is_zero() {
                // The next ones are to find a lease.
                self.start_round();
            }
            self.step(message);
            return;
        }
        let node = &self.node;
        let mut answer = Message { to: message.from, from: self.my_id, ..Message::default() };
        answer.set_msg_type(MessageType::MsgReadIndexResp);
        (answer.term, answer.index) = (node.term(), node.committed());
        answer.set_entries(message.take_entries());
        self.send(answer, out);
    }

    /// Hears from the leader how far it is.
    fn note_leader(&self, message: &Message, now: u64) {
        let leads = matches!(
            message.get_msg_type(),
            MessageType::MsgHeartbeat | MessageType::MsgAppend | MessageType::MsgReadIndexResp
        );
        if leads && message.term >= self.node.term() {
            let (now, fresh) = (now.max(1), &self.shared.freshness);
            fresh.commit.fetch_max(message.commit, Ordering::Relaxed);
            fresh.heard.store(now, Ordering::Release);
            if message.get_msg_type() == MessageType::MsgHeartbeat {
                // Nothing behind the index is committed, whatever any member said before.
                fresh.commit.fetch_min(message.index.max(message.commit), Ordering::Relaxed);
                // See `send` for these fields. Not all up to the index need be committed, ever.
                let applied = self.shared.applied.load(Ordering::Acquire);
                fresh.observe(message.term, message.index, message.log_term, now, applied);
            }
        }
    }

    /// Whether the payload store or the state machine is behind by more than may wait.
    fn overloaded(&self) -> bool {
        let applying = self.shared.applying_bytes.load(Ordering::Relaxed);
        self.append_bytes > self.max_pending_bytes || applying > self.max_pending_bytes
    }

    fn step(&mut self, message: Message) {
        if let Err(error) = self.node.step(message) {
            tracing::debug!(group = %self.shared.id, %error, "raft message refused");
        }
    }

    /// Whether the payload store can keep all new entries whose payloads ride in the log. If not,
    /// the leader sends them again.
    fn admits_all(&self, message: &Message) -> bool {
        let Some(payloads) = &self.shared.payloads else { return true };
        let in_log = |e: &&Entry| {
            e.get_entry_type() == EntryType::EntryNormal && !e.data.is_empty() && !is_external(e)
        };
        for entry in message.get_entries().iter().filter(in_log) {
            let known = self.node.store().term(entry.index).is_ok_and(|term| term == entry.term);
            if !known && let Err(error) = payloads.admits(&entry.data) {
                tracing::warn!(
                    group = %self.shared.id, index = entry.index, %error,
                    "an entry cannot be kept here, the leader will send it again"
                );
                return false;
            }
        }
        true
    }

    fn on_append(&mut self, mut message: Message, out: &Out) {
        let stale = message.term < self.node.term();
        if !stale {
            // A leader of an older version says nothing in the second field.
            self.catch_up.met_leader(message.term, message.commit.max(message.reject_hint));
        }
        if !stale && !self.admits_all(&message) {
            add(&out.metrics.prepare_failures, 1);
            return;
        }
        let external = !stale && Self::has_external(message.get_entries());
        if stale || (!external && self.appends.is_empty()) {
            self.step(message);
            return;
        }
        let first = self.append_tickets;
        let bytes = bytes_of(message.get_entries());
        self.append_bytes += bytes;
        let mut failed = false;
        for entry in message.mut_entries().iter_mut().filter(|e| is_external(e)) {
            let known = self.node.store().term(entry.index).is_ok_and(|term| term == entry.term);
            if known {
                strip(entry);
                continue;
            }
            let Some(payloads) = &self.shared.payloads else {
                failed = true;
                break;
            };
            let payload = std::mem::take(&mut entry.context);
            if !payload.is_empty() {
                entry.context = bytes::Bytes::from_static(crate::entry::STRIPPED);
            }
            let future = payloads.prepare(entry.index, entry.data.clone(), payload);
            let (inbox, group) = (self.shared.inbox.clone(), self.shared.number);
            let ticket = self.append_tickets;
            self.append_tickets += 1;
            self.shared.runtime.spawn(async move {
                let result = future.await;
                inbox.push(Event::AppendPrepared { group, ticket, result });
            });
        }
        let end = self.append_tickets;
        self.appends.push_back(QueuedAppend {
            message,
            first,
            end,
            missing: end - first,
            failed,
            bytes,
        });
        self.step_prepared();
    }

    pub(crate) fn on_append_prepared(&mut self, ticket: u64, result: io::Result<()>, out: &Out) {
        let found = self.appends.iter_mut().find(|a| (a.first..a.end).contains(&ticket));
        let Some(append) = found else { return };
        append.missing -= 1;
        if let Err(error) = result {
            add(&out.metrics.prepare_failures, 1);
            tracing::warn!(group = %self.shared.id, %error, "payload not stored, the leader will send it again");
            append.failed = true;
        }
        self.step_prepared();
    }

    fn step_prepared(&mut self) {
        while let Some(append) = self.appends.pop_front_if(|a| a.missing == 0) {
            self.append_bytes -= append.bytes;
            if !append.failed {
                self.step(append.message);
            }
        }
    }

    /// A snapshot has come in whole.
    pub(crate) fn on_snapshot_received(&mut self, message: Message, incoming: Incoming, out: &Out) {
        let known = message.from != self.my_id && self.target_of(message.from).is_some();
        let busy = self.restoring.is_some() || self.catch_up.is_silent();
        if message.to != self.my_id || !known || busy {
            add(&out.metrics.messages_dropped, 1);
            return;
        }
        if let Err(why) = verify_snapshot(&message, self.here(), self.shared.me) {
            self.refuse(&message, why, out);
            return;
        }
        if self.is_far_ahead(&message) {
            self.refuse(&message, FAR_AHEAD, out);
            return;
        }
        self.incoming = Some(incoming);
        self.step(message);
        if !self.node.has_snapshot() {
            self.incoming = None;
        }
    }

    /// Sends an append whose payloads must be read from the payload store first.
    pub(crate) fn send_with_payloads(&mut self, message: Message, out: &Out) {
        let Some(target) = self.target_of(message.to) else { return };
        let (shared, metrics) = (self.shared.clone(), out.metrics.clone());
        self.shared.runtime.spawn(async move {
            let mut message = message;
            let entries = std::mem::take(message.mut_entries()).into_vec();
            match super::fetch::with_payloads(&shared, entries, u64::MAX).await {
                Ok(entries) => {
                    message.set_entries(entries.into());
                    add(&metrics.messages_sent, 1);
                    add(&metrics.frames_sent, 1);
                    let messages = vec![(shared.id, message)];
                    let frame = crate::transport::frame::encode(shared.me, messages);
                    shared.transport.send(&target, frame);
                }
                Err(error) => {
                    // Raft sends it again when the follower says that it misses it.
                    tracing::warn!(group = %shared.id, %error, "payload not read for a follower");
                }
            }
        });
    }
}
