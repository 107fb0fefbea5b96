//! How a replica that no leader has spoken to says that it is there, and how the members of a new
//! group find out that all of them are new.
//!
//! A replica whose disks were replaced by empty ones looks like a new one. If a majority of new
//! replicas could begin a group, such a replica and one that no leader has met yet would, and what
//! the third one has would be lost. So a new replica takes part in an election only when every
//! other voter has told it that it is new, too, and in an answer to this process: a greeting
//! carries its sender's clock and returns the receiver's ([`crate::freshness`]), and the clock of
//! each process begins at another number. What a member said before this replica lost its disks
//! counts for nothing therefore.
//!
//! The price: a group begins when all its first members are there, not a majority of them. A group
//! that cannot pay it says so ([`crate::GroupConfig::majority_begins`]).

use super::change::announcement;
use super::core::GroupCore;
use super::out::Out;
use crate::consensus::{Message, MessageType};
use crate::log::Completeness;

/// In the field `commit_term` of a greeting: its sender has no log, and knows of none that it lost.
const NEW: u64 = 1;

impl GroupCore {
    /// Says to the other members that this replica is there, if no leader has spoken to it. A
    /// leader that missed it does not wait for its next heartbeat then: until they have met this
    /// replica votes for no member that has a log.
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
        // An answer to no heartbeat; without a term it counts in every term.
        let mut greeting = Message { to, from: self.my_id, ..Message::default() };
        greeting.set_msg_type(MessageType::MsgHeartbeatResponse);
        greeting.log_term = self.member(to).map_or(0, |m| m.stamp);
        greeting.commit_term = if self.is_new() { NEW } else { 0 };
        self.send(greeting, out);
        // A replica that was removed before its disks were replaced hears of it in answer.
        if let Some(target) = self.target_of(to) {
            let known = announcement(to, self.my_id, &self.shared.membership.borrow());
            out.send(&target, self.shared.id, known);
        }
    }

    /// Whether this replica has no log, and knows of none that it lost.
    fn is_new(&self) -> bool {
        let last = self.node.last_index();
        last == 0 && self.catch_up.completeness() == Completeness::Unknown { lost: false }
    }

    /// A member is new. It hears at once what it needs to know that of this replica, if it cannot
    /// know it yet.
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

    /// Whether each other voter is known to be new, or need not be.
    pub(crate) fn all_are_new(&self) -> bool {
        if self.majority_begins {
            return true;
        }
        let mut others = self.members.iter().filter(|m| m.role.votes() && m.raft_id != self.my_id);
        others.all(|member| member.is_new)
    }
}
