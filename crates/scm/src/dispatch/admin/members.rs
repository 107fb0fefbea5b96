//! Changes of the service's SCMs: one joins, one is decommissioned.

use multiraft::{Change, Membership, Peer};
use proto::container_location::{DecommissionScmRequestProto, DecommissionScmResponseProto};
use proto::hdds::{AddScmRequestProto, AddScmResponseProto};
use replicated::ChangeMembersError;
use uuid::Uuid;

use crate::core::Core;
use crate::error::RequestError;

/// Lets another SCM into the service.
pub async fn add(
    core: &Core,
    request: &AddScmRequestProto,
) -> Result<AddScmResponseProto, RequestError> {
    core.check_leader()?;
    let Some(members) = &core.identity.members else {
        let why = "this SCM is not configured as one of a service";
        return Err(RequestError::Refused(why.to_owned()));
    };
    if request.cluster_id != core.identity.cluster_id {
        let why = format!("this is cluster {}", core.identity.cluster_id);
        return Err(RequestError::Refused(why));
    }
    let id: Uuid = request.scm_id.parse().map_err(|_| {
        RequestError::Invalid(format!("{} is not the id of an SCM", request.scm_id))
    })?;
    // Published clients whose file does not name it cannot find it: others lead while they can.
    // From the next start on its own file replaces this.
    let peer = Peer { node: id, address: request.ratis_addr.clone(), priority: -1 };
    change(core, Change::Add(peer)).await?;
    members.reload();
    tracing::info!(scm = %id, address = request.ratis_addr, "SCM joins the service");
    let membership: Membership = core.group().membership();
    Ok(AddScmResponseProto {
        success: true,
        scm_id: Some(id.to_string()),
        membership: Some(membership.encode()),
    })
}

/// Removes the SCM with this id or node id. Refusals are part of the response.
pub async fn decommission(
    core: &Core,
    request: &DecommissionScmRequestProto,
) -> Result<DecommissionScmResponseProto, RequestError> {
    let wanted = request.scm_id.as_str();
    let refused =
        |why: String| DecommissionScmResponseProto { success: false, error_msg: Some(why) };
    let Some(members) = &core.identity.members else {
        return Ok(refused("there is only one SCM".to_owned()));
    };
    members.reload();
    let all = members.all();
    let named = all.iter().find(|m| m.node.node_id == wanted).map(|m| m.scm_id);
    let Some(id) = named.or_else(|| wanted.parse().ok()) else {
        return Ok(refused(format!("no SCM of this service is {wanted}")));
    };
    if !core.group().membership().contains(id) {
        return Ok(refused(format!("SCM {wanted} does not belong to the service")));
    }
    match change(core, Change::Remove(id)).await {
        Ok(()) => {
            tracing::info!(scm = %id, "SCM removed from the service");
            Ok(DecommissionScmResponseProto { success: true, error_msg: None })
        }
        Err(RequestError::Refused(why)) => Ok(refused(why)),
        Err(error) => Err(error),
    }
}

async fn change(core: &Core, change: Change) -> Result<(), RequestError> {
    match core.raft().change_members(change).await {
        Err(ChangeMembersError::NotLeader) => {
            Err(core.check_leader().err().unwrap_or(RequestError::NotLeader(None)))
        }
        changed => Ok(changed?),
    }
}
