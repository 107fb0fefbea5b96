//! Greetings: a replica that has met no leader announces itself, and the members of a new group
//! find out that all of them are present.
//!
//! A replica whose disks were replaced by empty ones looks like a new one. If a majority of new
//! replicas could begin a group, such a replica and one that no leader has contacted yet could do
//! so, and the data of the third one would be lost. So a new replica takes part in an election only
//! after every other voter has declared itself new, in a response to this process: a greeting
//! carries its sender's clock and returns the receiver's ([`crate::freshness`]), and the clock of
//! each process starts at a different number. Responses to this replica from before it lost its
//! disks therefore do not count.
//!
//! The cost: a group begins only when all its first members are present, not a majority of them. A
//! group can opt out of it ([`crate::GroupConfig::majority_begins`]).

use super::change::announcement;
use super::core::GroupCore;
use super::out::Out;
use crate::consensus::{Message, MessageType};
use crate::log::Completeness;

/// Value of the field `commit_term` of a greeting: its sender has no log, and has not lost one.
const NEW: u64 = 1;

impl GroupCore {
    /// Announces this replica to the other members, if no leader has contacted it. A leader that
    /// missed it then need not wait for its next heartbeat: until they have met, this replica votes
    /// for no member that has a log.
    pub(crate) fn greet(&mut self, out: &mut Out) {
        if !self.may_greet() {
            return;
        }
        let others = self.members.iter().filter(|m| m.raft_id != self.my_id);
        for to in others.map(|m| m.raft_id).collect::<Vec<_>>() {
            self.greet_member(to, out);
        }
    }

    fn may_greet(&self) -> bool {
        let node = &self.node;
        let waits = matches!(self.catch_up.completeness(), Completeness::Unknown { .. });
        let led = node.leads() || node.has_leader();
        waits && !led && !self.is_removed() && !self.catch_up.is_silent()
    }

    fn greet_member(&mut self, to: u64, out: &mut Out) {
        // A response to no heartbeat; without a term it counts in every term.
        let mut greeting = Message { to, from: self.my_id, ..Message::default() };
        greeting.set_msg_type(MessageType::MsgHeartbeatResponse);
        greeting.log_term = self.member(to).map_or(0, |m| m.stamp);
        greeting.commit_term = if self.is_new() { NEW } else { 0 };
        self.send(greeting, out);
        // A replica removed before its disks were replaced is notified in response.
        if let Some(target) = self.target_of(to) {
            let known = announcement(to, self.my_id, &self.shared.membership.borrow());
            out.send(&target, self.shared.id, known);
        }
    }

    /// Returns `true` if this replica has no log, and has not lost one.
    fn is_new(&self) -> bool {
        let last = self.node.last_index();
        last == 0 && self.catch_up.completeness() == Completeness::Unknown { lost: false }
    }

    /// Handles a greeting of a new member: responds at once with this replica's state, if the
    /// member cannot have it yet.
    pub(crate) fn on_greeting(&mut self, greeting: &Message, out: &mut Out) {
        if greeting.term != 0 || greeting.commit_term != NEW || !self.is_new() {
            return;
        }
        let answers = self.shared.freshness.is_own(greeting.log_term, out.now);
        let from = self.members.iter_mut().find(|m| m.raft_id == greeting.from);
        let Some(from) = from else { return };
        let learned = answers && !std::mem::replace(&mut from.is_new, true);
        if (learned || !answers) && self.may_greet() {
            self.greet_member(greeting.from, out);
        }
        if learned {
            self.first_campaign();
        }
    }

    /// Returns `true` if each other voter is known to be new, or need not be.
    pub(crate) fn all_are_new(&self) -> bool {
        if self.majority_begins {
            return true;
        }
        let mut others = self.members.iter().filter(|m| m.role.votes() && m.raft_id != self.my_id);
        others.all(|member| member.is_new)
    }
}
