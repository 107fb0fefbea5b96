//! Linearizable reads and the lease that makes most of them free.
//!
//! A read round is Raft's ReadIndex: a heartbeat that a quorum answers proves that this replica was
//! still leader when the round began. The start time is recorded: every follower that responded
//! will not vote for another member for an election timeout from then on, so for a third of that (a
//! margin for clocks and for a follower that restarts, see `lead.rs`) no other can have committed
//! anything, and reads need no round at all.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::core::GroupCore;
use super::state::read::{Round, Sender};
use crate::consensus::{ReadState, StateRole};
use crate::error::ReadError;
use crate::shared::FOREVER;

/// Maximum number of a follower's rounds that await the leader: a later read waits for the next
/// one.
const MOST_FORWARDED: usize = 2;

impl GroupCore {
    pub(crate) fn on_read(&mut self, anywhere: bool, sender: Sender) {
        let node = &self.node;
        let follows = node.role() == StateRole::Follower && node.has_leader();
        let able = node.leads() || (anywhere && follows);
        if !able || self.failed.is_some() {
            let _ = sender.send(Err(self.read_refused()));
            return;
        }
        self.reads.queued.push((Instant::now(), sender));
    }

    pub(crate) fn on_wait_applied(&mut self, index: u64, sender: Sender) {
        if self.failed.is_some() {
            let _ = sender.send(Err(self.read_refused()));
            return;
        }
        self.reads.indexed.push((index, sender));
        self.shared.notify_applied.store(true, Ordering::SeqCst);
        self.on_applied(self.shared.applied.load(Ordering::SeqCst));
    }

    fn read_refused(&self) -> ReadError {
        let hint = self.node.leader_id();
        let hint = if hint == self.my_id { None } else { self.node_of(hint) };
        ReadError::NotLeader { hint }
    }

    /// Starts a round for all waiting reads.
    pub(crate) fn start_reads(&mut self) {
        if !self.reads.queued.is_empty() {
            self.start_round();
        }
    }

    pub(crate) fn start_round(&mut self) {
        let node = &self.node;
        // Before it has committed an entry of its own term a leader does not have the commit index;
        // readers wait. Those of a follower share one request to the leader.
        let able = match node.role() {
            StateRole::Leader => node.commit_to_current_term(),
            StateRole::Follower => self.reads.rounds.len() < MOST_FORWARDED,
            _ => false,
        };
        if !able {
            return;
        }
        let readers = self.reads.queued.drain(..).map(|(_, sender)| sender).collect();
        self.reads.next += 1;
        let number = self.reads.next;
        let (started, lease_from) = (Instant::now(), self.shared.now());
        self.reads.rounds.push_back(Round { number, started, lease_from, readers });
        // The leader distinguishes rounds by these bytes, so they include the member.
        let mut context = number.to_le_bytes().to_vec();
        context.extend_from_slice(self.shared.me.as_bytes());
        self.node.read_index(context);
    }

    pub(crate) fn on_read_states(&mut self, states: Vec<ReadState>) {
        for state in states {
            let Some((number, node)) = state.request_ctx.split_first_chunk::<8>() else { continue };
            if node != self.shared.me.as_bytes() {
                continue;
            }
            let number = u64::from_le_bytes(*number);
            while let Some(round) = self.reads.rounds.pop_front_if(|r| r.number <= number) {
                if round.number == number {
                    self.extend_lease(round.lease_from);
                }
                let index = state.index;
                self.reads.indexed.extend(round.readers.into_iter().map(|r| (index, r)));
            }
        }
        if !self.reads.indexed.is_empty() {
            self.shared.notify_applied.store(true, Ordering::SeqCst);
            self.on_applied(self.shared.applied.load(Ordering::SeqCst));
        }
    }

    fn extend_lease(&mut self, from: u64) {
        let node = &self.node;
        let none = self.sole_voter() || self.lead.lease.is_zero();
        if none || !node.leads() || self.lead.handed_over == node.term() {
            return;
        }
        let lease = u64::try_from(self.lead.lease.as_nanos()).unwrap_or(0);
        let until = from.saturating_add(lease).min(FOREVER - 1);
        self.shared.lease_until.fetch_max(until, Ordering::AcqRel);
    }

    /// Responds to readers whose index is applied.
    pub(crate) fn on_applied(&mut self, applied: u64) {
        let mut at = 0;
        while at < self.reads.indexed.len() {
            if self.reads.indexed[at].0 <= applied {
                let (index, sender) = self.reads.indexed.swap_remove(at);
                let _ = sender.send(Ok(index));
            } else {
                at += 1;
            }
        }
        if !self.reads.indexed.is_empty() {
            self.shared.notify_applied.store(true, Ordering::SeqCst);
        }
        self.serve_when_caught_up(applied);
    }

    /// Ends the lease and fails waiting reads after a loss of leadership.
    pub(crate) fn end_reads(&mut self) {
        self.shared.lease_until.store(0, Ordering::Release);
        let error = self.read_refused();
        for sender in self.reads.drain_unconfirmed() {
            let _ = sender.send(Err(error.clone()));
        }
    }

    /// Times out old rounds and keeps a used lease alive; called once per tick.
    pub(crate) fn tick_reads(&mut self, now: Instant) {
        let timeout = self.lead.election_timeout;
        while let Some(round) =
            self.reads.rounds.pop_front_if(|r| now.duration_since(r.started) > timeout)
        {
            for sender in round.readers {
                let _ = sender.send(Err(ReadError::Timeout));
            }
        }
        let late = |since: &Instant| now.duration_since(*since) > timeout;
        if self.reads.queued.first().is_some_and(|(since, _)| late(since)) {
            for (_, sender) in self.reads.queued.drain(..) {
                let _ = sender.send(Err(ReadError::Timeout));
            }
        }
        let lease = self.shared.lease_until.load(Ordering::Relaxed);
        if lease != 0 && lease != FOREVER {
            let half = self.lead.lease.as_nanos() as u64 / 2;
            let runs_out = self.shared.now() + half >= lease;
            if runs_out && self.shared.read_recently.swap(false, Ordering::Relaxed) {
                self.start_round();
            }
        }
    }
}
