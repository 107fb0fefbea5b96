//! One group's Raft state machine: the library's `RawNode`, and what we read of its fields.

use raft::eraftpb::{ConfChangeV2, ConfState, Message};
use raft::{
    Config, GetEntriesContext, INVALID_ID, ProgressState, RawNode, Ready, Result, SnapshotStatus,
    StateRole, Storage,
};
use uuid::Uuid;

/// What a group's state machine is started with.
pub(crate) struct Settings {
    /// The group, for log lines.
    pub(crate) group: Uuid,
    /// This member.
    pub(crate) id: u64,
    /// Ticks without a leader until votes are asked for.
    pub(crate) election_ticks: usize,
    /// Ticks between heartbeats.
    pub(crate) heartbeat_ticks: usize,
    /// Entries up to here are applied.
    pub(crate) applied: u64,
    /// Bytes of entries in a message.
    pub(crate) max_message_bytes: u64,
    /// Messages to a follower that it has not answered.
    pub(crate) max_inflight_messages: usize,
    /// Of this member, in elections.
    pub(crate) priority: i64,
}

/// How a leader sends its log to a follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// One message at a time: it is not certain where their logs part.
    Probe,
    /// As entries come.
    Entries,
    /// A snapshot that ends at `index`.
    Snapshot { index: u64 },
}

/// What a leader knows of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// The last entry that it has on disk.
    pub(crate) matched: u64,
    /// The last entry of which it knows that it is committed.
    pub(crate) committed: u64,
    /// Whether it has answered in this election timeout or the one before.
    pub(crate) active: bool,
    pub(crate) sending: Sending,
}

/// One group's Raft state machine. It does no I/O: what is to be written and sent comes out of it
/// as a [`Ready`].
pub(crate) struct Node<S: Storage>(RawNode<S>);

impl<S: Storage> Node<S> {
    /// Starts from what `store` holds.
    ///
    /// # Errors
    /// When the settings or the store make no sense.
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
            // Proposals are batched before they reach Raft; batching messages on top would let
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

    // ── who leads ──

    pub(crate) fn role(&self) -> StateRole {
        self.0.raft.state
    }

    /// Whether it leads.
    pub(crate) fn leads(&self) -> bool {
        self.role() == StateRole::Leader
    }

    /// Whether it asks for votes, or whether it would get them.
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

    /// Whether a leader is known.
    pub(crate) fn has_leader(&self) -> bool {
        self.leader_id() != INVALID_ID
    }

    /// Whether this leader hands over to another member.
    pub(crate) fn hands_over(&self) -> bool {
        self.0.raft.lead_transferee.is_some()
    }

    /// The member that this leader hands over to, or else the leader, or [`INVALID_ID`].
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

    /// Follows no leader, in `term`.
    pub(crate) fn become_follower(&mut self, term: u64) {
        self.0.raft.become_follower(term, INVALID_ID);
    }

    /// Asks for votes. Refused while changes of members are not applied: it is asked again later.
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

    /// The term of an entry, when the log has it.
    pub(crate) fn term_of(&self, index: u64) -> Option<u64> {
        self.0.raft.raft_log.term(index).ok()
    }

    /// Whether an entry of this leader's term is committed: before that it does not know what is.
    pub(crate) fn commit_to_current_term(&self) -> bool {
        self.0.raft.commit_to_current_term()
    }

    /// Appends the entries of `message`, a `MsgPropose`.
    ///
    /// # Errors
    /// When this member does not lead, or takes none at present.
    pub(crate) fn propose(&mut self, message: Message) -> Result<()> {
        // Not by the library's `propose`, which takes one entry.
        self.0.raft.step(message)
    }

    /// Whether followers are left to hear of what is committed with the next entries.
    pub(crate) fn skip_bcast_commit(&mut self, skip: bool) {
        self.0.raft.skip_bcast_commit(skip);
    }

    /// Whether a change of members is in the log and not applied.
    pub(crate) fn has_pending_conf(&self) -> bool {
        self.0.raft.has_pending_conf()
    }

    /// A change of members takes effect.
    ///
    /// # Errors
    /// When it does not follow from the members that there are.
    pub(crate) fn apply_conf_change(&mut self, change: &ConfChangeV2) -> Result<ConfState> {
        self.0.apply_conf_change(change)
    }

    // ── other members ──

    /// What this leader knows of a member.
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

    /// A member's log ends at `last`, whatever it confirmed before.
    pub(crate) fn forget_progress(&mut self, id: u64, last: u64) {
        let Some(progress) = self.0.raft.mut_prs().get_mut(id) else { return };
        // A snapshot that is on its way mends it, too.
        if progress.matched > last && progress.state != ProgressState::Snapshot {
            progress.matched = last;
            progress.become_probe();
        }
    }

    /// Takes a message of another member.
    ///
    /// # Errors
    /// When it is of no use.
    pub(crate) fn step(&mut self, message: Message) -> Result<()> {
        self.0.step(message)
    }

    /// A snapshot has come to a member, or has not.
    pub(crate) fn report_snapshot(&mut self, to: u64, sent: bool) {
        let status = if sent { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.0.report_snapshot(to, status);
    }

    /// Whether a snapshot was taken in and is not written yet.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.0.snap().is_some_and(|snapshot| !snapshot.is_empty())
    }

    /// Begins a round of reads.
    pub(crate) fn read_index(&mut self, context: Vec<u8>) {
        self.0.read_index(context);
    }

    /// Rounds of reads that a majority has not answered.
    pub(crate) fn pending_reads(&self) -> usize {
        self.0.raft.pending_read_count()
    }

    /// Entries that the store did not have at once are there.
    pub(crate) fn on_entries_fetched(&mut self, context: GetEntriesContext) {
        self.0.on_entries_fetched(context);
    }

    // ── what comes out ──

    pub(crate) fn has_ready(&self) -> bool {
        self.0.has_ready()
    }

    pub(crate) fn ready(&mut self) -> Ready {
        self.0.ready()
    }

    /// What `ready` has for the disk is on its way there.
    pub(crate) fn advance_append_async(&mut self, ready: Ready) {
        self.0.advance_append_async(ready);
    }

    /// Readies up to `number` are on disk.
    pub(crate) fn on_persist_ready(&mut self, number: u64) {
        self.0.on_persist_ready(number);
    }

    /// Entries up to `applied` are applied.
    pub(crate) fn advance_apply_to(&mut self, applied: u64) {
        self.0.advance_apply_to(applied);
    }
}
