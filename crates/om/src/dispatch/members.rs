//! Changes of the service's OMs: one joins, one is decommissioned.

use framed::Status;
use multiraft::{Change, Membership, Peer};
use proto::om_admin::BootstrapOmRequest;
use replicated::ChangeMembersError;

use super::Dispatcher;
use crate::ids::name_uuid;
use crate::members::Member;

/// Reason for which the members did not change.
pub(crate) enum NotChanged {
    /// The change is not possible.
    Refused(String),
    /// The client must call another OM, or this one later.
    Elsewhere(Status),
}

impl Dispatcher {
    /// Admits another OM to the service; returns the members.
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
        tracing::info!(om = id, host = request.host_address, port, "OM joined");
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
        tracing::info!(om = id, "OM removed");
        Ok(())
    }

    async fn change(&self, change: Change) -> Result<(), NotChanged> {
        self.parts.raft.change_members(change).await.map_err(|error| match error {
            ChangeMembersError::Refused(reason) => NotChanged::Refused(reason),
            ChangeMembersError::NotLeader => NotChanged::Elsewhere(self.not_leader()),
            ChangeMembersError::Unavailable(_) | ChangeMembersError::Timeout(_) => {
                NotChanged::Elsewhere(Status::unavailable(error.to_string()))
            }
        })
    }
}

/// Returns `true` if an OM is at an address; names are resolved. An unresolvable name counts as
/// one.
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
