//! Operations on a service that are shared by the parts of a role.

use std::sync::Arc;
use std::time::Duration;

use multiraft::{Change, ChangeError, GroupHealth, Supervisor};
use service::Shutdown;
use uuid::Uuid;

use crate::error::{ChangeMembersError, Error, TransferError};
use crate::group::Group;
use crate::machine::Machine;

/// Delay while an earlier change of members is in progress.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Timeout of a change of members.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which a removed leader waits for the election of another one.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// A service's group, and operations on it. Cheap to clone.
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

    /// Restarts the group when it fails.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// The group's health.
    pub fn health(&self) -> GroupHealth {
        self.supervisor.health()
    }

    /// Waits until this node is the leader and has applied its log. For a service of one: most of
    /// the time is the replay of a long log.
    ///
    /// # Errors
    /// If the group fails permanently, or on timeout.
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

    /// Triggers `shutdown` when the group has failed permanently: a restarted process, or another
    /// member, continues. `role` is the name in the log line.
    pub fn stop_when_failed(&self, role: &'static str, shutdown: &Shutdown) {
        let (supervisor, stop) = (Arc::clone(&self.supervisor), shutdown.clone());
        tokio::spawn(async move {
            if let Some(failure) = stop.until(supervisor.failed()).await {
                tracing::error!(role, %failure, "stopping the role: its raft group has failed permanently");
                stop.trigger();
            }
        });
    }

    /// Changes the members, one change after the other. For the leader.
    ///
    /// # Errors
    /// If the change is refused, this node is not, or no longer, the leader (a leader that removes
    /// itself first transfers leadership), or on timeout.
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
                        // The caller's response contains the next leader, once known.
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

    /// Transfers leadership to a voting member, or to the most advanced one. Returns when that is
    /// the leader. For the leader.
    ///
    /// # Errors
    /// If there is no such member, or it is not elected within `timeout`.
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

    /// Transfers leadership before this node stops, so that clients need not wait for an election.
    /// At most for `timeout`; does nothing on a follower.
    pub async fn hand_over(&self, timeout: Duration) {
        if !self.group.is_leader() {
            return;
        }
        match self.transfer_leadership(None, timeout).await {
            Ok(()) | Err(TransferError::OnlyMember) => {}
            Err(error) => tracing::debug!(%error, "stopping as the leader"),
        }
    }

    /// Waits until another leader is known.
    async fn other_leader(&self, timeout: Duration) {
        let mut changes = self.group.leader_changes();
        let other = changes.wait_for(|now| now.leader.is_some_and(|leader| leader != self.node));
        // Without a leader the caller asks all members.
        let _ = tokio::time::timeout(timeout, other).await;
    }
}
