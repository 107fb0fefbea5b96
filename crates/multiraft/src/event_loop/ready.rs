//! Output of a stepped group: messages, writes, committed entries.
//!
//! Entries are written while the leader's messages are already in flight; votes and
//! confirmations of a replica wait until they are on disk.

use std::sync::atomic::Ordering;

use tracing::Instrument;

use super::change::announcement;
use super::core::{GroupCore, Outstanding, Restoring};
use super::out::Out;
use super::send_snapshot;
use crate::apply::ApplyTask;
use crate::consensus::{Entry, HardState, INVALID_ID, Message, MessageType, Ready, StateRole};
use crate::entry::{bytes_of, is_external, strip};
use crate::event::Event;
use crate::failure::{FailureCause, GroupFailure};
use crate::machine::LogPosition;
use crate::metrics::add;
use crate::snapshot;

/// Number of entries after which the commit index is stored.
const COMMIT_STEP: u64 = 16;

impl GroupCore {
    /// Processes all pending output.
    pub(crate) fn drain(&mut self, out: &mut Out) {
        if self.failed.is_some() {
            self.refuse_all();
            return;
        }
        self.advance_applied();
        self.start_reads();
        loop {
            // Entries committed now may unblock the next batch.
            self.propose_queued(out);
            if !self.node.has_ready() {
                break;
            }
            let ready = self.node.ready();
            self.one_ready(ready, out);
        }
        self.advance_catch_up(out);
        self.serve_fetches(out);
        self.publish_progress();
        self.count_cache(out);
    }

    /// Publishes the members' progress. Before committed entries are passed on, so that a caller
    /// that gets a response finds its entry committed here.
    fn publish_progress(&self) {
        let board = &self.shared.progress;
        let node = &self.node;
        let mut changed = board.note(self.shared.me, node.persisted(), node.committed());
        if self.node.leads() {
            for member in self.members.iter().filter(|member| member.raft_id != self.my_id) {
                if let Some(progress) = self.node.progress(member.raft_id) {
                    let (matched, committed) = (progress.matched, progress.committed);
                    changed |= board.note(member.target.node, matched, committed);
                }
            }
        }
        if changed {
            board.announce();
        }
    }

    fn one_ready(&mut self, mut ready: Ready, out: &mut Out) {
        let number = ready.number();
        if let Some(state) = ready.ss() {
            let (leader, role) = (state.leader_id, state.raft_state);
            self.on_soft_state(leader, role, out);
        }
        for message in ready.take_messages() {
            self.send(message, out);
        }
        self.on_read_states(ready.take_read_states());
        let promises = ready.take_persisted_messages();
        let committed = ready.take_committed_entries();
        let must_write = ready.must_sync();
        let mut task = self.task(number);
        if must_write {
            task.hard_state = ready.hs().filter(|state| self.must_store(state)).cloned();
            if let Some(state) = &task.hard_state {
                self.stored.clone_from(state);
            }
            // With the entries it refers to: a start after a crash finds both or none.
            task.completeness = self.catch_up.take_unsaved();
        }
        let restored = ready.snapshot().get_metadata().clone();
        let is_snapshot = !ready.snapshot().is_empty();
        if is_snapshot {
            let at = LogPosition { term: restored.term, index: restored.index };
            task.truncate = Some(at);
            task.drop_through = self.node.store().last().index;
            self.node.mut_store().reset(at);
            match snapshot::members_in(ready.snapshot()) {
                Ok(membership) => self.set_membership(membership, out),
                Err(error) => {
                    let reason = format!("snapshot without valid members: {error}");
                    self.fail(FailureCause::Members, reason, out);
                    return;
                }
            }
        }
        let entries = ready.take_entries();
        self.node.mut_store().append(&entries);
        let last = entries.last().map(|e| e.index);
        task.entries = entries;
        task.entries.iter_mut().for_each(strip);
        self.bytes_in_log += task.bytes() as u64;
        if let Some(last) = last {
            self.shared.last_index.store(last, Ordering::Relaxed);
        }
        self.node.advance_append_async(ready);

        if must_write {
            self.outstanding.push_back(Outstanding { number, last });
            if !promises.is_empty() {
                self.delayed.push_back((number, promises));
            }
            if is_snapshot {
                self.begin_restore(restored.index, restored.term, task, out);
            } else if let Some(restoring) = &mut self.restoring {
                restoring.held.push(task);
            } else {
                out.write(&self.log, task);
            }
        } else if let Some(pending) = self.outstanding.back() {
            if !promises.is_empty() {
                self.delayed.push_back((pending.number, promises));
            }
        } else {
            self.node.on_persist_ready(number);
            for message in promises {
                self.send(message, out);
            }
        }
        self.hand_over(committed, out);
    }

    /// Returns `true` if a hard state must be written. Raft recovers the commit index by itself; it
    /// is stored only now and then, so that a replica without a leader has most of it.
    fn must_store(&self, state: &HardState) -> bool {
        let known = &self.stored;
        (state.term, state.vote) != (known.term, known.vote)
            || state.commit >= known.commit + COMMIT_STEP
    }

    /// Passes committed entries to the state machine, with the callers that wait for them.
    fn hand_over(&mut self, entries: Vec<Entry>, out: &mut Out) {
        let commit = self.node.committed();
        if self.shared.commit.load(Ordering::Relaxed) != commit {
            // Before the entries: a read that sees their effects sees this, too.
            self.shared.commit.store(commit, Ordering::Release);
        }
        let Some(last) = entries.last().map(|e| e.index) else { return };
        self.handed = last;
        self.shared.applying_bytes.fetch_add(bytes_of(&entries), Ordering::Relaxed);
        let replies = self.replies_for(&entries);
        self.shrink_cache();
        // Members of a later entry in this batch do no harm to an earlier one.
        self.apply_changes(&entries, out);
        self.to_machine(ApplyTask::Entries { group: self.region(), entries, replies }, out);
    }

    fn shrink_cache(&mut self) {
        let safe = self.persisted.min(self.handed);
        if self.alone() {
            self.node.mut_store().cache.drop_to(safe);
        } else {
            let max = self.cache_bytes;
            self.node.mut_store().cache.shrink(max, safe);
        }
    }

    fn count_cache(&mut self, out: &Out) {
        let bytes = self.node.store().cache.bytes();
        let delta = bytes as i64 - self.cache_counted as i64;
        if delta != 0 {
            out.metrics.cache_bytes.fetch_add(delta, Ordering::Relaxed);
            self.cache_counted = bytes;
        }
    }

    /// Handles readies on disk up to `number`.
    pub(crate) fn on_persisted(&mut self, number: u64, out: &mut Out) {
        while let Some(first) = self.outstanding.front() {
            if first.number > number {
                break;
            }
            if let Some(last) = first.last {
                self.persisted = last;
            }
            self.outstanding.pop_front();
        }
        self.node.on_persist_ready(number);
        while self.delayed.front().is_some_and(|(after, _)| *after <= number) {
            if let Some((_, messages)) = self.delayed.pop_front() {
                for message in messages {
                    self.send(message, out);
                }
            }
        }
        self.shrink_cache();
    }

    /// Sends a message, through the snapshot stream or the payload store where necessary.
    pub(crate) fn send(&mut self, mut message: Message, out: &mut Out) {
        // Raft does not use these fields in this message.
        match message.get_msg_type() {
            MessageType::MsgHeartbeat => {
                let node = &self.node;
                // Before it has committed an entry of its own term a leader does not have the
                // commit index.
                let known = node.commit_to_current_term();
                message.index = if known { node.committed() } else { node.last_index() };
                // See `freshness.rs`.
                message.log_term = self.member(message.to).map_or(0, |m| m.stamp);
            }
            MessageType::MsgAppend => {
                // The index that a replica must reach that may have lost entries it confirmed; see
                // `catch_up.rs`.
                message.reject_hint = self.lead_from();
            }
            MessageType::MsgAppendResponse if !message.reject => {
                self.catch_up.note_matched(message.term, message.index);
            }
            MessageType::MsgHeartbeatResponse => {
                message.index = self.shared.freshness.stamp(out.now);
                if self.catch_up.is_incomplete() {
                    // See `forget_progress`.
                    message.reject = true;
                    message.reject_hint = self.persisted;
                }
            }
            _ => {}
        }
        if message.get_msg_type() == MessageType::MsgSnapshot {
            self.send_snapshot(message, out);
            return;
        }
        let Some(target) = self.target_of(message.to) else { return };
        let asks = matches!(
            message.get_msg_type(),
            MessageType::MsgRequestVote | MessageType::MsgRequestPreVote
        );
        if asks {
            // The receiving node may not have this candidate as a member.
            let known = announcement(message.to, self.my_id, &self.shared.membership.borrow());
            out.send(&target, self.shared.id, known);
        }
        let stripped = message.get_msg_type() == MessageType::MsgAppend
            && message.get_entries().iter().any(crate::entry::is_stripped);
        if stripped {
            self.send_with_payloads(message, out);
        } else {
            out.send(&target, self.shared.id, message);
        }
    }

    /// The last entry that may have been committed before this leader's term, or that it has
    /// committed itself.
    fn lead_from(&self) -> u64 {
        let node = &self.node;
        if node.commit_to_current_term() {
            return node.committed();
        }
        let store = self.node.store();
        match store.first_of_term(node.term()) {
            Some(first) => first.saturating_sub(1),
            None => store.last().index,
        }
    }

    fn begin_restore(
        &mut self,
        index: u64,
        term: u64,
        task: crate::log::task::WriteTask,
        out: &mut Out,
    ) {
        let at = LogPosition { term, index };
        self.persisted = index;
        self.handed = index;
        let Some(incoming) = self.incoming.take() else {
            // Raft only restores snapshots that we stepped, and those came with their files.
            let reason = String::from("a snapshot arrived without its content");
            self.fail(FailureCause::Machine, reason, out);
            return;
        };
        self.restoring = Some(Restoring { at, task, held: Vec::new() });
        self.to_machine(ApplyTask::Restore { group: self.region(), incoming, at }, out);
    }

    /// Handles a durably restored snapshot: the log may follow.
    pub(crate) fn on_restored(&mut self, at: LogPosition, out: &mut Out) {
        let Some(restoring) = self.restoring.take_if(|r| r.at == at) else { return };
        out.write(&self.log, restoring.task);
        for task in restoring.held {
            out.write(&self.log, task);
        }
        self.bytes_in_log = 0;
        add(&out.metrics.snapshots_restored, 1);
    }

    /// Fails the group on this node, and all waiting callers with the reason.
    pub(crate) fn fail(&mut self, cause: FailureCause, reason: String, out: &mut Out) {
        if self.failed.is_some() {
            return;
        }
        tracing::error!(group = %self.shared.id, %reason, "raft group failed on this node");
        self.failed = Some(reason.clone());
        add(&out.metrics.groups_failed, 1);
        self.shared.failure.send_replace(Some(GroupFailure { cause, reason }));
        self.shared.lease_until.store(0, Ordering::Release);
        let term = self.node.term();
        if self.node.leads() {
            self.node.become_follower(term);
        }
        self.on_soft_state(INVALID_ID, StateRole::Follower, out);
        self.refuse_all();
        self.delayed.clear();
        self.appends.clear();
        self.append_bytes = 0;
    }

    /// Reports the state machine's applied index to Raft.
    pub(crate) fn advance_applied(&mut self) {
        let applied = self.shared.applied.load(Ordering::SeqCst);
        // After a restore the machine is ahead of the index that Raft has as persisted.
        let known = applied.min(self.node.committed()).min(self.node.persisted());
        if known > self.node.applied() {
            self.node.advance_apply_to(known);
        }
        self.on_applied(applied);
    }

    /// Returns `true` if any of `entries` has an external payload.
    pub(crate) fn has_external(entries: &[Entry]) -> bool {
        entries.iter().any(is_external)
    }

    fn send_snapshot(&mut self, message: Message, out: &mut Out) {
        let (to, group) = (message.to, self.region());
        let target = self.target_of(to);
        let matching = self.outgoing.clone().filter(|o| snapshot::id_in(&message) == Some(o.id));
        let (Some(target), Some(outgoing)) = (target, matching) else {
            // Raft must not be stepped while a ready is being processed.
            self.shared.inbox.push(Event::SnapshotSent { group, to, ok: false });
            return;
        };
        add(&out.metrics.snapshots_sent, 1);
        self.sending_to.push(to);
        let shared = self.shared.clone();
        let piece = self.snapshot_piece;
        self.shared.runtime.spawn(async move {
            let span = event_span!(shared.id, "send snapshot", to = %target.node);
            let sent = send_snapshot::stream(&shared, &target, &outgoing, &message, piece);
            let sent = sent.instrument(span).await;
            if let Err(error) = &sent {
                add(&shared.metrics.snapshot_streams_failed, 1);
                tracing::warn!(group = %shared.id, to = %target.node, %error, "cannot send snapshot");
            }
            let ok = sent.is_ok();
            shared.inbox.push(Event::SnapshotSent { group, to, ok });
        });
    }
}
