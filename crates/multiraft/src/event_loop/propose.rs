//! The path of a proposal into the log.

use std::collections::VecDeque;
use std::sync::Arc;

use super::core::{GroupCore, Waiting};
use super::out::Out;
use super::state::queued::Preparing;
use crate::consensus::{Entry, INVALID_ID, Message, MessageType};
use crate::entry::set_external;
use crate::error::{ChangeError, ProposeError};
use crate::event::{NewProposal, PayloadState, Reply};
use crate::metrics::add;
use crate::status::Applied;

impl GroupCore {
    pub(crate) fn on_propose(&mut self, proposal: NewProposal) {
        let NewProposal { header, payload, state, reply } = proposal;
        let mut entry = Entry { data: header, context: payload, ..Entry::default() };
        match state {
            PayloadState::InLog => self.queued.push((entry, reply)),
            PayloadState::Preparing { order, ticket } => {
                set_external(&mut entry);
                let preparing = Preparing { ticket, entry, reply, ready: false };
                self.preparing.entry(order).or_default().push_back(preparing);
            }
        }
    }

    /// Handles a stored or failed payload; proposals of one order enter the log in ticket order.
    pub(crate) fn on_prepared(&mut self, order: u64, ticket: u64, result: std::io::Result<()>) {
        let Some(queue) = self.preparing.get_mut(&order) else { return };
        let Some(at) = queue.iter().position(|p| p.ticket == ticket) else { return };
        match result {
            Ok(()) => queue[at].ready = true,
            Err(error) => {
                if let Some(refused) = queue.remove(at) {
                    refused.reply.send(Err(ProposeError::Payload(Arc::new(error))));
                }
            }
        }
        while queue.front().is_some_and(|first| first.ready) {
            if let Some(first) = queue.pop_front() {
                self.queued.push((first.entry, first.reply));
            }
        }
        if queue.is_empty() {
            self.preparing.remove(&order);
        }
    }

    fn not_leader(&self) -> ProposeError {
        let node = &self.node;
        let hint = node.next_leader();
        let hint = (hint != INVALID_ID && hint != self.my_id).then_some(hint);
        ProposeError::NotLeader { hint: hint.and_then(|id| self.node_of(id)) }
    }

    /// Returns `true` if queued proposals wait for earlier ones: a leader with followers collects
    /// one batch while another is being written by a majority, which keeps messages, writes and
    /// wake-ups few under load. (With external payloads, proposals are few and large.)
    fn gathers(&self) -> bool {
        let node = &self.node;
        let gathers = !self.alone() && self.shared.payloads.is_none();
        let proposed = self.proposed.min(node.last_index());
        gathers && node.leads() && proposed > node.committed()
    }

    /// Proposes the queue as one message, unless it still collects.
    pub(crate) fn propose_queued(&mut self, out: &Out) {
        let gathers = self.gathers();
        // The next batch carries the commit index to followers.
        let follows = gathers && !self.queued.is_empty();
        self.node.skip_bcast_commit(follows);
        if self.queued.is_empty() || gathers {
            return;
        }
        let queued = std::mem::take(&mut self.queued);
        let node = &self.node;
        if !node.leads() || node.hands_over() {
            let error = self.not_leader();
            queued.into_iter().for_each(|(_, reply)| reply.send(Err(error.clone())));
            return;
        }
        let (entries, replies): (Vec<Entry>, Vec<Reply>) = queued.into_iter().unzip();
        let (term, first) = (node.term(), node.last_index() + 1);
        let mut message = Message::default();
        message.set_msg_type(MessageType::MsgPropose);
        message.from = self.my_id;
        message.set_entries(entries.into());
        if self.node.propose(message).is_err() {
            replies.into_iter().for_each(|reply| reply.send(Err(ProposeError::Busy)));
            return;
        }
        add(&out.metrics.proposals, replies.len() as u64);
        self.proposed = first + replies.len() as u64 - 1;
        let waiting = |(index, reply)| Waiting { index, term, reply };
        self.waiting.extend((first..).zip(replies).map(waiting));
    }

    /// Removes the callers that wait for the committed `entries`. A caller that waits at an index
    /// which another leader filled gets an error.
    pub(crate) fn replies_for(&mut self, entries: &[Entry]) -> VecDeque<(u64, Reply)> {
        let mut replies = VecDeque::new();
        if self.waiting.is_empty() {
            return replies;
        }
        for entry in entries {
            while let Some(first) = self.waiting.pop_front_if(|w| w.index <= entry.index) {
                if first.index == entry.index && first.term == entry.term {
                    replies.push_back((entry.index, first.reply));
                } else {
                    first.reply.send(Err(ProposeError::Dropped));
                }
            }
        }
        replies
    }

    /// Fails the callers that wait for an entry which the log no longer contains, because another
    /// leader replaced it, or truncated the log there, before this replica led again. That index
    /// may never be committed, and later callers would wait for it.
    pub(crate) fn drop_overwritten(&mut self) {
        let node = &self.node;
        let there = |w: &Waiting| node.term_of(w.index) == Some(w.term);
        if self.waiting.iter().all(there) {
            return;
        }
        let all = std::mem::take(&mut self.waiting);
        for waiting in all {
            if there(&waiting) {
                self.waiting.push_back(waiting);
            } else {
                waiting.reply.send(Err(ProposeError::Dropped));
            }
        }
    }

    /// Fails all waiting callers: this replica will not commit their proposals.
    pub(crate) fn drop_waiting(&mut self) {
        for waiting in self.waiting.drain(..) {
            waiting.reply.send(Err::<Applied, _>(ProposeError::Dropped));
        }
    }

    /// Fails all waiting callers after the group failed or was stopped.
    pub(crate) fn refuse_all(&mut self) {
        let error = match &self.failed {
            Some(reason) => ProposeError::Failed(reason.clone()),
            None => ProposeError::Shutdown,
        };
        let queued = self.queued.drain(..).map(|(_, reply)| reply);
        let preparing = self.preparing.drain().flat_map(|(_, queue)| queue).map(|p| p.reply);
        for reply in queued.chain(preparing) {
            reply.send(Err(error.clone()));
        }
        self.drop_waiting();
        self.end_changes(&ChangeError::Shutdown);
        self.reads.refuse_all();
    }
}
