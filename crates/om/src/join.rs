//! An OM that joins a service that runs already.
//!
//! An operator adds the new OM to the configuration of all and starts it with `--bootstrap`. It
//! checks that the others read the same, and requests admission from the leader: it becomes a
//! member of the Raft group without a vote, gets the tables, and then its vote. The others need no
//! restart.
//!
//! **It may stop at any point of that**, and continues when it is started again, with `--bootstrap`
//! or without. A note ([`JoinNote`]) marks it as joining from before its request until its log has
//! the members on disk: it then sends the request again, and a member that was admitted already
//! receives the members once more. Afterwards its log names the members; a learner without entries
//! gets them, or a snapshot, from the leader.

use std::time::Duration;

use bytes::Bytes;
use framed::{CallError, Client, ClientOptions, Code};
use multiraft::Membership;
use prost::Message;
use proto::method;
use proto::om_admin::{
    BootstrapOmRequest, BootstrapOmResponse, OmAdminCall, OmConfigurationRequest,
    OmConfigurationResponse,
};
use replicated::join::Answer;
use replicated::{JoinNote, RaftLog};
use uuid::Uuid;

use crate::error::Error;
use crate::members::Member;
use crate::settings::{Bootstrap, Setup};

/// Timeout of one OM's response with its configuration.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The same at an ordinary first start, when the others may not be up.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of the leader's response to the join request.
const JOIN_TIMEOUT: Duration = Duration::from_secs(40);

/// The members of the Raft group that this OM joins; nothing when it begins one with the others, or
/// `log` has the group already.
pub(crate) async fn membership(
    setup: &Setup,
    log: &RaftLog,
    group: Uuid,
    bootstrap: Option<Bootstrap>,
) -> Result<Option<Membership>, Error> {
    let me = &setup.members.me;
    if me.decommissioned {
        return Err(refused(me, "the configuration lists it as decommissioned"));
    }
    // If its log has the group, that has more than the others' responses.
    if !setup.members.shared || log.holds(group) {
        return Ok(None);
    }
    let note = log.join_note();
    if let Some(force) = note.read()? {
        // It may have been admitted before it stopped: the leader then repeats its response.
        tracing::info!(om = me.node_id, "continuing to join the service");
        return join(setup, note, force).await.map(Some);
    }
    match bootstrap {
        Some(Bootstrap { force }) => {
            if !force {
                check_configurations(me, &setup.members.others()).await?;
            }
            note.write(force)?;
            join(setup, note, force).await.map(Some)
        }
        None => {
            let others = setup.members.others();
            let asked = others.iter().map(|other| configuration(other, PROBE_TIMEOUT));
            let known = futures::future::join_all(asked).await;
            let runs_without = known.iter().flatten().any(|answer| {
                let nodes = &answer.nodes_in_memory;
                !nodes.is_empty() && !nodes.iter().any(|node| node.node_id == me.node_id)
            });
            if runs_without {
                return Err(refused(me, "it runs without this OM; start it with --bootstrap"));
            }
            // One that lost its disk: the members may have changed since they began, and the file
            // may name some that are still to join.
            Ok(newest(known.iter().flatten()).filter(|m| m.contains(me.raft_id)))
        }
    }
}

fn refused(me: &Member, reason: impl Into<String>) -> Error {
    let node = format!("OM {}", me.node_id);
    replicated::Error::NotJoined { node, reason: reason.into() }.into()
}

/// Requests admission until a leader answers.
async fn join(setup: &Setup, note: &JoinNote, force: bool) -> Result<Membership, Error> {
    let (me, others) = (&setup.members.me, setup.members.others());
    let request = BootstrapOmRequest {
        node_id: me.node_id.clone(),
        host_address: me.raft.connect().host,
        ratis_port: u32::from(me.raft.port),
        is_listener: Some(me.listener),
        force: Some(force),
    };
    let ask = async |other: &Member| {
        let answer: Result<BootstrapOmResponse, CallError> =
            call(other, "bootstrap", &request, JOIN_TIMEOUT).await;
        match answer {
            Ok(BootstrapOmResponse { success: true, membership: Some(bytes), .. }) => {
                match Membership::decode(bytes) {
                    Ok(membership) => Answer::Joined(membership),
                    Err(e) => Answer::Refused(e.to_string()),
                }
            }
            Ok(answer) => Answer::Refused(answer.error_msg.unwrap_or_default()),
            Err(e) if e.status().is_some_and(|status| status.code == Code::NotLeader) => {
                Answer::NotLeader
            }
            Err(e) => Answer::Unreachable(e.to_string()),
        }
    };
    let joined = replicated::join::join(&format!("OM {}", me.node_id), &others, ask).await;
    if let Err(replicated::Error::Refused { .. }) = &joined {
        // A later start has nothing to continue.
        note.remove()?;
    }
    Ok(joined?)
}

/// All members must have this OM in their configuration, which they reload for their response. So
/// must other OMs that respond. An OM that does not, and that no member lists as one, is still to
/// join itself: two OMs that join at the same time would wait for each other for ever.
async fn check_configurations(me: &Member, others: &[Member]) -> Result<(), Error> {
    let asked = others.iter().map(|other| configuration(other, REQUEST_TIMEOUT));
    let answers = futures::future::join_all(asked).await;
    let members = newest(answers.iter().flatten());
    let joins = |other: &Member| members.as_ref().is_some_and(|m| !m.contains(other.raft_id));
    for (other, answer) in others.iter().zip(&answers) {
        let id = &other.node_id;
        let hint = "--force skips this check";
        let Some(answer) = answer else {
            if joins(other) {
                continue;
            }
            let reason =
                format!("OM {id} does not report whether its configuration has this OM; {hint}");
            return Err(refused(me, reason));
        };
        let known = answer
            .nodes_in_new_conf
            .iter()
            .any(|node| node.node_id == me.node_id && node.ratis_port == u32::from(me.raft.port));
        if !known {
            let reason = format!("OM {id}'s configuration of this OM differs from its own; {hint}");
            return Err(refused(me, reason));
        }
    }
    Ok(())
}

/// The members as of the latest change in any of the responses.
fn newest<'a>(
    answers: impl IntoIterator<Item = &'a OmConfigurationResponse>,
) -> Option<Membership> {
    let told = answers.into_iter().filter_map(|answer| answer.membership.clone());
    told.filter_map(|bytes| Membership::decode(bytes).ok()).max_by_key(|m| m.index)
}

async fn configuration(other: &Member, timeout: Duration) -> Option<OmConfigurationResponse> {
    call(other, "getOMConfiguration", &OmConfigurationRequest {}, timeout).await.ok()
}

async fn call<A: Message + Default>(
    other: &Member,
    name: &str,
    request: &impl Message,
    timeout: Duration,
) -> Result<A, CallError> {
    let options = ClientOptions { connections: 1, ..ClientOptions::default() };
    let client = Client::new(other.rpc.connect().to_string(), options);
    let call = OmAdminCall {
        method: name.to_owned(),
        user: "om".to_owned(),
        body: Bytes::from(request.encode_to_vec()),
    };
    framed::message::call(&client, method::OM_ADMIN, &call, timeout).await
}
