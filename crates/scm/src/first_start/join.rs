//! Request to the leader to add this SCM.

use std::time::Duration;

use framed::{Client, ClientOptions, Code};
use multiraft::Membership;
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Type};
use proto::hdds::AddScmRequestProto;
use proto::method;
use replicated::join::Answer;

use super::name;
use crate::ScmError;
use crate::members::{Member, Members};

/// Time limit for the leader to add this SCM.
const JOIN_TIMEOUT: Duration = Duration::from_secs(40);

/// Asks until the leader answers.
///
/// # Errors
/// When it refuses, or no leader is found in time.
pub async fn join(members: &Members, cluster_id: &str) -> Result<Membership, ScmError> {
    let request = ScmBlockLocationRequest {
        cmd_type: Type::AddScm as i32,
        add_scm_request_proto: Some(AddScmRequestProto {
            cluster_id: cluster_id.to_owned(),
            scm_id: members.me.scm_id.to_string(),
            ratis_addr: members.me.node.raft.connect().to_string(),
        }),
        ..Default::default()
    };
    let ask = async |other: &Member| {
        let address = other.node.block.connect().to_string();
        let options = ClientOptions { connections: 1, ..ClientOptions::default() };
        let client = Client::new(address, options);
        let asked = framed::message::call(&client, method::SCM_BLOCK, &request, JOIN_TIMEOUT);
        match asked.await {
            Ok(ScmBlockLocationResponse { add_scm_response, message, .. }) => {
                match add_scm_response.and_then(|answer| answer.membership) {
                    Some(bytes) => match Membership::decode(bytes) {
                        Ok(membership) => Answer::Joined(membership),
                        Err(e) => Answer::Refused(e.to_string()),
                    },
                    // The leader may grant it later: its configuration may lack this SCM now.
                    None => Answer::Unreachable(message.unwrap_or_default()),
                }
            }
            Err(e) if e.status().is_some_and(|s| s.code == Code::NotLeader) => Answer::NotLeader,
            Err(e) => Answer::Unreachable(e.to_string()),
        }
    };
    Ok(replicated::join::join(&name(members), &members.others(), ask).await?)
}
