//! TransferLeadership: another SCM of the service shall lead.

use std::time::Duration;

use proto::hdds::{TransferLeadershipRequestProto, TransferLeadershipResponseProto};
use replicated::TransferError;
use uuid::Uuid;

use crate::core::Core;
use crate::error::RequestError;

/// Time limit for the election of the new leader.
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
    let named =
        |m: &&crate::members::Member| m.scm_id.to_string() == wanted || m.node.node_id == wanted;
    let to: Option<Uuid> = match wanted {
        "" => None,
        _ => match members.all().iter().find(named) {
            Some(member) => Some(member.scm_id),
            None => return refused(format!("no SCM of this service is {wanted}")),
        },
    };
    match core.raft().transfer_leadership(to, TRANSFER_TIMEOUT).await {
        Ok(()) => Ok(TransferLeadershipResponseProto {}),
        Err(TransferError::OnlyMember) => refused("there is no other SCM".to_owned()),
        Err(TransferError::NoVoter(id)) => refused(format!("SCM {id} has no vote")),
        Err(error @ TransferError::Timeout(_)) => refused(error.to_string()),
    }
}
