//! The first start of one of several SCMs: which cluster is it of, and which members has the
//! service?
//!
//! An SCM that has a cluster's directory already tells the others. When none has, the primordial
//! SCM makes a cluster, and the others wait for it. An SCM that lost its disk learns its cluster
//! like a new one. An SCM that the service runs without joins it when it is told to
//! (`--bootstrap`): the leader adds it to the Raft group.
//!
//! **It may end at any point of that**: as long as its log does not have the group's members on
//! disk it asks the others for them again, and a note ([`JoinNote`]) says that it was to join.

use std::time::Duration;

use framed::{CallError, Client, ClientOptions, Code};
use multiraft::Membership;
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Type};
use proto::hdds::{AddScmRequestProto, GetScmInfoResponseProto};
use proto::method;
use replicated::JoinNote;
use replicated::join::Answer;
use uuid::Uuid;

use crate::ScmError;
use crate::members::{Member, Members};

/// How long one SCM may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the leader may take to add this SCM.
const JOIN_TIMEOUT: Duration = Duration::from_secs(40);
/// Delay before the others are asked again.
const RETRY_DELAY: Duration = Duration::from_millis(300);

/// Asks the others for the cluster. Waits, without an end, for an SCM that knows it. Gives the
/// members of the Raft group, too, unless this SCM is still to join it.
///
/// # Errors
/// When the service runs without this SCM and is not to be joined.
pub async fn cluster(
    members: &Members,
    bootstrap: bool,
) -> Result<(String, Option<Membership>), ScmError> {
    let mut told = false;
    loop {
        let answers = query_members(members).await;
        if let Some((cluster_id, membership)) = newest(answers) {
            tracing::info!(cluster = cluster_id, "joining the cluster of the other SCMs");
            let membership = membership.filter(|m| m.contains(members.me.scm_id));
            if membership.is_none() && !bootstrap {
                return Err(runs_without(members));
            }
            return Ok((cluster_id, membership));
        }
        if members.primordial && !bootstrap {
            return Ok((format!("CID-{}", Uuid::new_v4()), None));
        }
        if !std::mem::replace(&mut told, true) {
            tracing::info!("first start: waiting for another SCM to tell the cluster id");
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// The members of the Raft group, when the log of this SCM does not have them: it joins, or ended
/// before they were on disk. Nothing when this SCM begins the group.
///
/// # Errors
/// When the service runs without this SCM and is not to be joined, or does not let it in.
pub async fn membership(
    members: &Members,
    cluster_id: &str,
    note: &JoinNote,
    bootstrap: bool,
) -> Result<Option<Membership>, ScmError> {
    let noted = note.read()?;
    let joins = bootstrap || noted.is_some();
    if noted.is_some() {
        tracing::info!(scm = %members.me.scm_id, "goes on joining the service");
    }
    let mut told = false;
    loop {
        let answers = query_members(members).await;
        let same = answers.into_iter().filter(|answer| answer.cluster_id == cluster_id);
        if let Some((_, membership)) = newest(same) {
            return match membership.filter(|m| m.contains(members.me.scm_id)) {
                Some(membership) => Ok(Some(membership)),
                None if joins => {
                    // It may be let in and not hear of it: its next start goes on.
                    note.write(false)?;
                    join(members, cluster_id).await.map(Some)
                }
                None => Err(runs_without(members)),
            };
        }
        // The SCM that made the cluster begins the group; the others wait for it, as long as it
        // takes.
        if members.primordial && !joins {
            return Ok(None);
        }
        if !std::mem::replace(&mut told, true) {
            tracing::info!("waiting for another SCM that knows the members of the service");
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

async fn query_members(members: &Members) -> Vec<GetScmInfoResponseProto> {
    let others = members.others();
    let asked = others.iter().map(|other| info(other.node.block.connect().to_string()));
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

/// The cluster, and the members as of the latest change that one of the answers knows.
fn newest(
    answers: impl IntoIterator<Item = GetScmInfoResponseProto>,
) -> Option<(String, Option<Membership>)> {
    let known = answers.into_iter().map(|answer| {
        let membership = answer.membership.and_then(|bytes| Membership::decode(bytes).ok());
        (answer.cluster_id, membership)
    });
    known.max_by_key(|(_, m)| m.as_ref().map_or(0, |m| m.index))
}

fn runs_without(members: &Members) -> ScmError {
    not_joined(members, "it runs without this SCM; start it with --bootstrap")
}

fn not_joined(members: &Members, reason: impl Into<String>) -> ScmError {
    replicated::Error::NotJoined { node: name(members), reason: reason.into() }.into()
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
    let ask = async |other: &Member| {
        let address = other.node.block.connect().to_string();
        match call(address, &request, JOIN_TIMEOUT).await {
            Ok(answer) => match answer.add_scm_response.and_then(|r| r.membership) {
                Some(bytes) => match Membership::decode(bytes) {
                    Ok(membership) => Answer::Joined(membership),
                    Err(e) => Answer::Refused(e.to_string()),
                },
                // The leader may grant it later: its configuration may lack this SCM now.
                None => Answer::Unreachable(answer.message.unwrap_or_default()),
            },
            Err(e) if e.status().is_some_and(|s| s.code == Code::NotLeader) => Answer::NotLeader,
            Err(e) => Answer::Unreachable(e.to_string()),
        }
    };
    Ok(replicated::join::join(&name(members), &members.others(), ask).await?)
}

fn name(members: &Members) -> String {
    format!("SCM {}", members.me.node.node_id)
}

async fn info(address: String) -> Option<GetScmInfoResponseProto> {
    let request = ScmBlockLocationRequest {
        cmd_type: Type::GetScmInfo as i32,
        get_scm_info_request: Some(Default::default()),
        ..Default::default()
    };
    call(address, &request, REQUEST_TIMEOUT).await.ok()?.get_scm_info_response
}

async fn call(
    address: String,
    request: &ScmBlockLocationRequest,
    timeout: Duration,
) -> Result<ScmBlockLocationResponse, CallError> {
    let client = Client::new(address, ClientOptions { connections: 1, ..ClientOptions::default() });
    framed::message::call(&client, method::SCM_BLOCK, request, timeout).await
}
