//! Changes of the service's OMs: one joins, one is decommissioned.

use std::time::Duration;

use framed::Status;
use multiraft::{Change, ChangeError, Membership, Peer};
use proto::om_admin::BootstrapOmRequest;

use super::Dispatcher;
use super::write::not_leader;
use crate::identity::name_uuid;
use crate::members::Member;

/// How long a leader that is removed waits for another to take over.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay while an earlier change of members is under way.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// How long a change may take.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why the members are as they were.
pub(crate) enum NotChanged {
    /// It cannot be done.
    Refused(String),
    /// Another OM is to be asked, or this one later.
    Elsewhere(Status),
}

impl Dispatcher {
    /// Lets another OM into the service; gives its members then.
    pub(crate) async fn bootstrap(
        &self,
        request: &BootstrapOmRequest,
    ) -> Result<Membership, NotChanged> {
        self.leading().map_err(NotChanged::Elsewhere)?;
        let members = &self.parts.facts.members;
        let (id, me) = (request.node_id.as_str(), &members.me.node_id);
        if !members.shared {
            let reason = format!("OM {me} is not configured as one of a service");
            return Err(NotChanged::Refused(reason));
        }
        members.reload();
        let node = name_uuid(id);
        let belongs = self.parts.group.membership().contains(node);
        if members.by_raft_id(node).is_none() && !belongs && request.force != Some(true) {
            let service = &members.service_id;
            let reason =
                format!("{id} is not in ozone.om.nodes.{service} of OM {me}'s configuration");
            return Err(NotChanged::Refused(reason));
        }
        let port = request.ratis_port;
        let address = format!("{}:{port}", request.host_address);
        let peer = Peer { node, address, priority: 0 };
        let change = match request.is_listener {
            Some(true) => Change::AddListener(peer),
            _ => Change::Add(peer),
        };
        self.change(change).await?;
        tracing::info!(om = id, host = request.host_address, port, "an OM joins the service");
        Ok(self.parts.group.membership())
    }

    /// Removes an OM from the service.
    pub(crate) async fn decommission(&self, id: &str, address: &str) -> Result<(), NotChanged> {
        self.leading().map_err(NotChanged::Elsewhere)?;
        let members = &self.parts.facts.members;
        members.reload();
        let node = name_uuid(id);
        if let Some(member) = members.by_raft_id(node)
            && !is_at(&member, address).await
        {
            let reason = format!("OM {id} is at {}, not at {address}", member.rpc.connect().host);
            return Err(NotChanged::Refused(reason));
        }
        if !self.parts.group.membership().contains(node) {
            return Err(NotChanged::Refused(format!("OM {id} does not belong to the service")));
        }
        self.change(Change::Remove(node)).await?;
        tracing::info!(om = id, "an OM was removed from the service");
        Ok(())
    }

    async fn change(&self, change: Change) -> Result<(), NotChanged> {
        let group = &self.parts.group;
        let changed = async {
            loop {
                match group.change(change.clone()).await {
                    Ok(_) => return Ok(()),
                    Err(ChangeError::Busy) => tokio::time::sleep(RETRY_DELAY).await,
                    Err(ChangeError::Refused(reason)) => return Err(NotChanged::Refused(reason)),
                    Err(ChangeError::NotLeader { .. }) => return Err(self.handed_over().await),
                    Err(error @ (ChangeError::Dropped | ChangeError::Shutdown)) => {
                        let status = Status::unavailable(error.to_string());
                        return Err(NotChanged::Elsewhere(status));
                    }
                }
            }
        };
        let late = || NotChanged::Elsewhere(Status::unavailable("members did not change in time"));
        tokio::time::timeout(CHANGE_TIMEOUT, changed).await.unwrap_or_else(|_| Err(late()))
    }

    /// This OM does not lead any more; the caller is told which one does.
    async fn handed_over(&self) -> NotChanged {
        let me = self.parts.facts.members.me.raft_id;
        let mut changes = self.parts.group.leader_changes();
        let other = changes.wait_for(|state| state.leader.is_some_and(|leader| leader != me));
        // Without one, the caller asks all until there is.
        let _ = tokio::time::timeout(TRANSFER_TIMEOUT, other).await;
        NotChanged::Elsewhere(not_leader(self))
    }
}

/// Whether an OM is at an address; names are resolved. When that cannot be said it may be.
async fn is_at(member: &Member, address: &str) -> bool {
    let host = member.rpc.connect().host;
    if host == address {
        return true;
    }
    let resolve = async |host: &str| {
        let found = tokio::net::lookup_host((host, 0)).await;
        found.map(|all| all.map(|a| a.ip()).collect::<Vec<_>>()).unwrap_or_default()
    };
    let (known, said) = (resolve(&host).await, resolve(address).await);
    known.is_empty() || said.is_empty() || known.iter().any(|ip| said.contains(ip))
}
