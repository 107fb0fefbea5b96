//! Leadership: elections, priorities, leader transfers, and the time when a leader starts to serve.
//!
//! * A group of one elects itself at once. In a larger group the member with the highest priority
//!   starts an election at start, and repeats it until there is a leader, so a new group has a
//!   leader within a round trip of its members being up.
//! * **A replica that was a member before it started neither votes nor starts elections for one
//!   lease** (unless the group does without leases). Before it stopped it may have confirmed a
//!   leader's read lease; until that has expired no other member may become leader.
//! * A replica that may lack entries it once confirmed takes no part in elections (`catch_up.rs`).
//! * A leader that sees a healthy member of higher priority transfers leadership to it. It accepts
//!   no proposals during the transfer, so it doubles the delay after each failed attempt.
//! * Members without a vote (`change.rs`) never lead, and a removed one starts no elections.

use std::sync::atomic::Ordering;
use std::time::Instant;

use uuid::Uuid;

use super::core::GroupCore;
use super::out::Out;
use super::state::members::MemberCore;
use crate::apply::ApplyTask;
use crate::consensus::{INVALID_ID, StateRole};
use crate::error::ChangeError;
use crate::metrics::add;
use crate::shared::FOREVER;
use crate::status::LeaderState;

/// Maximum delay between two transfer attempts, in election timeouts.
const MAX_TRANSFER_DELAY: u64 = 32;

impl GroupCore {
    /// Starts an election right after the start, or when all others are known to be new.
    pub(crate) fn first_campaign(&mut self) {
        if self.lead.eager && self.may_campaign() {
            self.node.campaign();
        }
    }

    /// Prefetches the memory that the next tick reads.
    pub(crate) fn warm(&self) {
        let node = &self.node;
        std::hint::black_box((
            self.shared.applied.load(Ordering::Relaxed),
            self.shared.lease_until.load(Ordering::Relaxed),
            self.lead.ticks,
            node.term(),
            node.applied(),
            self.members.first().map(|m| m.priority),
        ));
    }

    /// Processes tick `number` of the loop. Returns `true` if it may have produced output.
    pub(crate) fn tick(&mut self, now: Instant, number: u64, out: &mut Out) -> bool {
        if self.failed.is_some() {
            return false;
        }
        self.lead.ticks += 1;
        self.lead.lockout = self.lead.lockout.saturating_sub(1);
        // Raft starts no election while changes of members may be unapplied.
        self.advance_applied();
        let idle = !self.may_campaign() || self.is_removed() || self.behind_its_log();
        let leads = self.node.leads();
        // A new leader's clock is aligned with the loop's: heartbeats of all groups happen on the
        // same ticks, and those for one node share a frame.
        let elapsed = self.node.heartbeat_elapsed() as u64;
        let aligned = elapsed == number.wrapping_sub(1) % self.lead.heartbeat_ticks;
        let due = if leads { aligned } else { !idle };
        if due {
            self.node.tick();
        }
        let node = &self.node;
        if self.lead.eager && !idle && self.lead.ticks % 2 == 1 {
            if node.has_leader() {
                self.lead.eager = false;
            } else if node.role() != StateRole::Candidate {
                // Pre-votes change no member's term, so frequent ones are harmless.
                self.node.campaign();
            }
        }
        self.find_leader(idle);
        let given_up = |lost| self.lead.ticks - lost > self.lead.election_ticks;
        if self.lead.lost.is_some_and(given_up) {
            self.lead.lost = None;
            self.drop_waiting();
        }
        self.tick_reads(now);
        self.tick_snapshot(now);
        // Raft resets the members' activity at every election timeout. A different period samples
        // every distance from that reset: with the same period, a check right after the reset would
        // see no active member.
        if self.lead.ticks.is_multiple_of(self.lead.election_ticks + 1) {
            if self.shared.health.trouble().is_some() {
                // A member with free disk space should lead.
                self.on_transfer(None);
            } else {
                self.hand_to_higher_priority();
            }
            self.promote();
        }
        if self.lead.ticks.is_multiple_of(self.lead.heartbeat_ticks) {
            self.announce_membership(out);
        }
        self.tick_catch_up(out);
        self.maybe_trim(out);
        self.node.has_ready() || self.has_waiting_work()
    }

    /// Returns `true` if this replica may vote for a candidate whose log ends at `last`.
    pub(crate) fn may_elect(&self, last: u64) -> bool {
        !self.lead.locked_out() && self.catch_up.may_elect(last, self.all_are_new())
    }

    /// Returns `true` if this replica may start an election now.
    fn may_campaign(&self) -> bool {
        self.may_elect(self.node.last_index())
    }

    /// Returns `true` if the log contains a snapshot that the state machine does not hold yet.
    /// Before an election Raft scans the unapplied entries, and these are missing.
    pub(crate) fn behind_its_log(&self) -> bool {
        self.restoring.is_some() || self.node.applied() + 1 < self.node.store().first()
    }

    fn has_waiting_work(&self) -> bool {
        self.lead.serve_from.is_some() || !self.waiting.is_empty()
    }

    fn hand_to_higher_priority(&mut self) {
        let node = &self.node;
        if !node.leads() || node.hands_over() || self.alone() {
            return;
        }
        if self.lead.ticks < self.lead.hand_over_from {
            return;
        }
        let mine = self.member(self.my_id).map_or(0, |m| m.priority);
        let last = node.last_index();
        let near = |id: u64| {
            let progress = node.progress(id);
            progress.is_some_and(|p| p.active && p.matched + 1024 >= last)
        };
        let voters = self.members.iter().filter(|m| m.role.votes());
        let better = voters.filter(|m| m.priority > mine && near(m.raft_id));
        if let Some(to) = better.max_by_key(|m| m.priority).map(|m| m.raft_id) {
            let longest = MAX_TRANSFER_DELAY * self.lead.election_ticks;
            self.lead.hand_over_wait = (self.lead.hand_over_wait * 2).min(longest);
            self.lead.hand_over_from = self.lead.ticks + self.lead.hand_over_wait;
            self.transfer(to);
        }
    }

    fn transfer(&mut self, to: u64) {
        self.lead.handed_over = self.node.term();
        self.shared.lease_until.store(0, Ordering::Release);
        self.node.transfer_leader(to);
    }

    /// Transfers leadership to `to`, or to the most advanced member, or just steps down.
    pub(crate) fn on_transfer(&mut self, to: Option<Uuid>) {
        let node = &self.node;
        if !node.leads() || self.sole_voter() {
            return;
        }
        let others = self.members.iter().filter(|m| m.raft_id != self.my_id && m.role.votes());
        let target = match to {
            Some(node) => others.clone().find(|m| m.target.node == node).map(|m| m.raft_id),
            None => {
                let matched = |m: &&MemberCore| node.progress(m.raft_id).map_or(0, |p| p.matched);
                let active = |m: &&MemberCore| node.progress(m.raft_id).is_some_and(|p| p.active);
                others.filter(active).max_by_key(matched).map(|m| m.raft_id)
            }
        };
        match (target, to) {
            (Some(target), _) => self.transfer(target),
            (None, None) => {
                let term = node.term();
                self.node.become_follower(term);
            }
            (None, Some(_)) => {}
        }
    }

    /// Handles a change of leader or role.
    pub(crate) fn on_soft_state(&mut self, leader: u64, role: StateRole, out: &mut Out) {
        let (id, term) = (self.node_of(leader), self.node.term());
        let is_me = role == StateRole::Leader && leader == self.my_id;
        let before = *self.shared.leader.borrow();
        let was_me = before.leader == Some(self.shared.me);
        self.proposed = 0;
        if is_me {
            // Raft appended an empty entry of the new term; once it is committed, all earlier
            // commits are known.
            self.lead.serve_from = Some(self.node.last_index());
            self.lead.lost = None;
            self.drop_overwritten();
            self.complete_as_leader();
            self.shared.progress.listen();
            self.shared.notify_applied.store(true, Ordering::SeqCst);
            if !was_me {
                self.lead.hand_over_from = self.lead.ticks;
                self.lead.hand_over_wait = self.lead.election_ticks;
                add(&out.metrics.elections_won, 1);
            }
        } else {
            self.lead.serve_from = None;
            self.end_reads();
            self.end_changes(&ChangeError::Dropped);
            if was_me && !self.waiting.is_empty() {
                // The next leader may still commit them; wait a while for that.
                self.lead.lost = Some(self.lead.ticks);
            }
        }
        let now = LeaderState { leader: id, term, ready: false };
        if (before.leader, before.term) == (id, term) {
            return;
        }
        if leader != INVALID_ID {
            self.lead.eager = false;
        }
        tracing::debug!(group = %self.shared.id, leader = ?id, term, "leader changed");
        drop(event_span!(self.shared.id, "leader changed", leader = ?id, term));
        self.shared.leader.send_replace(now);
        let task = ApplyTask::LeaderChanged { group: self.region(), leader: id, term, is_me };
        out.apply(&self.apply, task);
    }

    /// Starts to serve when everything from before this leadership is applied.
    pub(crate) fn serve_when_caught_up(&mut self, applied: u64) {
        let Some(from) = self.lead.serve_from else { return };
        if applied < from || !self.node.leads() {
            self.shared.notify_applied.store(true, Ordering::SeqCst);
            return;
        }
        self.lead.serve_from = None;
        self.note_whether_alone();
        if self.sole_voter() {
            self.shared.lease_until.store(FOREVER, Ordering::Release);
        }
        let term = self.node.term();
        let leader = Some(self.shared.me);
        self.shared.leader.send_replace(LeaderState { leader, term, ready: true });
    }
}
