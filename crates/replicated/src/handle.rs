//! What the parts of a role share of its service.

use std::sync::Arc;
use std::time::Duration;

use multiraft::{Change, ChangeError, GroupHealth, Supervisor};
use service::Shutdown;
use uuid::Uuid;

use crate::error::{ChangeMembersError, Error, TransferError};
use crate::group::Group;
use crate::machine::Machine;

/// Delay while an earlier change of members is under way.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// How long a change of members may take.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a leader that is removed waits for another one to be elected.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// A service's group, and what is done with it. Cheap to clone.
pub struct Handle<M: Machine> {
    group: Group<M>,
    node: Uuid,
    supervisor: Arc<Supervisor>,
}

impl<M: Machine> Clone for Handle<M> {
    fn clone(&self) -> Self {
        let Self { group, node, supervisor } = self;
        Self { group: group.clone(), node: *node, supervisor: Arc::clone(supervisor) }
    }
}

impl<M: Machine> Handle<M> {
    pub(crate) fn new(group: Group<M>, node: Uuid, supervisor: Arc<Supervisor>) -> Self {
        Self { group, node, supervisor }
    }

    /// The group.
    pub fn group(&self) -> &Group<M> {
        &self.group
    }

    /// This node.
    pub fn node(&self) -> Uuid {
        self.node
    }

    /// Starts the group again when it fails.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// How the group is.
    pub fn health(&self) -> GroupHealth {
        self.supervisor.health()
    }

    /// Waits until this node leads and has applied what its log holds. For a service of one:
    /// replaying a long log takes most of it.
    ///
    /// # Errors
    /// When the group fails for good, or it takes longer than `timeout`.
    pub async fn lead(&self, timeout: Duration) -> Result<(), Error> {
        let mut changes = self.group.leader_changes();
        let ready = changes.wait_for(|leader| leader.ready);
        tokio::select! {
            ready = tokio::time::timeout(timeout, ready) => match ready {
                Ok(Ok(_)) => {}
                Ok(Err(_)) => return Err(Error::Failed("it ended".to_owned())),
                Err(_) => {
                    let failed = self.group.status().await.and_then(|status| status.failed);
                    return Err(failed.map_or(Error::NoLeader(timeout), Error::Failed));
                }
            },
            failure = self.supervisor.failed() => return Err(Error::Failed(failure.to_string())),
        }
        self.group.read_index().await?;
        Ok(())
    }

    /// Triggers `shutdown` when the group has failed for good: a process that is started again, or
    /// another member, does the work of this one. `role` is its name in the log line.
    pub fn stop_when_failed(&self, role: &'static str, shutdown: &Shutdown) {
        let (supervisor, stop) = (Arc::clone(&self.supervisor), shutdown.clone());
        tokio::spawn(async move {
            if let Some(failure) = stop.until(supervisor.failed()).await {
                tracing::error!(role, %failure, "the role stops: its raft group has failed for good");
                stop.trigger();
            }
        });
    }

    /// Changes the members, one change after the other. For the leader.
    ///
    /// # Errors
    /// When the change is refused, this node does not lead (any more: a leader that removes itself
    /// hands over first), or it takes too long.
    pub async fn change_members(&self, change: Change) -> Result<(), ChangeMembersError> {
        let changed = async {
            loop {
                match self.group.change(change.clone()).await {
                    Ok(_) => return Ok(()),
                    Err(ChangeError::Busy) => tokio::time::sleep(RETRY_DELAY).await,
                    Err(ChangeError::Refused(reason)) => {
                        return Err(ChangeMembersError::Refused(reason));
                    }
                    Err(ChangeError::NotLeader { .. }) => {
                        // The caller's answer names the next leader, once it is known.
                        self.other_leader(ELECTION_TIMEOUT).await;
                        return Err(ChangeMembersError::NotLeader);
                    }
                    Err(error @ (ChangeError::Dropped | ChangeError::Shutdown)) => {
                        return Err(ChangeMembersError::Unavailable(error.to_string()));
                    }
                }
            }
        };
        let timeout = || Err(ChangeMembersError::Timeout(CHANGE_TIMEOUT));
        tokio::time::timeout(CHANGE_TIMEOUT, changed).await.unwrap_or_else(|_| timeout())
    }

    /// Transfers leadership to a voting member, or to the one that is furthest in the log. Returns
    /// when that leads. For the leader.
    ///
    /// # Errors
    /// When there is no such member, or it is not elected within `timeout`.
    pub async fn transfer_leadership(
        &self,
        to: Option<Uuid>,
        timeout: Duration,
    ) -> Result<(), TransferError> {
        if to == Some(self.node) {
            return Ok(());
        }
        let membership = self.group.membership();
        if membership.voters().count() <= 1 {
            return Err(TransferError::OnlyMember);
        }
        let votes = |to| membership.find(to).is_some_and(|member| member.role.votes());
        if let Some(to) = to.filter(|to| !votes(*to)) {
            return Err(TransferError::NoVoter(to));
        }
        let mut changes = self.group.leader_changes();
        match to {
            Some(to) => self.group.transfer_leader(to),
            None => self.group.step_down(),
        }
        let elected = changes.wait_for(|now| match (now.leader, to) {
            (Some(leader), Some(to)) => leader == to,
            (Some(leader), None) => leader != self.node,
            (None, _) => false,
        });
        match tokio::time::timeout(timeout, elected).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(TransferError::Timeout(timeout)),
        }
    }

    /// Has another member lead before this node stops, so that clients need not wait for an
    /// election. Not longer than `timeout`; nothing when this node does not lead.
    pub async fn hand_over(&self, timeout: Duration) {
        if !self.group.is_leader() {
            return;
        }
        match self.transfer_leadership(None, timeout).await {
            Ok(()) | Err(TransferError::OnlyMember) => {}
            Err(error) => tracing::debug!(%error, "it stops as the leader"),
        }
    }

    /// Waits until another member is known to lead.
    async fn other_leader(&self, timeout: Duration) {
        let mut changes = self.group.leader_changes();
        let other = changes.wait_for(|now| now.leader.is_some_and(|leader| leader != self.node));
        // Without one the caller asks all until there is.
        let _ = tokio::time::timeout(timeout, other).await;
    }
}
