//! Validation of other members' messages before Raft's library gets them.
//!
//! The library does not validate messages. It panics on an append whose entries have a gap, on a
//! read request without a context, and on a vote that arrives before the log is written, and it
//! adds one to any number that it receives. A message that no correct member sends is therefore
//! rejected here, counted (`messages_refused`) and never stepped. Rejected are:
//!
//! * message types that members never send, and types that do not fit the sender's role;
//! * numbers beyond [`LIMIT`], with which the library's arithmetic would overflow;
//! * contradictory terms: no term where one is required, a log of a later term than its leader's;
//! * entries with a gap between them, or after the entry that the message says they follow;
//! * a follower's claims about this leader's log that the log contradicts.
//!
//! **A term is accepted in steps.** A message whose term is more than [`TERM_STEP`] ahead is
//! rejected, and this replica's own term advances by one step. One message can therefore not use up
//! the terms of a group; replicas that lag far behind catch up within a few messages. A term beyond
//! [`LIMIT`] has no effect.
//!
//! Well-formed but false messages (another member's confirmation, another leader's entries) cannot
//! be detected without a certificate of the sender.

use uuid::Uuid;

use super::core::GroupCore;
use super::out::Out;
use crate::consensus::{Entry, EntryType, Message, MessageType, decode_change};
use crate::id::fold;
use crate::membership::Membership;
use crate::metrics::add;
use crate::snapshot::members_in;

/// The largest term and index that a member may send. At one entry per nanosecond it is reached in
/// a century.
const LIMIT: u64 = 1 << 62;

/// Maximum lead of a message's term over this replica's term.
const TERM_STEP: u64 = 1 << 32;

/// Maximum number of followers' read requests that a leader keeps until a quorum responds; see
/// `MsgReadIndex`.
const MOST_READS: usize = 4096;

/// Bytes of a follower's read request: number and node, see `read.rs`.
const QUESTION: usize = 24;

/// The reason for a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(&'static str);

/// This replica's state for validating a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here {
    pub(crate) term: u64,
    /// Last entry of the log.
    pub(crate) last: u64,
    /// Last entry that is on disk.
    pub(crate) persisted: u64,
    pub(crate) leads: bool,
    /// This replica is a candidate.
    pub(crate) asks: bool,
    /// Number of pending read requests of followers.
    pub(crate) reads: usize,
}

fn ensure(holds: bool, otherwise: &'static str) -> Result<(), Refused> {
    if holds { Ok(()) } else { Err(Refused(otherwise)) }
}

/// Checks that a member may have sent this message. For snapshots see [`verify_snapshot`].
pub(crate) fn verify(message: &Message, here: Here) -> Result<(), Refused> {
    use MessageType::*;
    let kind = message.get_msg_type();
    verify_numbers(message)?;
    let same_term = message.term == here.term;
    if message.term == 0 {
        // The library treats a message without a term as one of its own.
        ensure(matches!(kind, MsgHeartbeatResponse | MsgReadIndex), "message has no term")?;
    }
    match kind {
        MsgAppend => {
            ensure(!(here.leads && same_term), "this replica is the leader in that term")?;
            verify_append(message)
        }
        MsgHeartbeat => {
            ensure(!(here.leads && same_term), "this replica is the leader in that term")
        }
        MsgAppendResponse if here.leads && same_term => {
            let known = message.index <= here.last
                && message.commit <= here.last
                && (!message.reject || message.reject_hint <= here.last);
            ensure(known, "confirms entries that this leader does not have")
        }
        MsgAppendResponse => Ok(()),
        MsgHeartbeatResponse => {
            let foreign = here.leads && (same_term || message.term == 0);
            ensure(
                !foreign || message.commit <= here.last,
                "commit index is beyond this leader's log",
            )
        }
        MsgRequestVote | MsgRequestPreVote => {
            ensure(
                (message.index == 0) == (message.log_term == 0),
                "its log position has no term",
            )?;
            ensure(
                message.log_term <= message.term,
                "its log is of a later term than the message",
            )?;
            ensure(message.commit <= message.index, "commit index is beyond its log")?;
            ensure(message.commit_term <= message.log_term, "committed entry is of a later term")
        }
        MsgRequestVoteResponse => {
            // A candidate requests votes once its log is on disk. An earlier vote responds to no
            // request.
            let asked = message.reject || !here.asks || here.last == here.persisted;
            ensure(asked, "this vote was not requested")?;
            ensure(message.commit_term <= message.term, "committed entry is of a later term")
        }
        MsgRequestPreVoteResponse => {
            ensure(message.commit_term <= message.term, "committed entry is of a later term")
        }
        MsgReadIndex => {
            let [entry] = message.get_entries() else {
                return Err(Refused("a read request must have one entry"));
            };
            ensure(sender_of(entry) == Some(message.from), "read request of another member")?;
            ensure(here.reads < MOST_READS, "too many read requests")
        }
        MsgReadIndexResp => {
            ensure(message.get_entries().len() == 1, "a read response must have one entry")
        }
        // The target of a leader transfer has the whole log on disk.
        MsgTimeoutNow => ensure(here.last == here.persisted, "the log is not written yet"),
        _ => Err(Refused("members do not send this message type")),
    }
}

fn verify_numbers(message: &Message) -> Result<(), Refused> {
    // Heartbeats and their responses carry a clock there, see `send`.
    let index = match message.get_msg_type() {
        MessageType::MsgHeartbeatResponse => 0,
        _ => message.index,
    };
    let log_term = match message.get_msg_type() {
        MessageType::MsgHeartbeat | MessageType::MsgHeartbeatResponse => 0,
        _ => message.log_term,
    };
    let all =
        [message.term, index, log_term, message.commit, message.commit_term, message.reject_hint];
    ensure(all.iter().all(|number| *number <= LIMIT), "a number is out of bounds")?;
    // Snapshots are sent if the log does not reach back far enough, never on request.
    ensure(message.request_snapshot == 0, "members do not request snapshots")
}

/// Checks that an append is one run of entries that follows its base entry.
fn verify_append(message: &Message) -> Result<(), Refused> {
    // The library treats an entry that it does not have as one of term 0.
    ensure(
        (message.index == 0) == (message.log_term == 0),
        "the entry before its entries has no term",
    )?;
    let (mut index, mut term) = (message.index, message.log_term);
    for entry in message.get_entries() {
        index += 1;
        ensure(entry.index == index, "its entries are not consecutive")?;
        ensure(entry.term >= term.max(1), "its terms go backwards")?;
        term = entry.term;
        verify_change(entry)?;
    }
    ensure(term <= message.term, "its entries are of a later term")
}

/// A malformed change of members would stop the group when it is committed.
fn verify_change(entry: &Entry) -> Result<(), Refused> {
    match entry.get_entry_type() {
        EntryType::EntryNormal => Ok(()),
        EntryType::EntryConfChange => Err(Refused("a change of members in an old format")),
        EntryType::EntryConfChangeV2 => {
            ensure(decode_change(&entry.data).is_ok(), "malformed change of members")?;
            let members = Membership::decode(entry.context.clone());
            ensure(members.is_ok_and(|m| m.is_sound()), "change leads to invalid members")
        }
    }
}

/// The member that sent a read request.
fn sender_of(question: &Entry) -> Option<u64> {
    let node = question.data.get(QUESTION - 16..).filter(|_| question.data.len() == QUESTION)?;
    Uuid::from_slice(node).ok().map(fold)
}

/// Checks that the library can restore the message that came with a snapshot's content.
pub(crate) fn verify_snapshot(message: &Message, here: Here, me: Uuid) -> Result<(), Refused> {
    ensure(message.get_msg_type() == MessageType::MsgSnapshot, "not a snapshot message")?;
    verify_numbers(message)?;
    ensure(message.term > 0, "message has no term")?;
    ensure(!(here.leads && message.term == here.term), "this replica is the leader in that term")?;
    let metadata = message.get_snapshot().get_metadata();
    ensure((1..=LIMIT).contains(&metadata.index), "a snapshot without entries")?;
    ensure(
        (1..=message.term).contains(&metadata.term),
        "a snapshot without a term, or of a later one",
    )?;
    let members = members_in(message.get_snapshot());
    let members = members.map_err(|_| Refused("malformed members"))?;
    ensure(members.is_sound() && members.contains(me), "invalid members")?;
    let (told, expected) = (metadata.get_conf_state(), members.conf_state());
    let sorted = |ids: &[u64]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    };
    let same = sorted(&told.voters) == sorted(&expected.voters)
        && sorted(&told.learners) == sorted(&expected.learners);
    let plain = told.voters_outgoing.is_empty() && told.learners_next.is_empty();
    ensure(same && plain && !told.auto_leave, "its two lists of members differ")
}

impl GroupCore {
    pub(crate) fn here(&self) -> Here {
        let node = &self.node;
        Here {
            term: node.term(),
            last: node.last_index(),
            persisted: node.persisted(),
            leads: node.leads(),
            asks: node.asks_for_votes(),
            reads: node.pending_reads(),
        }
    }

    /// Rejects a message, and logs some of the rejections.
    pub(crate) fn refuse(&mut self, message: &Message, why: Refused, out: &Out) {
        add(&out.metrics.messages_refused, 1);
        self.refused += 1;
        if self.refused.is_power_of_two() {
            let (group, from, kind) = (self.shared.id, message.from, message.get_msg_type());
            tracing::warn!(%group, from = %format_args!("{from:016x}"), ?kind, term = message.term, index = message.index, refused = self.refused, "raft message rejected: {why}");
        }
    }

    /// Returns `true` if the term of a message is too far ahead to be accepted at once. If the
    /// message would change this replica's term, the term advances by one step.
    pub(crate) fn is_far_ahead(&mut self, message: &Message) -> bool {
        let mine = self.node.term();
        if message.term <= mine.saturating_add(TERM_STEP) {
            return false;
        }
        let moves = matches!(
            message.get_msg_type(),
            MessageType::MsgAppend
                | MessageType::MsgHeartbeat
                | MessageType::MsgSnapshot
                | MessageType::MsgAppendResponse
                | MessageType::MsgHeartbeatResponse
                | MessageType::MsgRequestVoteResponse
        );
        let moves = moves
            || (message.get_msg_type() == MessageType::MsgRequestPreVoteResponse && message.reject);
        if moves {
            self.node.become_follower(mine + TERM_STEP);
        }
        true
    }
}

/// See [`GroupCore::is_far_ahead`].
pub(crate) const FAR_AHEAD: Refused = Refused("its term is too far ahead to be accepted at once");

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::consensus::Snapshot;
    use crate::membership::Peer;
    use crate::snapshot::describe_members;

    const FOLLOWS: Here =
        Here { term: 5, last: 10, persisted: 10, leads: false, asks: false, reads: 0 };
    const LEADS: Here = Here { leads: true, ..FOLLOWS };

    fn message(kind: MessageType, term: u64) -> Message {
        let mut message = Message { term, from: 2, to: 1, ..Message::default() };
        message.set_msg_type(kind);
        message
    }

    fn append(term: u64, after: (u64, u64), entries: &[(u64, u64)]) -> Message {
        let mut message = message(MessageType::MsgAppend, term);
        (message.index, message.log_term) = after;
        let entry =
            |(index, term): &(u64, u64)| Entry { index: *index, term: *term, ..Entry::default() };
        message.set_entries(entries.iter().map(entry).collect::<Vec<_>>().into());
        message
    }

    fn taken(message: &Message, here: Here) -> bool {
        verify(message, here).is_ok()
    }

    #[test]
    fn an_append_is_one_run_of_entries_of_rising_terms() {
        assert!(taken(&append(5, (0, 0), &[(1, 1), (2, 1), (3, 5)]), FOLLOWS));
        assert!(taken(&append(5, (10, 4), &[]), FOLLOWS));
        assert!(taken(&append(7, (10, 5), &[(11, 5), (12, 6)]), LEADS), "a later leader");
        let bad = [
            append(5, (10, 0), &[(11, 5)]),
            append(5, (0, 3), &[(1, 5)]),
            append(5, (10, 5), &[(12, 5)]),
            append(5, (10, 5), &[(11, 5), (11, 5)]),
            append(5, (10, 5), &[(11, 4)]),
            append(5, (10, 5), &[(11, 6)]),
            append(5, (10, 6), &[]),
            append(5, (0, 0), &[(1, 0)]),
            append(0, (0, 0), &[]),
            append(5, (u64::MAX, 5), &[(0, 5)]),
            append(u64::MAX, (10, 5), &[(11, 5)]),
        ];
        for message in bad {
            assert!(!taken(&message, FOLLOWS), "{message:?}");
        }
        assert!(!taken(&append(5, (10, 5), &[]), LEADS), "there is one leader in a term");
    }

    #[test]
    fn a_leader_takes_no_word_for_what_its_log_does_not_have() {
        let answer = |index, commit, hint| {
            let mut message = message(MessageType::MsgAppendResponse, 5);
            (message.index, message.commit, message.reject_hint) = (index, commit, hint);
            message.reject = hint > 0;
            message
        };
        assert!(taken(&answer(10, 10, 0), LEADS) && taken(&answer(10, 9, 10), LEADS));
        for (index, commit, hint) in [(11, 0, 0), (10, 11, 0), (11, 0, 5), (10, 0, 11)] {
            assert!(!taken(&answer(index, commit, hint), LEADS));
            assert!(taken(&answer(index, commit, hint), FOLLOWS), "only a leader has a use for it");
        }
        let mut beat = message(MessageType::MsgHeartbeatResponse, 0);
        beat.index = u64::MAX;
        beat.log_term = u64::MAX;
        assert!(taken(&beat, LEADS), "clocks");
        beat.commit = 11;
        assert!(!taken(&beat, LEADS));
    }

    #[test]
    fn votes_and_candidates_have_logs_that_can_be() {
        let ask = |index, log_term, commit, commit_term| {
            let mut message = message(MessageType::MsgRequestVote, 6);
            (message.index, message.log_term) = (index, log_term);
            (message.commit, message.commit_term) = (commit, commit_term);
            message
        };
        assert!(taken(&ask(0, 0, 0, 0), FOLLOWS) && taken(&ask(12, 5, 12, 5), LEADS));
        for (index, log_term, commit, commit_term) in
            [(12, 0, 0, 0), (0, 1, 0, 0), (12, 7, 0, 0), (12, 5, 13, 5), (12, 5, 3, 6)]
        {
            assert!(!taken(&ask(index, log_term, commit, commit_term), FOLLOWS));
        }
        let vote = message(MessageType::MsgRequestVoteResponse, 5);
        let asks = Here { asks: true, ..FOLLOWS };
        assert!(taken(&vote, asks));
        assert!(!taken(&vote, Here { persisted: 9, ..asks }), "the vote was not requested");
        assert!(taken(&vote, Here { persisted: 9, ..LEADS }), "a late vote is accepted");
    }

    #[test]
    fn queries_name_their_sender_and_have_a_bound() {
        let node = Uuid::from_u128(77);
        let question = |data: Vec<u8>| {
            let mut message = message(MessageType::MsgReadIndex, 0);
            message.from = fold(node);
            message.set_entries(vec![Entry { data: data.into(), ..Entry::default() }].into());
            message
        };
        let data = [&7u64.to_le_bytes()[..], node.as_bytes()].concat();
        assert!(taken(&question(data.clone()), LEADS));
        assert!(!taken(&question(data.clone()), Here { reads: MOST_READS, ..LEADS }));
        assert!(!taken(&question(data[1..].to_vec()), LEADS));
        assert!(!taken(&question(Vec::new()), LEADS));
        assert!(!taken(&message(MessageType::MsgReadIndex, 0), LEADS), "no question in it");
        assert!(!taken(&Message { from: 3, ..question(data) }, LEADS), "another's");
    }

    #[test]
    fn what_members_do_not_send_is_refused() {
        for kind in [
            MessageType::MsgHup,
            MessageType::MsgBeat,
            MessageType::MsgPropose,
            MessageType::MsgSnapshot,
            MessageType::MsgUnreachable,
            MessageType::MsgSnapStatus,
            MessageType::MsgCheckQuorum,
            MessageType::MsgTransferLeader,
        ] {
            assert!(!taken(&message(kind, 5), FOLLOWS), "{kind:?}");
        }
        let mut asks = message(MessageType::MsgAppendResponse, 5);
        asks.request_snapshot = 1;
        assert!(!taken(&asks, LEADS));
    }

    #[test]
    fn the_members_in_a_snapshot_are_those_that_raft_is_told_of() {
        let peer = |n| Peer { node: Uuid::from_u128(n), address: String::new(), priority: 0 };
        let me = peer(1).node;
        let good = || {
            let mut message = message(MessageType::MsgSnapshot, 5);
            let mut snapshot =
                Snapshot { data: Bytes::from_static(&[0; 16]), ..Snapshot::default() };
            (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (9, 5);
            describe_members(&mut snapshot, &Membership::first(&[peer(1), peer(2)]));
            message.set_snapshot(snapshot);
            message
        };
        assert_eq!(verify_snapshot(&good(), FOLLOWS, me), Ok(()));
        assert!(verify_snapshot(&good(), FOLLOWS, peer(3).node).is_err(), "not a member");
        let spoilt: [fn(&mut Message); 6] = [
            |m| m.mut_snapshot().mut_metadata().index = 0,
            |m| m.mut_snapshot().mut_metadata().index = u64::MAX,
            |m| m.mut_snapshot().mut_metadata().term = 6,
            |m| m.mut_snapshot().data = Bytes::new(),
            |m| m.mut_snapshot().mut_metadata().mut_conf_state().voters.push(9),
            |m| m.set_msg_type(MessageType::MsgAppend),
        ];
        for spoil in spoilt {
            let mut message = good();
            spoil(&mut message);
            assert!(verify_snapshot(&message, FOLLOWS, me).is_err(), "{message:?}");
        }
    }
}
