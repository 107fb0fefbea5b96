//! `o3 why datanode`.

use clap::Args;
use client::ScmClient;
use config::Configuration;
use proto::hdds::DatanodeUsageInfoProto;
use service::readable_bytes;

use super::answer::some_of;
use super::{Answer, KnownNode, known_nodes};
use crate::ShellError;
use crate::admin::datanode::{Progress, progress_of_all};
use crate::admin::scm_client::ScmArgs;

/// Maximum number of containers listed.
const NAMED: usize = 10;

/// Explain the state of a DataNode.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 why datanode host7\n  o3 why datanode 10.0.0.7 --json")]
pub struct Datanode {
    /// Its id, host name or address.
    node: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// State of a DataNode in SCM.
struct Facts {
    node: KnownNode,
    usage: Option<DatanodeUsageInfoProto>,
    /// For a node that is leaving: its progress, and the containers that block it, by kind.
    leaving: Option<(Progress, Vec<(String, Vec<String>)>)>,
}

/// Runs the command.
pub(super) async fn run(args: Datanode, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let named = |node: &KnownNode| {
        let d = &node.details;
        d.id.to_string() == args.node || d.host == args.node || d.ip == args.node
    };
    let mut nodes: Vec<KnownNode> = known_nodes(&scm).await?.into_iter().filter(named).collect();
    if nodes.len() > 1 {
        let ids: Vec<_> = nodes.iter().map(|node| node.details.id.to_string()).collect();
        let message = format!("{} are {} DataNodes: {}", args.node, ids.len(), ids.join(", "));
        return Err(ShellError::Usage(message));
    }
    let Some(node) = nodes.pop() else {
        return Err(ShellError::Refused(format!("SCM has no DataNode {}", args.node)));
    };
    let about = format!("datanode {}", node.details.id);
    let facts = gather(&scm, node).await?;
    explain(&facts).print(&about, args.json)
}

async fn gather(scm: &ScmClient, node: KnownNode) -> Result<Facts, ShellError> {
    let usage = scm.usage_of_node(node.details.id).await?.into_iter().next();
    let leaves = matches!(node.operational, "DECOMMISSIONING" | "ENTERING_MAINTENANCE");
    let leaving = if leaves {
        let progress = progress_of_all(&scm.metrics_json().await?)?;
        let progress = progress.get(&node.details.id.to_string()).cloned().unwrap_or_default();
        let containers = scm.containers_of_leaving_node(&node.details).await?;
        let names = containers
            .into_iter()
            .map(|(kind, ids)| (kind, ids.iter().map(ToString::to_string).collect::<Vec<_>>()));
        Some((progress, names.collect()))
    } else {
        None
    };
    Ok(Facts { node, usage, leaving })
}

fn explain(facts: &Facts) -> Answer {
    let mut answer = Answer::default();
    let (node, d) = (&facts.node, &facts.node.details);
    let (host, health, operational) = (&d.host, node.health, node.operational);
    answer.say(format!(
        "DataNode {host} ({}) in {} is {health} and {operational}.",
        d.id, d.network_location
    ));
    if let Some(usage) = facts.usage.as_ref().filter(|_| health != "DEAD") {
        let bytes = |n: Option<i64>| readable_bytes(u64::try_from(n.unwrap_or(0)).unwrap_or(0));
        answer.say(format!(
            "Containers: {}, pipelines: {}; {} of {} are used, {} are left.",
            usage.container_count(),
            usage.pipeline_count(),
            bytes(usage.used),
            bytes(usage.capacity),
            bytes(usage.remaining)
        ));
    }
    match health {
        "STALE" => {
            answer.say(
                "SCM has received no heartbeat for longer than ozone.scm.stale.node.interval: it receives \
                 no new blocks, and its pipelines are closed.",
            );
            answer.wait_for(
                "its next heartbeat; without one it is dead after ozone.scm.dead.node.interval",
            );
        }
        "DEAD" => {
            answer.say(
                "SCM has received no heartbeat for longer than ozone.scm.dead.node.interval: its \
                 replicas do not count, and are recreated elsewhere.",
            );
            answer.wait_for("its restart, after which its replicas count again");
        }
        _ => {}
    }
    let failed = &node.wire.failed_volumes;
    if !failed.is_empty() {
        answer.say(format!(
            "{} of its {} disks have failed: {}.",
            failed.len(),
            node.wire.total_volume_count(),
            some_of(failed, NAMED)
        ));
        answer.wait_for("their replacement and a restart; their data is repaired in the meantime");
    }
    if let Some((progress, containers)) = &facts.leaving {
        leaving(operational, progress, containers, &mut answer);
    }
    answer
}

fn leaving(
    operational: &str,
    progress: &Progress,
    containers: &[(String, Vec<String>)],
    answer: &mut Answer,
) {
    let until = match operational {
        "DECOMMISSIONING" => "all its replicas are elsewhere",
        _ => "enough of its replicas are elsewhere",
    };
    answer.say(format!("It leaves when {until}."));
    progress.lines().into_iter().for_each(|line| match line.strip_prefix("Waits for: ") {
        Some(what) => answer.wait_for(what),
        None => answer.say(format!("{line}.")),
    });
    for (kind, ids) in containers.iter().filter(|(_, ids)| !ids.is_empty()) {
        answer.say(format!("{kind}: containers {}.", some_of(ids, NAMED)));
    }
}

#[cfg(test)]
mod tests {
    use proto::hdds::{Node, NodeOperationalState, NodeState};
    use types::{DatanodeDetails, DatanodeId};

    use super::*;

    fn facts(health: NodeState, operational: NodeOperationalState) -> Facts {
        let id = DatanodeId(uuid::Uuid::from_u128(7));
        let mut details = DatanodeDetails::new(id, "10.0.0.7", "host7");
        details.network_location = "/rack1".into();
        let wire = Node {
            node_id: details.to_wire(),
            node_states: vec![health as i32],
            node_operational_states: vec![operational as i32],
            ..Default::default()
        };
        Facts { node: KnownNode::of(wire).unwrap(), usage: None, leaving: None }
    }

    #[test]
    fn a_healthy_node_waits_for_nothing() {
        let mut facts = facts(NodeState::Healthy, NodeOperationalState::InService);
        let answer = explain(&facts);
        assert!(answer.says[0].starts_with("DataNode host7 (00000000"), "{answer:?}");
        assert!(answer.says[0].ends_with("in /rack1 is HEALTHY and IN_SERVICE."), "{answer:?}");
        assert!(answer.waits_for.is_empty());
        facts.node.wire.failed_volumes = vec!["/d1".into()];
        facts.node.wire.total_volume_count = Some(3);
        let answer = explain(&facts);
        assert_eq!(answer.says[1], "1 of its 3 disks have failed: /d1.");
        assert_eq!(answer.waits_for.len(), 1);
    }

    #[test]
    fn a_node_that_is_not_heard_of_says_since_when() {
        let stale = explain(&facts(NodeState::Stale, NodeOperationalState::InService));
        assert!(stale.says[1].contains("ozone.scm.stale.node.interval"), "{stale:?}");
        assert!(stale.waits_for[0].starts_with("its next heartbeat"), "{stale:?}");
        let dead = explain(&facts(NodeState::Dead, NodeOperationalState::InService));
        assert!(dead.says[1].contains("ozone.scm.dead.node.interval"), "{dead:?}");
        assert!(dead.waits_for[0].starts_with("its restart"));
    }

    #[test]
    fn a_node_that_leaves_says_what_it_waits_for() {
        let mut facts = facts(NodeState::Healthy, NodeOperationalState::Decommissioning);
        let progress = Progress {
            blocked_by: Some("container 7 is queued for copying".into()),
            ..Progress::default()
        };
        let containers =
            vec![("UnderReplicated".into(), vec!["#7".into()]), ("Unclosed".into(), vec![])];
        facts.leaving = Some((progress, containers));
        let answer = explain(&facts);
        assert_eq!(answer.says[1], "It leaves when all its replicas are elsewhere.");
        assert_eq!(answer.waits_for, ["container 7 is queued for copying"]);
        assert_eq!(answer.says.last().unwrap(), "UnderReplicated: containers #7.");
    }
}
