//! The handle of a group: propose, read, inspect.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::sync::{oneshot, watch};
use uuid::Uuid;

use crate::error::{ChangeError, ProposeError, ReadError, TransportError};
use crate::event::{Event, NewProposal, PayloadState, Reply};
use crate::failure::GroupFailure;
use crate::machine::ProposalContext;
use crate::membership::{Change, Membership};
use crate::payload::Placement;
use crate::progress::MemberProgress;
use crate::shared::GroupShared;
use crate::status::{Applied, GroupStatus, LeaderState, Staleness};

/// A proposal to replicate.
#[derive(Debug, Default)]
pub struct Proposal {
    /// The command.
    pub header: Bytes,
    /// Bulk bytes that may be kept outside of the log.
    pub payload: Bytes,
    /// A value for the state machine of this replica.
    pub context: ProposalContext,
}

impl Proposal {
    /// A command without payload.
    pub fn new(header: impl Into<Bytes>) -> Self {
        Self { header: header.into(), ..Self::default() }
    }

    /// Attaches a value for the state machine of this replica, which finds it in
    /// [`Committed::context`](crate::Committed::context).
    pub fn with_context<T: Any + Send>(self, value: T) -> Self {
        Self { context: ProposalContext::new(value), ..self }
    }
}

/// A running group. Cheap to clone; the group runs until
/// [`stop_group`](crate::RaftHost::stop_group), not until its handles are dropped.
#[derive(Clone)]
pub struct Group {
    pub(crate) shared: Arc<GroupShared>,
}

impl Group {
    /// Its id.
    pub fn id(&self) -> Uuid {
        self.shared.id
    }

    /// Replicates a proposal; returns when it is committed (durable on a majority) and applied
    /// here. Dropping the future does not withdraw the proposal.
    ///
    /// # Errors
    /// If this replica is not the leader, too many proposals are pending, or the outcome is
    /// unknown.
    pub async fn propose(&self, proposal: Proposal) -> Result<Applied, ProposeError> {
        self.submit(proposal)?.await.map_err(|_| ProposeError::Shutdown)?
    }

    /// Like [`propose`](Self::propose), but takes its place in the order now; the response is
    /// awaited later.
    ///
    /// # Errors
    /// If this replica is not the leader, or too many proposals are pending.
    pub fn submit(
        &self,
        proposal: Proposal,
    ) -> Result<oneshot::Receiver<Result<Applied, ProposeError>>, ProposeError> {
        let shared = &self.shared;
        let seen = *shared.leader.borrow();
        if seen.leader != Some(shared.me) {
            return Err(ProposeError::NotLeader { hint: seen.leader });
        }
        let Proposal { header, payload, context } = proposal;
        let permit = shared.admit(header.len() + payload.len())?;
        let (sender, receiver) = oneshot::channel();
        let reply = Reply { sender, permit, context };
        let external = match &shared.payloads {
            Some(store) if store.placement(&header, payload.len()) == Placement::External => store,
            _ => {
                let state = PayloadState::InLog;
                self.send_proposal(NewProposal { header, payload, state, reply });
                return Ok(receiver);
            }
        };
        let order = external.order(&header);
        let ticket = shared.tickets.fetch_add(1, Ordering::Relaxed);
        // Ticket events must reach the loop in ticket order, hence the lock around both.
        let future = {
            let _order = shared.prepare_order.lock();
            let hint = shared.last_index.load(Ordering::Relaxed) + 1;
            let future = external.prepare(hint, header.clone(), payload.clone());
            let state = PayloadState::Preparing { order, ticket };
            self.send_proposal(NewProposal { header, payload, state, reply });
            future
        };
        let inbox = shared.inbox.clone();
        let group = shared.number;
        shared.runtime.spawn(async move {
            let result = future.await;
            inbox.push(Event::Prepared { group, order, ticket, result });
        });
        Ok(receiver)
    }

    fn send_proposal(&self, proposal: NewProposal) {
        self.shared.inbox.push(Event::Propose { group: self.shared.number, proposal });
    }

    /// Returns an index once this replica has applied it; a state machine that has applied it shows
    /// every write that was acknowledged before this call. Needs no network round while the
    /// leader's lease holds.
    ///
    /// # Errors
    /// If this replica is not the leader, or no majority confirms its leadership.
    pub async fn read_index(&self) -> Result<u64, ReadError> {
        if let Some(index) = self.shared.lease_read() {
            return Ok(index);
        }
        let (sender, receiver) = oneshot::channel();
        let group = self.shared.number;
        self.shared.inbox.push(Event::Read { group, anywhere: false, sender });
        receiver.await.map_err(|_| ReadError::Shutdown)?
    }

    /// Like [`read_index`](Self::read_index), on any replica: a follower requests the index from
    /// the leader, once for all waiting reads, and waits until it has applied it.
    ///
    /// # Errors
    /// If no leader is known, or it does not respond.
    pub async fn read_index_anywhere(&self) -> Result<u64, ReadError> {
        if let Some(index) = self.shared.lease_read() {
            return Ok(index);
        }
        let (sender, receiver) = oneshot::channel();
        let group = self.shared.number;
        self.shared.inbox.push(Event::Read { group, anywhere: true, sender });
        receiver.await.map_err(|_| ReadError::Shutdown)?
    }

    /// Returns once this replica has applied `index`.
    ///
    /// # Errors
    /// If the group stops before.
    pub async fn wait_applied(&self, index: u64) -> Result<(), ReadError> {
        if self.applied() >= index {
            return Ok(());
        }
        let (sender, receiver) = oneshot::channel();
        self.shared.inbox.push(Event::Applied { group: self.shared.number, index, sender });
        receiver.await.map_err(|_| ReadError::Shutdown)?.map(|_| ())
    }

    /// The lag of this replica behind its leader, as far as known. Never waits.
    pub fn staleness(&self) -> Staleness {
        self.shared.staleness()
    }

    /// Returns `true` if a read may be served here at this instant: this replica is the leader, its
    /// lease holds and every acknowledged write is applied. Never waits.
    pub fn can_read_now(&self) -> bool {
        self.shared.lease_read().is_some()
    }

    /// Returns `true` if no other replica can be the leader at this instant, so that none can have
    /// acknowledged a write that this replica has not applied. Never waits.
    pub fn holds_lease(&self) -> bool {
        self.shared.lease_held()
    }

    /// Requests the replica's status from the group's loop.
    pub async fn status(&self) -> Option<GroupStatus> {
        let (sender, receiver) = oneshot::channel();
        self.shared.inbox.push(Event::Status { group: self.shared.number, sender });
        receiver.await.ok()
    }

    /// The group's failure on this node, if any.
    pub fn failure(&self) -> Option<GroupFailure> {
        self.shared.failure.borrow().clone()
    }

    /// Notifies when the group fails here, and when it is restarted.
    pub fn failures(&self) -> watch::Receiver<Option<GroupFailure>> {
        self.shared.failure.subscribe()
    }

    /// The leader, if known to this replica.
    pub fn leader(&self) -> LeaderState {
        *self.shared.leader.borrow()
    }

    /// Returns `true` if this replica is the leader.
    pub fn is_leader(&self) -> bool {
        self.leader().leader == Some(self.shared.me)
    }

    /// Notifies of every change of leader.
    pub fn leader_changes(&self) -> watch::Receiver<LeaderState> {
        self.shared.leader.subscribe()
    }

    /// The last index applied here.
    pub fn applied(&self) -> u64 {
        self.shared.applied.load(Ordering::Acquire)
    }

    /// Log positions of all members known to this replica: a leader receives them in
    /// followers' responses, others have little more than their own. A member's commit index never
    /// decreases.
    pub fn progress(&self) -> Vec<MemberProgress> {
        self.shared.progress.read()
    }

    /// Changes whenever [`progress`](Self::progress) does.
    pub fn progress_changes(&self) -> watch::Receiver<u64> {
        self.shared.progress.changes()
    }

    /// Returns the members of the group known to this replica.
    pub fn membership(&self) -> Membership {
        self.shared.membership.borrow().clone()
    }

    /// Notifies of every change of members.
    pub fn membership_changes(&self) -> watch::Receiver<Membership> {
        self.shared.membership.subscribe()
    }

    /// True after this replica was notified of its removal from the group. It may be added again
    /// later.
    pub fn removed(&self) -> watch::Receiver<bool> {
        self.shared.removed.subscribe()
    }

    /// Changes the members, on the leader; returns when the change is committed. A change that is
    /// already in effect does nothing. A leader that is to be removed first transfers leadership
    /// and returns `NotLeader`: retry at the next one. An added member becomes a voter later;
    /// [`membership_changes`](Self::membership_changes) reports it.
    ///
    /// # Errors
    /// If this replica is not the leader, another change is in progress, or the change is invalid.
    pub async fn change(&self, change: Change) -> Result<u64, ChangeError> {
        let (sender, receiver) = oneshot::channel();
        self.shared.inbox.push(Event::Change { group: self.shared.number, change, sender });
        receiver.await.map_err(|_| ChangeError::Shutdown)?
    }

    /// Asks the leader (this replica, else nothing happens) to transfer leadership to `to` as soon
    /// as that has the whole log. [`leader_changes`](Self::leader_changes) reports the outcome.
    pub fn transfer_leader(&self, to: Uuid) {
        self.shared.inbox.push(Event::Transfer { group: self.shared.number, to: Some(to) });
    }

    /// Steps down, in favour of the most advanced follower if there is one.
    pub fn step_down(&self) {
        self.shared.inbox.push(Event::Transfer { group: self.shared.number, to: None });
    }

    /// Makes the state machine flush and trims the log up to `index`, as soon as that is applied. A
    /// leader waits for the members that keep up. Not persisted across a restart.
    pub fn trim_to(&self, index: u64) {
        self.shared.inbox.push(Event::TrimTo { group: self.shared.number, index });
    }

    /// Fetches the payload of an entry from another member, the leader first. For a replica that
    /// has the header of an entry but not its payload.
    ///
    /// # Errors
    /// If no member has it, or none is reachable.
    pub async fn fetch_payload(&self, header: Bytes) -> Result<Bytes, TransportError> {
        self.shared.fetch_payload(header).await
    }
}
