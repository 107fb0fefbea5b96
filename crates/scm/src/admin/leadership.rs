//! TransferLeadership: another SCM of the service shall lead.

use std::time::Duration;

use proto::hdds::{TransferLeadershipRequestProto, TransferLeadershipResponseProto};
use uuid::Uuid;

use crate::core::Core;
use crate::error::RequestError;

/// How long the new leader may take to be elected.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(10);

/// Hands over to the SCM that is named by its id or node id, or to any when no name is given.
pub async fn transfer(
    core: &Core,
    request: &TransferLeadershipRequestProto,
) -> Result<TransferLeadershipResponseProto, RequestError> {
    let wanted = request.new_leader_id.as_str();
    let refused = |why: String| Err(RequestError::Refused(why));
    let Some(members) = &core.identity.members else {
        return refused("there is only one SCM".to_owned());
    };
    let me = core.identity.scm_id;
    let named =
        |m: &&crate::members::Member| m.scm_id.to_string() == wanted || m.node.node_id == wanted;
    let to: Uuid = match wanted {
        "" => match alive(core).await.or_else(|| members.others().first().map(|m| m.scm_id)) {
            Some(other) => other,
            None => return refused("there is no other SCM".to_owned()),
        },
        _ => match members.all().iter().find(named) {
            Some(member) => member.scm_id,
            None => return refused(format!("no SCM of this service is {wanted}")),
        },
    };
    if to == me {
        return Ok(TransferLeadershipResponseProto {});
    }
    let mut changes = core.group().leader_changes();
    core.group().transfer_leader(to);
    let elected = changes.wait_for(|now| now.leader == Some(to));
    match tokio::time::timeout(TRANSFER_TIMEOUT, elected).await {
        Ok(Ok(_)) => Ok(TransferLeadershipResponseProto {}),
        _ => refused(format!("SCM {to} did not take over within {} s", TRANSFER_TIMEOUT.as_secs())),
    }
}

/// A follower that answers, the one furthest in the log.
async fn alive(core: &Core) -> Option<Uuid> {
    let status = core.group().status().await?;
    let fit = |follower: &multiraft::FollowerStatus| follower.active && follower.role.votes();
    let active = status.followers.into_iter().filter(fit);
    active.max_by_key(|follower| follower.matched).map(|follower| follower.node)
}
