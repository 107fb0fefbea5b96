//! Messages that no correct member sends, sent to a running group: it continues and loses nothing.
//!
//! They are malformed, or contradict the receiver's state. A well-formed but false message (a vote
//! that was not given, an entry with another content) is indistinguishable from a true one without
//! a certificate, and is not sent.

use bytes::Bytes;
use multiraft::{Group, Proposal};
use protobuf::{Message as _, ProtobufEnum as _};
use raft::eraftpb::{Entry, EntryType, Message, MessageType};
use std::sync::atomic::Ordering;
use uuid::Uuid;

use crate::support::{Cluster, until};

/// Raft's number of a node.
fn fold(id: Uuid) -> u64 {
    let (high, low) = id.as_u64_pair();
    (high.rotate_left(32) ^ low).max(1)
}

/// A frame with one message, as described in `transport/frame.rs`.
fn frame(from: Uuid, group: Uuid, body: &[u8]) -> Bytes {
    let mut header = vec![1];
    header.extend_from_slice(from.as_bytes());
    header.extend_from_slice(&1u32.to_le_bytes());
    header.extend_from_slice(group.as_bytes());
    header.extend_from_slice(&(body.len() as u32).to_le_bytes());
    header.extend_from_slice(body);
    header.extend_from_slice(&0u32.to_le_bytes());
    header.into()
}

/// Input for forged messages: the receiver's state, and two numbers.
struct Seen {
    term: u64,
    commit: u64,
    last: u64,
}

impl Cluster {
    /// Sends `message` to `to` as if it came from `from`.
    fn forge(&self, from: usize, to: usize, mut message: Message) {
        message.from = fold(self.nodes[from].id);
        message.to = fold(self.nodes[to].id);
        let body = message.write_to_bytes().unwrap();
        let frame = frame(self.nodes[from].id, self.id, &body);
        // A message rejected on receipt counts as well.
        let _ = self.nodes[to].host.as_ref().unwrap().receive(frame, Bytes::new());
    }

    async fn seen(&self, n: usize) -> Seen {
        let status = self.group(n).status().await.unwrap();
        Seen { term: status.term, commit: status.commit, last: status.last_index }
    }

    fn refused(&self) -> u64 {
        let of = |n: usize| self.nodes[n].host.as_ref().unwrap().metrics().clone();
        self.up().into_iter().map(|n| of(n).messages_refused.load(Ordering::Relaxed)).sum()
    }

    async fn assert_works(&self, what: &str) {
        for n in self.up() {
            let status = self.group(n).status().await.expect("the loop has ended");
            assert_eq!(status.failed, None, "{what}, on node {n}");
        }
    }
}

fn message(kind: MessageType, term: u64) -> Message {
    let mut message = Message { term, ..Message::default() };
    message.set_msg_type(kind);
    message
}

fn entry(index: u64, term: u64) -> Entry {
    Entry { index, term, data: Bytes::from_static(b"forged"), ..Entry::default() }
}

fn append(seen: &Seen, index: u64, log_term: u64, entries: Vec<Entry>) -> Message {
    let mut message = message(MessageType::MsgAppend, seen.term + 1);
    (message.index, message.log_term) = (index, log_term);
    (message.commit, message.entries) = (u64::MAX >> 2, entries.into());
    message
}

/// Messages on which Raft's library panics, or whose numbers have lasting effects.
fn malformed(seen: &Seen) -> Vec<(&'static str, Message)> {
    let next = seen.term + 1;
    let last = seen.last;
    let mut undecodable = entry(last + 1, seen.term);
    undecodable.set_entry_type(EntryType::EntryConfChangeV2);
    let with = |kind, term, change: &dyn Fn(&mut Message)| {
        let mut message = message(kind, term);
        change(&mut message);
        message
    };
    vec![
        ("a gap after the log", append(seen, last + 1000, 0, vec![entry(last + 1001, next)])),
        ("an entry of no term", append(seen, last, 0, vec![entry(last + 1, 0)])),
        ("entries that are not consecutive", append(seen, 0, 0, vec![entry(last + 5, next)])),
        ("an index that overflows", append(seen, u64::MAX, 1, vec![entry(0, 1)])),
        ("entries of a later term", append(seen, last, seen.term, vec![entry(last + 1, next + 9)])),
        ("a malformed change of members", append(seen, last, seen.term, vec![undecodable])),
        ("an append of no term", with(MessageType::MsgAppend, 0, &|m| m.index = last + 7)),
        ("a heartbeat of no term", with(MessageType::MsgHeartbeat, 0, &|m| m.commit = u64::MAX)),
        ("an empty read request", message(MessageType::MsgReadIndex, 0)),
        ("a vote of no term", message(MessageType::MsgRequestVote, 0)),
        ("a last term", message(MessageType::MsgHeartbeat, u64::MAX)),
        ("a last term of a candidate", message(MessageType::MsgRequestVote, u64::MAX)),
        ("a last term in an answer", message(MessageType::MsgAppendResponse, u64::MAX)),
        (
            "an index beyond the log",
            with(MessageType::MsgAppendResponse, seen.term, &|m| m.index = u64::MAX),
        ),
        (
            "a hint that overflows",
            with(MessageType::MsgAppendResponse, seen.term, &|m| {
                (m.index, m.reject, m.reject_hint) = (last, true, u64::MAX);
            }),
        ),
        (
            "a snapshot request",
            with(MessageType::MsgAppendResponse, seen.term, &|m| {
                (m.index, m.reject, m.request_snapshot) = (last, true, u64::MAX);
            }),
        ),
        (
            "a commit index beyond the log",
            with(MessageType::MsgHeartbeatResponse, seen.term, &|m| m.commit = u64::MAX),
        ),
        ("a proposal", message(MessageType::MsgPropose, 0)),
        ("a request for a leader transfer", message(MessageType::MsgTransferLeader, seen.term)),
        ("a tick", message(MessageType::MsgHup, 0)),
        ("a snapshot outside of a stream", message(MessageType::MsgSnapshot, next)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_message_is_refused_and_the_group_goes_on() {
    let cluster = Cluster::started(3);
    let all = [0, 1, 2];
    cluster.put(&all, "first").await;
    let kinds = malformed(&cluster.seen(0).await).len();
    for at in 0..kinds {
        let leader = cluster.leader().await;
        for to in all {
            for from in all.into_iter().filter(|from| *from != to) {
                let (what, message) = malformed(&cluster.seen(to).await).swap_remove(at);
                let before = cluster.refused();
                cluster.forge(from, to, message);
                // Queued after the message, so the message has been processed when this returns.
                cluster.assert_works(what).await;
                assert!(
                    cluster.refused() > before,
                    "not refused: {what}, to the leader: {}",
                    to == leader
                );
            }
        }
        cluster.put(&all, &format!("after {at}")).await;
    }
    until("all replicas agree", async || {
        let held = cluster.entries(0);
        held.len() > kinds && all.iter().all(|n| cluster.entries(*n) == held)
    })
    .await;
    for n in all {
        assert!(cluster.seen(n).await.term < 1 << 20, "a forged term was accepted");
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_speaks_for_its_sender_and_for_members_only() {
    let cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    let seen = cluster.seen(0).await;
    let (host, to) = (cluster.nodes[0].host.as_ref().unwrap(), fold(cluster.nodes[0].id));
    let beat =
        |from: u64| Message { from, to, ..message(MessageType::MsgHeartbeat, seen.term + 9) };
    let stranger = Uuid::new_v4();
    let another = beat(fold(cluster.nodes[1].id)).write_to_bytes().unwrap();
    host.receive(frame(stranger, cluster.id, &another), Bytes::new()).unwrap();
    let own = beat(fold(stranger)).write_to_bytes().unwrap();
    host.receive(frame(stranger, cluster.id, &own), Bytes::new()).unwrap();
    assert!(host.receive(Bytes::from_static(&[1, 2, 3]), Bytes::new()).is_err());
    cluster.assert_works("a stranger").await;
    assert!(cluster.seen(0).await.term < seen.term + 9);
    assert_eq!(cluster.refused(), 2, "the frame that is none, and the one in another's name");
    cluster.shutdown().await;
}

/// A replica approaches a far term in steps, so that one with such a term does not stay alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_with_a_far_term_is_followed_step_by_step() {
    let mut cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    let leader = cluster.leader().await;
    let (victim, third) = ((leader + 1) % 3, (leader + 2) % 3);
    // While the third is down the others reach a term that is two steps ahead of it.
    cluster.stop(third, false).await;
    for _ in 0..2 {
        let mut far = message(MessageType::MsgAppendResponse, 1 << 40);
        far.reject = true;
        for (from, to) in [(leader, victim), (victim, leader)] {
            let before = cluster.seen(to).await.term;
            cluster.forge(from, to, far.clone());
            assert!(cluster.seen(to).await.term >= before + (1 << 32), "no step was made");
        }
    }
    cluster.put(&[leader, victim], "far").await;
    cluster.start(third);
    cluster.put(&[0, 1, 2], "together").await;
    until("all replicas agree", async || {
        let held = cluster.entries(third);
        held.len() >= 3 && (0..3).all(|n| cluster.entries(n) == held)
    })
    .await;
    cluster.shutdown().await;
}

/// A pseudo-random sequence that is the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Numbers near the limits of interest, and far from all.
    fn number(&mut self, near: u64) -> u64 {
        match self.roll(8) {
            0 => 0,
            1 => near.wrapping_sub(1),
            2 => near,
            3 => near + 1,
            4 => near + self.roll(1000),
            5 => u64::MAX,
            6 => u64::MAX - self.roll(3),
            _ => 1 << self.roll(64),
        }
    }

    fn message(&mut self, seen: &Seen) -> Message {
        let kinds = MessageType::values();
        let kind = kinds[self.roll(kinds.len() as u64) as usize];
        let mut message = message(kind, self.number(seen.term));
        message.index = self.number(seen.last);
        message.log_term = self.number(seen.term);
        message.commit = self.number(seen.commit);
        message.commit_term = self.number(seen.term);
        message.reject_hint = self.number(seen.last);
        message.reject = self.roll(2) == 0;
        message.priority = self.number(0) as i64;
        if self.roll(4) == 0 {
            message.request_snapshot = self.number(seen.last);
        }
        if self.roll(4) == 0 {
            message.context = Bytes::from(vec![self.roll(256) as u8; self.roll(64) as usize]);
        }
        let count = self.roll(4);
        let entry = |n| {
            let mut entry = Entry { index: self.number(seen.last + n), ..Entry::default() };
            entry.term = self.number(seen.term);
            entry.data = Bytes::from(vec![7; self.roll(40) as usize]);
            entry.sync_log = self.roll(4) == 0;
            let types = EntryType::values();
            entry.set_entry_type(types[self.roll(types.len() as u64) as usize]);
            entry
        };
        message.set_entries((1..=count).map(entry).collect::<Vec<_>>().into());
        message.mut_snapshot().mut_metadata().index = self.number(seen.last);
        keep_false(&mut message, seen);
        message
    }
}

/// Removes well-formed falsehoods: a vote, a confirmation or an entry that a member could have
/// sent.
fn keep_false(message: &mut Message, seen: &Seen) {
    let plausible = message.term >= seen.term && message.term < 1 << 62;
    match message.get_msg_type() {
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => {
            message.reject |= plausible;
        }
        MessageType::MsgAppendResponse if plausible && message.index <= seen.last => {
            message.reject = true;
        }
        MessageType::MsgAppend if plausible => {
            // No real entry follows one that does not exist.
            for entry in message.mut_entries().iter_mut() {
                entry.term = 0;
            }
            // Entries that are not committed everywhere must not be committed by a forged message.
            message.commit = message.commit.min(seen.commit);
        }
        MessageType::MsgHeartbeat => message.commit = message.commit.min(seen.commit),
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => {
            message.commit_term = message.log_term.saturating_add(1);
        }
        _ => {}
    }
}

async fn survives(seed: u64, rounds: u64) {
    let cluster = Cluster::started(3);
    let all = [0, 1, 2];
    // A forged heartbeat's nonexistent leader would keep a new group from beginning: a replica that
    // it contacted no longer counts as new to the others.
    cluster.put(&all, "first").await;
    let mut dice = Dice(seed);
    for round in 0..rounds {
        for to in all {
            let seen = cluster.seen(to).await;
            for _ in 0..40 {
                let from = (to + 1 + dice.roll(2) as usize) % 3;
                let message = dice.message(&seen);
                if dice.roll(8) == 0 {
                    // Bytes that are rarely a valid message.
                    let mut body = message.write_to_bytes().unwrap();
                    let at = dice.roll(body.len() as u64) as usize;
                    body[at] ^= 1 << dice.roll(8);
                    body.truncate(body.len() - dice.roll(3) as usize);
                    if Message::parse_from_bytes(&body).is_err() {
                        let frame = frame(cluster.nodes[from].id, cluster.id, &body);
                        let host = cluster.nodes[to].host.as_ref().unwrap();
                        assert!(host.receive(frame, Bytes::new()).is_err());
                    }
                } else {
                    cluster.forge(from, to, message);
                }
            }
        }
        cluster.assert_works(&format!("seed {seed}, round {round}")).await;
        cluster.put(&all, &format!("entry {round}")).await;
    }
    // A client that proposes again after a change of leader may find both in the log.
    until("all replicas have all that was acknowledged, and the same", async || {
        let held = cluster.entries(0);
        let there = |round| held.values().any(|header| *header == format!("entry {round}"));
        (0..rounds).all(there) && all.iter().all(|n| cluster.entries(*n) == held)
    })
    .await;
    assert!(cluster.refused() > rounds, "too few messages were rejected");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_sent_anything_goes_on_and_loses_nothing() {
    for seed in 1..=3 {
        survives(seed, 10).await;
    }
}

async fn put_through(group: &Group, header: &'static str) -> bool {
    group.propose(Proposal::new(header)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_one_is_sent_messages_by_strangers() {
    let cluster = Cluster::started(1);
    let group = cluster.group(0);
    until("it to be the leader", async || put_through(&group, "one").await).await;
    let seen = cluster.seen(0).await;
    for (_, message) in malformed(&seen) {
        let stranger = Uuid::new_v4();
        let message = Message { from: fold(stranger), to: fold(cluster.nodes[0].id), ..message };
        let body = message.write_to_bytes().unwrap();
        let host = cluster.nodes[0].host.as_ref().unwrap();
        let _ = host.receive(frame(stranger, cluster.id, &body), Bytes::new());
    }
    cluster.assert_works("strangers").await;
    assert!(put_through(&group, "two").await);
    cluster.shutdown().await;
}
