//! The leader of an SCM service.

use client::ScmClient;
use config::{Configuration, ScmNode, ScmService};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use proto::hdds::GetScmInfoResponseProto;

use crate::ShellError;
use crate::admin::scm_client::ScmArgs;

/// Queries the state of all SCMs of a service in parallel; returns the first leader.
///
/// # Errors
/// If none is the leader.
pub(super) async fn find<'a>(
    service: &'a ScmService,
    conf: &Configuration,
) -> Result<&'a ScmNode, ShellError> {
    let ask = async |node: &'a ScmNode| {
        let client: ScmClient = ScmArgs::of(&node.client).client(conf);
        (node, client.scm_info().await)
    };
    let mut answers: FuturesUnordered<_> = service.nodes.iter().map(ask).collect();
    let mut others = Vec::new();
    while let Some((node, answer)) = answers.next().await {
        match answer {
            Ok(info) if leads(&info) => return Ok(node),
            Ok(_) => others.push(format!("{} [{}] does not lead", node.client, node.node_id)),
            Err(error) => others.push(format!("{} [{}]: {error}", node.client, node.node_id)),
        }
    }
    Err(ShellError::Refused(format!("Could not determine leader node. {}", others.join(", "))))
}

/// Returns a client of the given SCM, or else of the leader.
///
/// # Errors
/// As [`find`].
pub(crate) async fn or_named(
    args: &ScmArgs,
    conf: &Configuration,
) -> Result<ScmClient, ShellError> {
    match (&args.scm, conf.scm_service()) {
        (None, Some(service)) => {
            let leader = find(&service, conf).await?;
            Ok(ScmArgs::of(&leader.client).client(conf))
        }
        _ => Ok(args.client(conf)),
    }
}

/// Returns `true` if the SCM with this response is the leader: a role is
/// `host:ratisPort:ROLE:scmId:ip`.
fn leads(info: &GetScmInfoResponseProto) -> bool {
    info.peer_roles.iter().any(|role| {
        let mut parts = role.split(':').skip(2);
        parts.next() == Some("LEADER") && parts.next() == Some(info.scm_id.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_scm_leads_when_it_is_the_leader_of_its_own_list() {
        let roles = ["h:1:LEADER:a:127.0.0.1", "h:2:FOLLOWER:b:127.0.0.1"].map(String::from);
        let info = |id: &str| GetScmInfoResponseProto {
            scm_id: id.into(),
            peer_roles: roles.to_vec(),
            ..Default::default()
        };
        assert!(leads(&info("a")));
        assert!(!leads(&info("b")) && !leads(&info("c")));
    }
}
