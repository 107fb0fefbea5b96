//! The identity of this SCM, and its metrics as JSON.

use multiraft::MemberRole;
use proto::container_location::GetMetricsResponseProto;
use proto::hdds::GetScmInfoResponseProto;

use crate::core::Core;
use crate::members::Member;

/// GetScmInfo: the ids, and the role of each SCM as `host:raftPort:ROLE:scmId:ip`.
pub fn scm_info(core: &Core) -> GetScmInfoResponseProto {
    let membership = core.group().membership();
    let role = |leads: bool| if leads { "LEADER" } else { "FOLLOWER" };
    let leader = core.group().leader().leader;
    let id = &core.identity;
    let peer_roles = match &id.members {
        // A single SCM has no Raft port; the port shown is that for clients.
        None => {
            let role = role(core.group().is_leader());
            vec![format!("{}:{}:{role}:{}:{}", id.host, id.port, id.scm_id, id.ip)]
        }
        Some(members) => {
            let all = members.all();
            let line = |m: &Member| {
                let raft = &m.node.raft;
                let role = match membership.find(m.scm_id)?.role {
                    MemberRole::Voter => role(leader == Some(m.scm_id)),
                    MemberRole::Joining => "LEARNER",
                    MemberRole::Listener => "LISTENER",
                };
                let ip = crate::resolve::resolve(raft);
                Some(format!("{}:{}:{role}:{}:{ip}", raft.host, raft.port, m.scm_id))
            };
            all.iter().filter_map(line).collect()
        }
    };
    GetScmInfoResponseProto {
        cluster_id: id.cluster_id.clone(),
        scm_id: id.scm_id.to_string(),
        peer_roles,
        membership: id.members.is_some().then(|| membership.encode()),
        places: core.scms_newer_than(0),
    }
}

/// GetMetrics: counts of nodes, pipelines and containers as a JSON document in JMX's shape.
pub fn metrics(core: &Core, query: Option<&str>) -> GetMetricsResponseProto {
    let cluster = core.cluster();
    let mut bean = serde_json::Map::new();
    bean.insert(
        "name".into(),
        query.unwrap_or("Hadoop:service=StorageContainerManager,name=SCMMetrics").into(),
    );
    for state in placement::replica::health::STATES {
        let name = format!("Num{}Containers", camel(state.as_str_name()));
        bean.insert(name, cluster.containers.count(state).into());
    }
    for health in [placement::Health::Healthy, placement::Health::Stale, placement::Health::Dead] {
        let name = format!("InService{}Nodes", camel(&health.to_string()));
        bean.insert(name, cluster.nodes.count(health).into());
    }
    bean.insert("NumPipelines".into(), cluster.pipelines.len().into());
    leaving(&cluster, &mut bean);
    let document = serde_json::json!({ "beans": [bean] });
    GetMetricsResponseProto { metrics_json: Some(document.to_string()) }
}

/// Nodes that leave service, as in Ozone's `NodeDecommissionMetrics`.
fn leaving(cluster: &placement::Cluster, bean: &mut serde_json::Map<String, serde_json::Value>) {
    let nodes = cluster.nodes.iter().filter_map(|n| Some((n, n.leaving_since?)));
    let mut count = 0;
    for (at, (node, since)) in nodes.enumerate() {
        let (obstacles, at) = (cluster.obstacles(node.details.id), at + 1);
        bean.insert(format!("tag.datanode.{at}"), node.details.host.clone().into());
        for (name, value) in [
            ("PipelinesWaitingToCloseDN", obstacles.pipelines.len()),
            ("UnderReplicatedDN", obstacles.under_replicated.len()),
            ("SufficientlyReplicatedDN", obstacles.done),
            ("UnclosedContainersDN", obstacles.unclosed.len()),
        ] {
            bean.insert(format!("{name}.{at}"), value.into());
        }
        bean.insert(format!("StartTimeDN.{at}"), since.into());
        // Not in Ozone: the node, its progress, and its obstacles.
        let progress = cluster.leaving_progress(node.details.id);
        bean.insert(format!("UuidDN.{at}"), node.details.id.to_string().into());
        bean.insert(format!("BytesDoneDN.{at}"), progress.bytes_done.into());
        bean.insert(format!("BytesLeftDN.{at}"), progress.bytes_left.into());
        if let Some(to) = cluster.destination(node.details.id) {
            bean.insert(format!("DestinationDN.{at}"), to.to_string().into());
        }
        if let Some(rate) = progress.bytes_per_second {
            bean.insert(format!("BytesPerSecondDN.{at}"), rate.into());
        }
        if let Some(left) = progress.left {
            bean.insert(format!("MillisLeftDN.{at}"), left.into());
        }
        if let Some(blocked) = progress.blocked_by {
            bean.insert(format!("BlockedByDN.{at}"), blocked.to_string().into());
        }
        count = at;
    }
    bean.insert("DecommissioningMaintenanceNodesTotal".into(), count.into());
}

/// `QUASI_CLOSED` as `QuasiClosed`.
fn camel(name: &str) -> String {
    let word = |w: &str| {
        let mut letters = w.chars();
        let first = letters.next().into_iter();
        first.chain(letters.flat_map(char::to_lowercase)).collect::<String>()
    };
    name.split('_').map(word).collect()
}
