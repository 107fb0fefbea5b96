//! The first start of one of several SCMs: which cluster is it of, and who belongs to the service?
//!
//! Whoever has a cluster's directory already tells the others. When nobody has, the primordial SCM makes a cluster, and
//! the others wait for it. An SCM that lost its disk learns its cluster like a new one. An SCM that the service runs
//! without joins it when it is told to (`--bootstrap`): the leader adds it to the Raft group.

use std::time::{Duration, Instant};

use framed::{CallError, Client, ClientOptions, Code};
use multiraft::Membership;
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Type};
use proto::hdds::{AddScmRequestProto, GetScmInfoResponseProto};
use proto::method;
use uuid::Uuid;

use crate::ScmError;
use crate::members::Members;

/// Patience with one SCM.
const ASK: Duration = Duration::from_secs(2);
/// Patience with the leader that lets this one in.
const LET_IN: Duration = Duration::from_secs(40);
/// How long somebody who leads is looked for.
const WITHIN: Duration = Duration::from_secs(120);
/// Pause after all others were asked in vain.
const PAUSE: Duration = Duration::from_millis(300);

/// What a new SCM is told.
pub struct Told {
    /// The cluster.
    pub cluster_id: String,
    /// The members of the Raft group, when they are not those that it began with.
    pub membership: Option<Membership>,
}

/// Asks the others. Waits, without an end, for an SCM that knows the cluster.
///
/// # Errors
/// When the service runs without this SCM and is not to be joined, or does not let it in.
pub async fn ask(members: &Members, bootstrap: bool) -> Result<Told, ScmError> {
    let mut told = false;
    loop {
        let others = members.others();
        let asked = others.iter().map(|other| info(other.node.block.connect().to_string()));
        let answers = futures::future::join_all(asked).await;
        let known = answers.into_iter().flatten().map(|answer| {
            let membership = answer.membership.and_then(|bytes| Membership::decode(bytes).ok());
            (answer.cluster_id, membership)
        });
        let newest = known.max_by_key(|(_, m)| m.as_ref().map_or(0, |m| m.index));
        if let Some((cluster_id, membership)) = newest {
            tracing::info!(cluster = cluster_id, "joining the cluster of the other SCMs");
            let belongs = membership.as_ref().is_none_or(|m| m.contains(members.me.scm_id));
            let membership = match (belongs, bootstrap) {
                (true, _) => membership.filter(|m| m.index > 0),
                (false, true) => Some(join(members, &cluster_id).await?),
                (false, false) => {
                    return Err(not_joined(
                        members,
                        "it runs without this SCM; start it with --bootstrap",
                    ));
                }
            };
            return Ok(Told { cluster_id, membership });
        }
        if members.primordial && !bootstrap {
            return Ok(Told { cluster_id: format!("CID-{}", Uuid::new_v4()), membership: None });
        }
        if !std::mem::replace(&mut told, true) {
            tracing::info!("first start: waiting for another SCM to tell the cluster id");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn not_joined(members: &Members, reason: impl Into<String>) -> ScmError {
    ScmError::NotJoined { node: members.me.node.node_id.clone(), reason: reason.into() }
}

/// Asks the leader to be let in.
async fn join(members: &Members, cluster_id: &str) -> Result<Membership, ScmError> {
    let request = ScmBlockLocationRequest {
        cmd_type: Type::AddScm as i32,
        add_scm_request_proto: Some(AddScmRequestProto {
            cluster_id: cluster_id.to_owned(),
            scm_id: members.me.scm_id.to_string(),
            ratis_addr: members.me.node.raft.connect().to_string(),
        }),
        ..Default::default()
    };
    let until = Instant::now() + WITHIN;
    let mut last = String::from("there is no other SCM in its configuration");
    while Instant::now() < until {
        for other in members.others() {
            let address = other.node.block.connect().to_string();
            let answer = call(address, &request, LET_IN).await;
            match answer {
                Ok(answer) => match answer.add_scm_response.and_then(|r| r.membership) {
                    Some(bytes) => {
                        let membership = Membership::decode(bytes);
                        return membership.map_err(|e| not_joined(members, e.to_string()));
                    }
                    None => last = answer.message.unwrap_or_default(),
                },
                // Followers are asked, too, and say nothing of interest.
                Err(e) if e.status().is_some_and(|s| s.code == Code::NotLeader) => {}
                Err(e) => last = e.to_string(),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(not_joined(members, format!("nobody let it in: {last}")))
}

async fn info(address: String) -> Option<GetScmInfoResponseProto> {
    let request = ScmBlockLocationRequest {
        cmd_type: Type::GetScmInfo as i32,
        get_scm_info_request: Some(Default::default()),
        ..Default::default()
    };
    call(address, &request, ASK).await.ok()?.get_scm_info_response
}

async fn call(
    address: String,
    request: &ScmBlockLocationRequest,
    timeout: Duration,
) -> Result<ScmBlockLocationResponse, CallError> {
    let client = Client::new(address, ClientOptions { connections: 1, ..ClientOptions::default() });
    framed::message::call(&client, method::SCM_BLOCK, request, timeout).await
}
