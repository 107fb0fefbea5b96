//! One group's Raft state machine: the library's `RawNode`, and access to its fields.

use raft::eraftpb::{ConfChangeV2, ConfState, Message};
use raft::{
    Config, GetEntriesContext, INVALID_ID, ProgressState, RawNode, Ready, Result, SnapshotStatus,
    StateRole, Storage,
};
use uuid::Uuid;

/// Settings of a group's state machine.
pub(crate) struct Settings {
    /// The group, for log lines.
    pub(crate) group: Uuid,
    /// This member.
    pub(crate) id: u64,
    /// Ticks without a leader until an election starts.
    pub(crate) election_ticks: usize,
    /// Ticks between heartbeats.
    pub(crate) heartbeat_ticks: usize,
    /// Index of the last applied entry.
    pub(crate) applied: u64,
    /// Maximum bytes of entries per message.
    pub(crate) max_message_bytes: u64,
    /// Maximum number of unacknowledged messages to a follower.
    pub(crate) max_inflight_messages: usize,
    /// Priority of this member in elections.
    pub(crate) priority: i64,
}

/// Replication state of a follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// One message at a time: the last common entry is unknown.
    Probe,
    /// Entries are pipelined.
    Entries,
    /// A snapshot that ends at `index` is sent.
    Snapshot { index: u64 },
}

/// A leader's view of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// The last entry that it has on disk.
    pub(crate) matched: u64,
    /// The last entry that it has reported as committed.
    pub(crate) committed: u64,
    /// It has responded in this election timeout or the previous one.
    pub(crate) active: bool,
    pub(crate) sending: Sending,
}

/// One group's Raft state machine. It does no I/O: a [`Ready`] contains the data to write and to
/// send.
pub(crate) struct Node<S: Storage>(RawNode<S>);

impl<S: Storage> Node<S> {
    /// Starts from the contents of `store`.
    ///
    /// # Errors
    /// If the settings or the store are invalid.
    pub(crate) fn new(settings: &Settings, store: S) -> Result<Self> {
        let config = Config {
            id: settings.id,
            election_tick: settings.election_ticks,
            heartbeat_tick: settings.heartbeat_ticks,
            applied: settings.applied,
            max_size_per_msg: settings.max_message_bytes,
            max_inflight_msgs: settings.max_inflight_messages,
            check_quorum: true,
            pre_vote: true,
            // Proposals are batched before they reach Raft; batching messages in addition would let
            // one grow without bound.
            batch_append: false,
            priority: settings.priority,
            ..Config::default()
        };
        let logger = super::logger::logger(&settings.group);
        Ok(Self(RawNode::new(&config, store, &logger)?))
    }

    pub(crate) fn store(&self) -> &S {
        self.0.store()
    }

    pub(crate) fn mut_store(&mut self) -> &mut S {
        self.0.mut_store()
    }

    // ── leadership ──

    pub(crate) fn role(&self) -> StateRole {
        self.0.raft.state
    }

    /// Returns `true` if this member is the leader.
    pub(crate) fn leads(&self) -> bool {
        self.role() == StateRole::Leader
    }

    /// Returns `true` if this member is a candidate or pre-candidate.
    pub(crate) fn asks_for_votes(&self) -> bool {
        matches!(self.role(), StateRole::Candidate | StateRole::PreCandidate)
    }

    pub(crate) fn term(&self) -> u64 {
        self.0.raft.term
    }

    /// The leader, or [`INVALID_ID`].
    pub(crate) fn leader_id(&self) -> u64 {
        self.0.raft.leader_id
    }

    /// Returns `true` if there is a known leader.
    pub(crate) fn has_leader(&self) -> bool {
        self.leader_id() != INVALID_ID
    }

    /// Returns `true` during a leader transfer.
    pub(crate) fn hands_over(&self) -> bool {
        self.0.raft.lead_transferee.is_some()
    }

    /// The target of a leader transfer, or else the leader, or [`INVALID_ID`].
    pub(crate) fn next_leader(&self) -> u64 {
        self.0.raft.lead_transferee.unwrap_or(self.leader_id())
    }

    /// This member's priority in elections.
    pub(crate) fn priority(&self) -> i64 {
        self.0.raft.priority
    }

    pub(crate) fn set_priority(&mut self, priority: i64) {
        self.0.set_priority(priority);
    }

    /// Becomes a follower without a leader in `term`.
    pub(crate) fn become_follower(&mut self, term: u64) {
        self.0.raft.become_follower(term, INVALID_ID);
    }

    /// Starts an election. Refused while changes of members are unapplied; a later call retries.
    pub(crate) fn campaign(&mut self) {
        let _ = self.0.campaign();
    }

    pub(crate) fn transfer_leader(&mut self, to: u64) {
        self.0.transfer_leader(to);
    }

    /// One tick of the clock.
    pub(crate) fn tick(&mut self) {
        self.0.tick();
    }

    /// Ticks since this leader's last heartbeat.
    pub(crate) fn heartbeat_elapsed(&self) -> usize {
        self.0.raft.heartbeat_elapsed()
    }

    // ── the log ──

    pub(crate) fn last_index(&self) -> u64 {
        self.0.raft.raft_log.last_index()
    }

    pub(crate) fn committed(&self) -> u64 {
        self.0.raft.raft_log.committed
    }

    pub(crate) fn persisted(&self) -> u64 {
        self.0.raft.raft_log.persisted
    }

    pub(crate) fn applied(&self) -> u64 {
        self.0.raft.raft_log.applied
    }

    /// The term of an entry, if the log contains it.
    pub(crate) fn term_of(&self, index: u64) -> Option<u64> {
        self.0.raft.raft_log.term(index).ok()
    }

    /// Returns `true` if an entry of this leader's term is committed; until then its commit index
    /// may be too low.
    pub(crate) fn commit_to_current_term(&self) -> bool {
        self.0.raft.commit_to_current_term()
    }

    /// Appends the entries of `message`, a `MsgPropose`.
    ///
    /// # Errors
    /// If this member is not the leader, or accepts no entries at present.
    pub(crate) fn propose(&mut self, message: Message) -> Result<()> {
        // The library's own `propose` takes only one entry.
        self.0.raft.step(message)
    }

    /// If `skip`, followers receive the commit index only with the next entries.
    pub(crate) fn skip_bcast_commit(&mut self, skip: bool) {
        self.0.raft.skip_bcast_commit(skip);
    }

    /// Returns `true` if the log contains an unapplied change of members.
    pub(crate) fn has_pending_conf(&self) -> bool {
        self.0.raft.has_pending_conf()
    }

    /// Applies a change of members.
    ///
    /// # Errors
    /// If the change does not fit the current members.
    pub(crate) fn apply_conf_change(&mut self, change: &ConfChangeV2) -> Result<ConfState> {
        self.0.apply_conf_change(change)
    }

    // ── other members ──

    /// This leader's view of a member.
    pub(crate) fn progress(&self, id: u64) -> Option<Progress> {
        let known = self.0.raft.prs().get(id)?;
        let sending = match known.state {
            ProgressState::Probe => Sending::Probe,
            ProgressState::Replicate => Sending::Entries,
            ProgressState::Snapshot => Sending::Snapshot { index: known.pending_snapshot },
        };
        let (matched, committed) = (known.matched, known.committed_index);
        Some(Progress { matched, committed, active: known.recent_active, sending })
    }

    /// Resets a member's progress: its log ends at `last`, whatever it confirmed before.
    pub(crate) fn forget_progress(&mut self, id: u64, last: u64) {
        let Some(progress) = self.0.raft.mut_prs().get_mut(id) else { return };
        // A snapshot in flight repairs it, too.
        if progress.matched > last && progress.state != ProgressState::Snapshot {
            progress.matched = last;
            progress.become_probe();
        }
    }

    /// Processes a message from another member.
    ///
    /// # Errors
    /// If the message is rejected.
    pub(crate) fn step(&mut self, message: Message) -> Result<()> {
        self.0.step(message)
    }

    /// Reports the outcome of sending a snapshot to a member.
    pub(crate) fn report_snapshot(&mut self, to: u64, sent: bool) {
        let status = if sent { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.0.report_snapshot(to, status);
    }

    /// Returns `true` if a received snapshot is not written yet.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.0.snap().is_some_and(|snapshot| !snapshot.is_empty())
    }

    /// Starts a read round (ReadIndex).
    pub(crate) fn read_index(&mut self, context: Vec<u8>) {
        self.0.read_index(context);
    }

    /// Number of read rounds that await a quorum.
    pub(crate) fn pending_reads(&self) -> usize {
        self.0.raft.pending_read_count()
    }

    /// Reports that entries which the store lacked before are available.
    pub(crate) fn on_entries_fetched(&mut self, context: GetEntriesContext) {
        self.0.on_entries_fetched(context);
    }

    // ── output ──

    pub(crate) fn has_ready(&self) -> bool {
        self.0.has_ready()
    }

    pub(crate) fn ready(&mut self) -> Ready {
        self.0.ready()
    }

    /// Reports that the disk part of `ready` is queued for writing.
    pub(crate) fn advance_append_async(&mut self, ready: Ready) {
        self.0.advance_append_async(ready);
    }

    /// Reports that readies up to `number` are on disk.
    pub(crate) fn on_persist_ready(&mut self, number: u64) {
        self.0.on_persist_ready(number);
    }

    /// Reports that entries up to `applied` are applied.
    pub(crate) fn advance_apply_to(&mut self, applied: u64) {
        self.0.advance_apply_to(applied);
    }
}
