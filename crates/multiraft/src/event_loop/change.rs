//! Changes of members.
//!
//! * A change is proposed like a command and **takes effect when it is committed**, one at a time.
//!   Any majorities of two successive memberships have a member in common, so a lease confirmed by
//!   one majority holds against candidates of the other as well.
//! * **The state machine does not get past a change before the log has the new members** (`held`):
//!   after a crash the members on disk are never older than those in the tables. They may be newer;
//!   a replayed older change is then skipped.
//! * The leader makes a joining member a voter once it keeps up: within one election timeout it
//!   received everything that the log contained at the start of that timeout.
//! * **A member that was away may not know the current members, and a removed one may not know of
//!   its removal.** Members therefore announce their membership (see [`announcement`]): a leader to
//!   members without the last change, a candidate to the members whose votes it requests, and a
//!   node that receives an older one responds with its own. An announcement only provides addresses
//!   and the fact of a removal; Raft uses the log.

use bytes::Bytes;
use std::sync::atomic::Ordering;
use uuid::Uuid;

use super::core::GroupCore;
use super::out::Out;
use super::state::members::{MemberCore, member_cores};
use crate::apply::ApplyTask;
use crate::consensus::{
    self, ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState, Entry, EntryType, Message,
    MessageType, Sending, WireError, decode_change, encode_change,
};
use crate::error::{ChangeError, FrameError};
use crate::event::ChangeSender;
use crate::failure::FailureCause;
use crate::id::fold;
use crate::log::format::PersistedGroup;
use crate::log::task::{Done, WriteTask};
use crate::membership::{Change, MemberRole, Membership};
use crate::metrics::add;
use crate::shared::FOREVER;
use crate::transport::Target;

/// Maximum number of removed nodes that are remembered for announcements.
const MOST_FORMER: usize = 32;

/// Maximum number of entries that a joining member may lack when it becomes a voter.
const NEAR: u64 = 8;

/// A message that Raft never sees: the sender's membership. Raft uses the type for itself only and
/// never sends it.
pub(crate) fn announcement(to: u64, from: u64, membership: &Membership) -> Message {
    let mut message = Message { to, from, context: membership.encode(), ..Message::default() };
    message.set_msg_type(MessageType::MsgCheckQuorum);
    message
}

impl GroupCore {
    pub(crate) fn membership(&self) -> Membership {
        self.shared.membership.borrow().clone()
    }

    /// The address of a node that is, was or will be a member.
    pub(crate) fn target_of(&self, raft_id: u64) -> Option<Target> {
        if let Some(member) = self.member(raft_id) {
            return Some(member.target.clone());
        }
        let heard = self.changing.heard.iter().flat_map(|m| &m.members);
        let heard = heard.map(|m| Target { node: m.peer.node, address: m.peer.address.clone() });
        heard.chain(self.changing.former.iter().cloned()).find(|t| fold(t.node) == raft_id)
    }

    /// Returns `true` if another member announced this node's removal.
    pub(crate) fn is_removed(&self) -> bool {
        *self.shared.removed.borrow()
    }

    fn set_removed(&self, removed: bool) {
        self.shared.removed.send_if_modified(|known| std::mem::replace(known, removed) != removed);
    }

    // ── proposing ──

    pub(crate) fn on_change(&mut self, change: Change, sender: ChangeSender) {
        let begun = self.begin_change(&change);
        match begun {
            Ok(Some(index)) => {
                self.changing.waiting = Some((index, self.node.term(), sender));
            }
            // Fails if the caller no longer waits.
            Ok(None) => drop(sender.send(Ok(self.shared.membership.borrow().index))),
            Err(error) => drop(sender.send(Err(error))),
        }
    }

    /// Proposes a change; returns its log index, or `None` if there is nothing to change.
    fn begin_change(&mut self, change: &Change) -> Result<Option<u64>, ChangeError> {
        if self.failed.is_some() {
            return Err(ChangeError::Shutdown);
        }
        let node = &self.node;
        if !node.leads() || node.hands_over() {
            return Err(self.change_elsewhere());
        }
        let before = self.membership();
        let Some(after) = before.after(change).map_err(refused)? else {
            return Ok(None);
        };
        if node.has_pending_conf() || self.changing.waiting.is_some() {
            return Err(ChangeError::Busy);
        }
        if matches!(change, Change::Remove(_)) {
            self.check_majority(&before)?;
            // A leader may remove itself, too, and transfers leadership when that is committed. If
            // it transferred first, the caller of the removal would chase leaders that a slow
            // machine keeps replacing.
            self.check_majority(&after)?;
        }
        let index = node.last_index() + 1;
        let mut message = Message { from: self.my_id, ..Message::default() };
        message.set_msg_type(MessageType::MsgPropose);
        let entry = entry_of(change, &after).map_err(refused)?;
        message.set_entries(vec![entry].into());
        self.node.propose(message).map_err(|_| ChangeError::Busy)?;
        Ok(Some(index))
    }

    fn change_elsewhere(&self) -> ChangeError {
        let node = &self.node;
        let hint = node.next_leader();
        let hint = if hint == self.my_id { None } else { self.node_of(hint) };
        ChangeError::NotLeader { hint }
    }

    /// Refuses a change without a responsive majority before or after it.
    fn check_majority(&self, members: &Membership) -> Result<(), ChangeError> {
        let silence_timeout = self.lead.election_timeout * 2;
        let silent = |node| self.shared.progress.silent(node).is_none_or(|s| s > silence_timeout);
        let voters: Vec<Uuid> = members.voters().map(|m| m.peer.node).collect();
        let away: Vec<Uuid> =
            voters.iter().copied().filter(|n| *n != self.shared.me && silent(*n)).collect();
        if (voters.len() - away.len()) * 2 > voters.len() {
            return Ok(());
        }
        let away: Vec<String> = away.iter().map(Uuid::to_string).collect();
        let detail = format!("too many members do not respond: {}", away.join(", "));
        Err(ChangeError::Refused(detail))
    }

    /// Fails pending changes after a loss of leadership, or of the group.
    pub(crate) fn end_changes(&mut self, error: &ChangeError) {
        self.changing.joining = None;
        if let Some((_, _, sender)) = self.changing.waiting.take() {
            let _ = sender.send(Err(error.clone()));
        }
    }

    // ── applying ──

    /// Applies committed changes.
    pub(crate) fn apply_changes(&mut self, entries: &[Entry], out: &mut Out) {
        for entry in entries.iter().filter(|e| e.get_entry_type() != EntryType::EntryNormal) {
            if let Err(detail) = self.apply_change(entry, out) {
                let reason = format!("change of members at {}: {detail}", entry.index);
                self.fail(FailureCause::Members, reason, out);
                return;
            }
        }
        let answered = |(index, ..): &mut (u64, u64, ChangeSender)| {
            entries.last().is_some_and(|last| last.index >= *index)
        };
        if let Some((index, term, sender)) = self.changing.waiting.take_if(answered) {
            let came = |e: &&Entry| {
                (e.index, e.term) == (index, term) && e.get_entry_type() != EntryType::EntryNormal
            };
            let done = entries.iter().find(came).map(|e| e.index);
            let _ = sender.send(done.ok_or(ChangeError::Dropped));
        }
    }

    fn apply_change(&mut self, entry: &Entry, out: &mut Out) -> Result<(), EntryError> {
        let before = self.membership();
        if entry.index <= before.index {
            return Ok(());
        }
        let change = decode_change(&entry.data)?;
        let decoded = Membership::decode(entry.context.clone())?;
        let after = Membership { index: entry.index, ..decoded };
        let goes = !after.find(self.shared.me).is_some_and(|m| m.role.votes());
        if goes && self.node.leads() {
            // Raft accepts no leader outside of the group.
            self.on_transfer(None);
            let term = self.node.term();
            self.node.become_follower(term);
        }
        let state = self.node.apply_conf_change(&change)?;
        let expected = after.conf_state();
        let sorted = |ids: &[u64]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids
        };
        let same = |a: &[u64], b: &[u64]| sorted(a) == sorted(b);
        if !same(&state.voters, &expected.voters) || !same(&state.learners, &expected.learners) {
            let (state, expected) = (Box::new(state), Box::new(expected));
            return Err(EntryError::Differs { state, expected });
        }
        self.announce_removals(&before, &after, out);
        tracing::info!(group = %self.shared.id, index = after.index, members = ?names(&after), "members changed");
        drop(event_span!(self.shared.id, "members changed", index = after.index));
        self.set_membership(after, out);
        Ok(())
    }

    /// Announces their removal to removed members, which receive no more entries.
    fn announce_removals(&mut self, before: &Membership, after: &Membership, out: &mut Out) {
        let leads = self.node.leads();
        for gone in before.members.iter().filter(|m| !after.contains(m.peer.node)) {
            let target = Target { node: gone.peer.node, address: gone.peer.address.clone() };
            if target.node == self.shared.me {
                continue;
            }
            if leads {
                let message = announcement(fold(target.node), self.my_id, after);
                out.send(&target, self.shared.id, message);
            }
            self.changing.former.retain(|known| known.node != target.node);
            self.changing.former.push(target);
        }
    }

    /// Sets the members: here, in snapshots, and on disk before the state machine continues.
    pub(crate) fn set_membership(&mut self, membership: Membership, out: &mut Out) {
        let shared = &self.shared;
        self.members = member_cores(&membership);
        shared.progress.set_members(self.members.iter().map(|m| m.target.node));
        self.node.mut_store().set_members(&membership);
        let mine = self.member(self.my_id).map_or(0, |m| m.priority);
        self.node.set_priority(mine);
        self.changing.former.retain(|t| !membership.contains(t.node));
        self.changing.heard.take_if(|heard| heard.index <= membership.index);
        self.set_removed(!membership.contains(shared.me));
        let group = PersistedGroup { id: shared.id, me: shared.me, membership };
        let done = Done::Members { inbox: shared.inbox.clone() };
        let meta = Some(group.encode());
        out.write(&self.log, WriteTask { region: self.region(), meta, done, ..Default::default() });
        self.changing.writes += 1;
        self.shared.membership.send_replace(group.membership);
        self.renew_lease_of_one();
    }

    /// Records whether this is the only member: a removed one may have confirmed commits before its
    /// removal was known.
    pub(super) fn note_whether_alone(&self) {
        let from = match &self.members[..] {
            [one] if one.raft_id == self.my_id => self.node.committed(),
            _ => u64::MAX,
        };
        self.shared.alone_from.store(from, Ordering::Release);
    }

    /// A group of one needs no other member to confirm its leadership; a larger group does.
    fn renew_lease_of_one(&self) {
        let lease = &self.shared.lease_until;
        let leads = self.shared.leader.borrow().ready && self.node.leads();
        self.note_whether_alone();
        if !self.sole_voter() {
            // A lease confirmed by others stays valid.
            let _ = lease.compare_exchange(FOREVER, 0, Ordering::AcqRel, Ordering::Acquire);
        } else if leads && self.lead.handed_over != self.node.term() {
            lease.store(FOREVER, Ordering::Release);
        }
    }

    /// Passes a task to the state machine, after the members that must be on disk first.
    pub(crate) fn to_machine(&mut self, task: ApplyTask, out: &mut Out) {
        if self.changing.writes == 0 {
            out.apply(&self.apply, task);
        } else {
            self.changing.held.push(task);
        }
    }

    pub(crate) fn on_members_stored(&mut self, out: &mut Out) {
        self.changing.writes = self.changing.writes.saturating_sub(1);
        if self.changing.writes == 0 {
            for task in std::mem::take(&mut self.changing.held) {
                out.apply(&self.apply, task);
            }
        }
    }

    // ── announcements ──

    /// Sends the members to those that lack the last change, once per heartbeat.
    pub(crate) fn announce_membership(&mut self, out: &mut Out) {
        let membership = self.shared.membership.borrow().clone();
        if membership.index == 0 || !self.node.leads() {
            return;
        }
        for member in self.members.iter().filter(|m| m.raft_id != self.my_id) {
            let progress = self.node.progress(member.raft_id);
            if progress.is_some_and(|p| p.matched < membership.index) {
                let message = announcement(member.raft_id, self.my_id, &membership);
                out.send(&member.target, self.shared.id, message);
            }
        }
    }

    /// Handles another node's announcement of the members.
    pub(crate) fn on_announcement(&mut self, message: &Message, out: &mut Out) {
        let decoded = Membership::decode(message.context.clone());
        let Ok(theirs) = decoded.map_err(drop).and_then(|m| sound(m, message.from, self)) else {
            add(&out.metrics.messages_refused, 1);
            return;
        };
        let mine = self.membership();
        if theirs.index < mine.index {
            let sender = theirs.members.iter().find(|m| fold(m.peer.node) == message.from);
            let peer = sender.map(|m| &m.peer).filter(|peer| peer.node != self.shared.me);
            let room =
                self.target_of(message.from).is_some() || self.changing.former.len() < MOST_FORMER;
            if let Some(peer) = peer.filter(|_| room) {
                let target = Target { node: peer.node, address: peer.address.clone() };
                let answer = announcement(message.from, self.my_id, &mine);
                out.send(&target, self.shared.id, answer);
                if self.member(message.from).is_none() {
                    self.changing.former.retain(|known| known.node != target.node);
                    self.changing.former.push(target);
                }
            }
            return;
        }
        let known = self.changing.heard.as_ref().map_or(mine.index, |heard| heard.index);
        if theirs.index > known {
            let removed = !theirs.contains(self.shared.me);
            if removed && !self.is_removed() {
                tracing::info!(group = %self.shared.id, index = theirs.index, "this node was removed from the group");
            }
            self.set_removed(removed);
            self.changing.heard = Some(theirs);
        }
    }

    // ── joining ──

    /// Makes a joining member that keeps up a voter; called once per election timeout.
    pub(crate) fn promote(&mut self) {
        let node = &self.node;
        if !node.leads() || node.has_pending_conf() {
            self.changing.joining = None;
            return;
        }
        let last = node.last_index();
        let keeps_up = |member: &&MemberCore| {
            let progress = node.progress(member.raft_id);
            progress.filter(|p| p.active && p.sending == Sending::Entries && p.matched > 0)
        };
        let mut joining = self.members.iter().filter(|m| m.role == MemberRole::Joining);
        let next = joining.find_map(|m| keeps_up(&m).map(|p| (m.target.node, p.matched)));
        let Some((node, matched)) = next else {
            self.changing.joining = None;
            return;
        };
        let mark = self.changing.joining.replace((node, last));
        if mark.is_none_or(|(known, at)| known != node || matched + NEAR < at) {
            return;
        }
        self.changing.joining = None;
        if let Err(error) = self.begin_change(&Change::Promote(node)) {
            tracing::debug!(group = %self.shared.id, %node, %error, "cannot make it a voter yet");
        }
    }
}

/// Returns a valid membership that its sender is or was part of.
fn sound(theirs: Membership, from: u64, group: &GroupCore) -> Result<Membership, ()> {
    let of_it = |m: &Membership| m.members.iter().any(|m| fold(m.peer.node) == from);
    let known = of_it(&theirs) || group.target_of(from).is_some();
    if known && theirs.is_sound() { Ok(theirs) } else { Err(()) }
}

fn refused(error: impl std::error::Error) -> ChangeError {
    ChangeError::Refused(error.to_string())
}

/// A committed change of members that cannot take effect.
#[derive(Debug, thiserror::Error)]
enum EntryError {
    #[error(transparent)]
    Change(#[from] WireError),
    #[error(transparent)]
    Members(#[from] FrameError),
    #[error(transparent)]
    Raft(#[from] consensus::Error),
    #[error("it leads to {state:?} instead of {expected:?}")]
    Differs { state: Box<ConfState>, expected: Box<ConfState> },
}

/// Encodes a change as a log entry.
fn entry_of(change: &Change, after: &Membership) -> Result<Entry, WireError> {
    let node = change.node();
    let kind = match after.find(node).map(|m| m.role) {
        Some(MemberRole::Voter) => ConfChangeType::AddNode,
        Some(MemberRole::Joining | MemberRole::Listener) => ConfChangeType::AddLearnerNode,
        None => ConfChangeType::RemoveNode,
    };
    let mut single = ConfChangeSingle { node_id: fold(node), ..ConfChangeSingle::default() };
    single.set_change_type(kind);
    let mut conf = ConfChangeV2::default();
    conf.set_changes(vec![single].into());
    let data = encode_change(&conf)?;
    let mut entry = Entry { data: Bytes::from(data), context: after.encode(), ..Entry::default() };
    entry.set_entry_type(EntryType::EntryConfChangeV2);
    Ok(entry)
}

fn names(membership: &Membership) -> Vec<String> {
    let name = |m: &crate::membership::Member| match m.role {
        MemberRole::Voter => m.peer.node.to_string(),
        role => format!("{} {role:?}", m.peer.node),
    };
    membership.members.iter().map(name).collect()
}
