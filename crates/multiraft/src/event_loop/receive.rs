//! Messages from other members. `verify.rs` decides which ones are accepted.
//!
//! Appends whose entries have external payloads wait until the payload store has those; later
//! appends wait, too, so that a group's log stays in order, but the payloads of all of them are
//! written concurrently. All other messages pass.

use std::io;
use std::sync::atomic::Ordering;

use super::core::GroupCore;
use super::out::Out;
use super::state::queued::QueuedAppend;
use super::verify::{FAR_AHEAD, verify, verify_snapshot};
use crate::consensus::{Entry, EntryType, Message, MessageType, Storage};
use crate::entry::{bytes_of, is_external, strip};
use crate::event::Event;
use crate::metrics::add;
use crate::snapshot::Incoming;

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
                // A leader that replicated to this replica before its log was lost has a progress
                // beyond it.
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
                // The leader resends it, at the pace that this replica can sustain.
                add(&out.metrics.messages_dropped, 1);
            }
            MessageType::MsgAppend => self.on_append(message, out),
            // A leader without a commit index yet lets followers retry.
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

    /// Returns `true` if Raft's library could not respond, and would panic: it responds with its
    /// own term to refuse, or that of the request to vote, and treats term 0 as a bug. In the first
    /// term it refuses members of lower priority.
    fn has_no_answer(&self, vote: &Message) -> bool {
        let node = &self.node;
        let theirs = match vote.priority {
            0 => i64::try_from(vote.deprecated_priority).unwrap_or(i64::MAX),
            priority => priority,
        };
        let refused = theirs < node.priority() && vote.index <= node.last_index();
        vote.term == 0 || (node.term() == 0 && refused)
    }

    /// Returns `true` if a message from a node that is no member here should be processed: this
    /// replica may have missed that it became one. Its address must be known, for the response.
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

    /// Sends a follower the index for its read. While the lease holds no other member can have
    /// committed anything, and the response needs no round.
    fn answer_read(&mut self, mut message: Message, out: &mut Out) {
        if !self.shared.lease_held() {
            if !self.lead.lease.is_zero() {
                // The next reads should find a lease.
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

    /// Records the leader's commit index.
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
                // Nothing after the index is committed, whatever any member reported before.
                fresh.commit.fetch_min(message.index.max(message.commit), Ordering::Relaxed);
                // See `send` for these fields. Not everything up to the index need ever be
                // committed.
                let applied = self.shared.applied.load(Ordering::Acquire);
                fresh.observe(message.term, message.index, message.log_term, now, applied);
            }
        }
    }

    /// Returns `true` if the backlog of the payload store or the state machine exceeds its limit.
    fn overloaded(&self) -> bool {
        let applying = self.shared.applying_bytes.load(Ordering::Relaxed);
        self.append_bytes > self.max_pending_bytes || applying > self.max_pending_bytes
    }

    fn step(&mut self, message: Message) {
        if let Err(error) = self.node.step(message) {
            tracing::debug!(group = %self.shared.id, %error, "raft message rejected");
        }
    }

    /// Returns `true` if the payload store can accept all new entries with payloads in the log. If
    /// not, the leader resends them.
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
                    "cannot accept an entry; the leader will resend it"
                );
                return false;
            }
        }
        true
    }

    fn on_append(&mut self, mut message: Message, out: &Out) {
        let stale = message.term < self.node.term();
        if !stale {
            // A leader of an older version leaves the second field empty.
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
            tracing::warn!(group = %self.shared.id, %error, "cannot store payload; the leader will resend it");
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

    /// Handles a completely received snapshot.
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
                    // Raft resends it when the follower reports the gap.
                    tracing::warn!(group = %shared.id, %error, "cannot read payload for a follower");
                }
            }
        });
    }
}
