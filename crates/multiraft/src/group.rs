//! The handle of a group: propose, read, look at it.

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

/// What to replicate.
#[derive(Debug, Default)]
pub struct Proposal {
    /// The command.
    pub header: Bytes,
    /// Bulk bytes that may be kept outside of the log.
    pub payload: Bytes,
    /// For the state machine of this replica.
    pub context: ProposalContext,
}

impl Proposal {
    /// A command without payload.
    pub fn new(header: impl Into<Bytes>) -> Self {
        Self { header: header.into(), ..Self::default() }
    }

    /// With something for the state machine of this replica, which finds it in
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

    /// Replicates a proposal; returns when it is committed (durable on a majority) and
    /// applied here. Dropping the future does not withdraw the proposal.
    ///
    /// # Errors
    /// When this replica does not lead, too many proposals wait, or the outcome is not known.
    pub async fn propose(&self, proposal: Proposal) -> Result<Applied, ProposeError> {
        self.submit(proposal)?.await.map_err(|_| ProposeError::Shutdown)?
    }

    /// Like [`propose`](Self::propose), with the place in the order taken now and the answer
    /// awaited later.
    ///
    /// # Errors
    /// When this replica does not lead, or too many proposals wait.
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
        // The ticket's event must reach the loop in ticket order, hence the lock around both.
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

    /// An index such that a state machine which has applied it shows every write that was
    /// acknowledged before this call; returns once this replica has applied it. Costs no
    /// network while the leader's lease holds.
    ///
    /// # Errors
    /// When this replica does not lead, or no majority confirms that it does.
    pub async fn read_index(&self) -> Result<u64, ReadError> {
        if let Some(index) = self.shared.lease_read() {
            return Ok(index);
        }
        let (sender, receiver) = oneshot::channel();
        let group = self.shared.number;
        self.shared.inbox.push(Event::Read { group, anywhere: false, sender });
        receiver.await.map_err(|_| ReadError::Shutdown)?
    }

    /// Like [`read_index`](Self::read_index), on any replica: a follower asks the leader, once for
    /// all reads that wait, and waits until it has applied what the leader said.
    ///
    /// # Errors
    /// When no leader is known, or it does not answer.
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
    /// When the group stops before.
    pub async fn wait_applied(&self, index: u64) -> Result<(), ReadError> {
        if self.applied() >= index {
            return Ok(());
        }
        let (sender, receiver) = oneshot::channel();
        self.shared.inbox.push(Event::Applied { group: self.shared.number, index, sender });
        receiver.await.map_err(|_| ReadError::Shutdown)?.map(|_| ())
    }

    /// How far this replica is behind its leader, as far as it can know. Never waits.
    pub fn staleness(&self) -> Staleness {
        self.shared.staleness()
    }

    /// Whether a read may be served here this instant: this replica leads, its lease holds
    /// and everything that was acknowledged is applied. Never waits.
    pub fn can_read_now(&self) -> bool {
        self.shared.lease_read().is_some()
    }

    /// Whether no other replica can lead this instant: no other can have acknowledged
    /// anything that this replica has not applied. Never waits.
    pub fn holds_lease(&self) -> bool {
        self.shared.lease_held()
    }

    /// Asks the group's loop how the replica stands.
    pub async fn status(&self) -> Option<GroupStatus> {
        let (sender, receiver) = oneshot::channel();
        self.shared.inbox.push(Event::Status { group: self.shared.number, sender });
        receiver.await.ok()
    }

    /// Why the group does not work on this node, when it does not.
    pub fn failure(&self) -> Option<GroupFailure> {
        self.shared.failure.borrow().clone()
    }

    /// Notified when the group fails here, and when it is started again.
    pub fn failures(&self) -> watch::Receiver<Option<GroupFailure>> {
        self.shared.failure.subscribe()
    }

    /// The leader, as far as this replica knows.
    pub fn leader(&self) -> LeaderState {
        *self.shared.leader.borrow()
    }

    /// Whether this replica leads.
    pub fn is_leader(&self) -> bool {
        self.leader().leader == Some(self.shared.me)
    }

    /// Notified of every change of leader.
    pub fn leader_changes(&self) -> watch::Receiver<LeaderState> {
        self.shared.leader.subscribe()
    }

    /// Index that is applied here.
    pub fn applied(&self) -> u64 {
        self.shared.applied.load(Ordering::Acquire)
    }

    /// How far all members are, as this replica knows: a leader hears it with every answer of a
    /// follower, others know little but of themselves. What a member has committed is never taken
    /// back.
    pub fn progress(&self) -> Vec<MemberProgress> {
        self.shared.progress.read()
    }

    /// Changes whenever [`progress`](Self::progress) does.
    pub fn progress_changes(&self) -> watch::Receiver<u64> {
        self.shared.progress.changes()
    }

    /// The members of the group, as far as this replica knows.
    pub fn membership(&self) -> Membership {
        self.shared.membership.borrow().clone()
    }

    /// Notified of every change of members.
    pub fn membership_changes(&self) -> watch::Receiver<Membership> {
        self.shared.membership.subscribe()
    }

    /// Whether this replica knows that it was removed from the group. It may belong to it again
    /// later.
    pub fn removed(&self) -> watch::Receiver<bool> {
        self.shared.removed.subscribe()
    }

    /// Changes the members, on the leader; returns when the change is committed. What is so already
    /// stays so. A leader that is to go hands over first and says that it does not lead: ask the
    /// next one. A member that was added gets its vote later; watch
    /// [`membership_changes`](Self::membership_changes) for that.
    ///
    /// # Errors
    /// When this replica does not lead, another change is under way, or this one makes no sense.
    pub async fn change(&self, change: Change) -> Result<u64, ChangeError> {
        let (sender, receiver) = oneshot::channel();
        self.shared.inbox.push(Event::Change { group: self.shared.number, change, sender });
        receiver.await.map_err(|_| ChangeError::Shutdown)?
    }

    /// Asks the leader (this replica, else nothing happens) to hand over to `to` as soon as
    /// that has the whole log. Watch [`leader_changes`](Self::leader_changes) for the outcome.
    pub fn transfer_leader(&self, to: Uuid) {
        self.shared.inbox.push(Event::Transfer { group: self.shared.number, to: Some(to) });
    }

    /// Gives leadership up, to the follower that is furthest when there is one.
    pub fn step_down(&self) {
        self.shared.inbox.push(Event::Transfer { group: self.shared.number, to: None });
    }

    /// Has the state machine flush and the log begin behind `index`, as soon as that is applied. A
    /// leader waits for the members that keep up. Not remembered over a restart.
    pub fn trim_to(&self, index: u64) {
        self.shared.inbox.push(Event::TrimTo { group: self.shared.number, index });
    }

    /// Fetches the payload of an entry from another member, the leader first. For a replica
    /// that has the header of an entry but not its payload.
    ///
    /// # Errors
    /// When no member has it, or none can be reached.
    pub async fn fetch_payload(&self, header: Bytes) -> Result<Bytes, TransportError> {
        self.shared.fetch_payload(header).await
    }
}
