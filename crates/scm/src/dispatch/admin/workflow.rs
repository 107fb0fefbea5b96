//! Taking DataNodes out of service and back. Each host that cannot be taken is named with the
//! reason.

use std::collections::BTreeSet;

use placement::node::{DestinationChoice, DestinationError, Obstacles, ServeError};
use placement::{Change, Cluster, Decision, Health};
use proto::container_location::*;
use proto::hdds::LifeCycleState;
use types::{DatanodeDetails, DatanodeId, OperationalState, PortName};

use crate::core::Core;
use crate::error::RequestError;
use crate::service_names as names;

type Failed = Vec<DatanodeAdminErrorResponseProto>;

/// DecommissionNodes.
pub async fn decommission(
    core: &Core,
    r: &DecommissionNodesRequestProto,
) -> Result<DecommissionNodesResponseProto, RequestError> {
    let unknown = |host: &str| format!("{host}: Name or service not known");
    let (verb, goal) = ("decommission", "decommission");
    let leaving = Leaving { verb, goal, force: r.force(), to: r.to.as_deref() };
    let begin = |cluster: &mut Cluster, id, now| cluster.decommission(id, now);
    let failed_hosts = change(core, &r.hosts, unknown, Some(leaving), begin).await?;
    Ok(DecommissionNodesResponseProto { failed_hosts })
}

/// RecommissionNodes.
pub async fn recommission(
    core: &Core,
    r: &RecommissionNodesRequestProto,
) -> Result<RecommissionNodesResponseProto, RequestError> {
    let begin = |cluster: &mut Cluster, id, now| cluster.recommission(id, now);
    let failed_hosts = change(core, &r.hosts, str::to_owned, None, begin).await?;
    Ok(RecommissionNodesResponseProto { failed_hosts })
}

/// StartMaintenanceNodes.
pub async fn maintenance(
    core: &Core,
    r: &StartMaintenanceNodesRequestProto,
) -> Result<StartMaintenanceNodesResponseProto, RequestError> {
    let hours = r.end_in_hours().max(0) as u64;
    let (verb, goal) = ("start maintenance for", "maintenance");
    let leaving = Leaving { verb, goal, force: r.force(), to: r.to.as_deref() };
    let begin = |cluster: &mut Cluster, id, now: u64| {
        let expiry = if hours == 0 {
            0
        } else {
            i64::try_from((now / 1_000).saturating_add(hours.saturating_mul(3_600)))
                .unwrap_or(i64::MAX)
        };
        cluster.begin_maintenance(id, expiry, now)
    };
    let failed_hosts = change(core, &r.hosts, str::to_owned, Some(leaving), begin).await?;
    Ok(StartMaintenanceNodesResponseProto { failed_hosts })
}

/// GetContainersOnDecomNode: what keeps a node from leaving.
pub fn containers(
    core: &Core,
    r: &GetContainersOnDecomNodeRequestProto,
) -> Result<GetContainersOnDecomNodeResponseProto, RequestError> {
    let id = DatanodeDetails::from_wire(&r.datanode_details)?.id;
    let cluster = core.cluster();
    if cluster.nodes.get(id).is_none() {
        return Err(RequestError::NodeNotFound(format!("Datanode with UUID {id} not found")));
    }
    let Obstacles { under_replicated, unclosed, .. } = cluster.obstacles(id);
    let list = |name: &str, ids: Vec<types::ContainerId>| ContainersOnDecomNodeProto {
        name: name.to_owned(),
        id: ids.iter().map(|id| proto::hdds::ContainerId { id: id.0 }).collect(),
    };
    Ok(GetContainersOnDecomNodeResponseProto {
        containers_on_decom_node: vec![
            list("UnderReplicated", under_replicated),
            list("UnClosed", unclosed),
        ],
    })
}

/// Reasons to refuse a change of a host's operational state; the words are Ozone's.
#[derive(Debug, thiserror::Error)]
enum WorkflowError {
    #[error("{0}")]
    UnknownHost(String),
    #[error(
        "Host {0} is running a datanode registered with SCM, but the port number doesn't match. \
         Please check the port number."
    )]
    Port(String),
    #[error(
        "Host {0} is running multiple datanodes registered with SCM, but no port numbers match. \
         Please check the port number."
    )]
    SeveralNodes(String),
    #[error(
        "Host {0} has multiple datanodes registered with SCM. All have identical ports, but none \
         have a newest heartbeat."
    )]
    SeveralIdentities(String),
    #[error(
        "Insufficient nodes. Tried to {verb} {tried} nodes out of {serving} IN-SERVICE HEALTHY and \
         {others} not IN-SERVICE or not HEALTHY nodes. Cannot {} as a minimum of {minimum} \
         IN-SERVICE HEALTHY nodes are required to maintain replication after {goal}. ",
        if *goal == "maintenance" { "enter maintenance mode" } else { "decommission" }
    )]
    InsufficientNodes {
        verb: &'static str,
        goal: &'static str,
        tried: usize,
        serving: usize,
        others: usize,
        minimum: usize,
    },
    #[error(transparent)]
    State(#[from] ServeError),
    #[error(transparent)]
    Destination(#[from] DestinationError),
}

/// Parameters of nodes that leave.
struct Leaving<'a> {
    /// As it is worded when there are too few nodes for it.
    verb: &'static str,
    goal: &'static str,
    /// Also when there are too few.
    force: bool,
    /// Destination of the replicas: a host, [`AUTO`] or [`ANY`].
    to: Option<&'a str>,
}

/// To one node that SCM chooses.
const AUTO: &str = "auto";
/// To as many nodes as take them.
const ANY: &str = "any";

async fn change(
    core: &Core,
    hosts: &[String],
    unknown: impl Fn(&str) -> String,
    leaving: Option<Leaving<'_>>,
    begin: impl Fn(&mut Cluster, DatanodeId, u64) -> Result<Decision, ServeError>,
) -> Result<Failed, RequestError> {
    let now = core.clock.now();
    let mut failed = Failed::new();
    let mut decision = Decision::default();
    let mut ids = Vec::new();
    let mut destinations = Vec::new();
    {
        let cluster = core.cluster();
        for host in hosts {
            match find(&cluster, host, &unknown) {
                Ok(id) => ids.push((host, id)),
                Err(error) => failed.push(refusal(host, &error)),
            }
        }
        if let Some(leaving) = leaving {
            if !leaving.force
                && let Err(error) = enough_stay(&cluster, &ids, &leaving)
            {
                failed.push(refusal("AllHosts", &error));
                return Ok(failed);
            }
            match plan_destinations(&cluster, &ids, leaving.to, &unknown) {
                Ok(changes) => destinations = changes,
                Err(error) => {
                    failed.push(refusal(leaving.to.unwrap_or("AllHosts"), &error));
                    return Ok(failed);
                }
            }
        }
    }
    if !destinations.is_empty() {
        let refusals = core.propose(destinations).await?;
        if let Some(why) = refusals.into_iter().flatten().next() {
            return Err(RequestError::Refused(why.to_string()));
        }
    }
    {
        let mut cluster = core.cluster();
        for (host, id) in ids {
            match begin(&mut cluster, id, now) {
                Ok(more) => decision.merge(more),
                Err(error) => failed.push(refusal(host, &error.into())),
            }
        }
    }
    core.carry_out(decision);
    for name in [names::PIPELINE_CREATOR, names::REPLICATION_MANAGER, names::ADMIN_MONITOR] {
        core.services.wake(name);
    }
    Ok(failed)
}

/// Destinations of these nodes' replicas; by default as configured.
fn plan_destinations(
    cluster: &Cluster,
    leaving: &[(&String, DatanodeId)],
    to: Option<&str>,
    unknown: impl Fn(&str) -> String,
) -> Result<Vec<Change>, WorkflowError> {
    let wish = match to {
        None if cluster.settings.replication.point_to_point => DestinationChoice::Auto,
        None | Some(ANY) => DestinationChoice::Any,
        Some(AUTO) => DestinationChoice::Auto,
        Some(host) => DestinationChoice::Node(find(cluster, host, unknown)?),
    };
    let ids: Vec<_> = leaving.iter().map(|(_, id)| *id).collect();
    Ok(cluster.plan_destinations(&ids, wish)?)
}

fn refusal(host: &str, error: &WorkflowError) -> DatanodeAdminErrorResponseProto {
    DatanodeAdminErrorResponseProto { host: host.to_owned(), error: error.to_string() }
}

/// The node on a host, with an optional port if a host has several nodes, or the node with an id. A
/// DataNode whose disks were replaced registers under another id on the same port: then the most
/// recently seen id is returned, as in Ozone's `NodeDecommissionManager`.
fn find(
    cluster: &Cluster,
    host: &str,
    unknown: impl Fn(&str) -> String,
) -> Result<DatanodeId, WorkflowError> {
    if let Ok(id) = host.parse::<DatanodeId>()
        && cluster.nodes.get(id).is_some()
    {
        return Ok(id);
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, port.parse::<u16>().ok()),
        _ => (host, None),
    };
    let here: Vec<_> =
        cluster.nodes.iter().filter(|n| n.details.host == name || n.details.ip == name).collect();
    let fits = |n: &&&placement::Node| {
        port.is_none_or(|port| n.details.ports.iter().any(|p| p.value == port))
    };
    let fitting: Vec<_> = here.iter().filter(fits).collect();
    match (&here[..], &fitting[..]) {
        ([], _) => Err(WorkflowError::UnknownHost(unknown(host))),
        (_, [node]) => Ok(node.details.id),
        ([_], []) => Err(WorkflowError::Port(host.to_owned())),
        (_, [first, others @ ..]) if others.iter().all(|n| same_process(first, n)) => {
            newest(&fitting).ok_or_else(|| WorkflowError::SeveralIdentities(host.to_owned()))
        }
        _ => Err(WorkflowError::SeveralNodes(host.to_owned())),
    }
}

/// Returns `true` if two nodes of one host have a port in common: only one can run.
fn same_process(a: &placement::Node, b: &placement::Node) -> bool {
    [PortName::Ratis, PortName::Native].iter().any(|name| {
        let port = a.details.port(name);
        port.is_some() && port == b.details.port(name)
    })
}

/// The node whose heartbeat is later than that of every other.
fn newest(nodes: &[&&placement::Node]) -> Option<DatanodeId> {
    let last = nodes.iter().map(|n| n.last_heartbeat).max()?;
    let mut newest = nodes.iter().filter(|n| n.last_heartbeat == last);
    match (newest.next(), newest.next()) {
        (Some(node), None) => Some(node.details.id),
        _ => None,
    }
}

/// Returns `true` if enough nodes stay for the replicas of the containers on those that leave.
fn enough_stay(
    cluster: &Cluster,
    leaving: &[(&String, DatanodeId)],
    wish: &Leaving<'_>,
) -> Result<(), WorkflowError> {
    let serves = |n: &&placement::Node| {
        n.health == Health::Healthy && n.details.op_state == OperationalState::InService
    };
    let ids: BTreeSet<_> = leaving
        .iter()
        .map(|(_, id)| *id)
        .filter(|id| cluster.nodes.get(*id).is_some_and(|n| serves(&n)))
        .collect();
    let serving = cluster.nodes.iter().filter(serves).count();
    let gone = |s| matches!(s, LifeCycleState::Deleted | LifeCycleState::Deleting);
    // Maintenance only needs the minimum to stay online.
    let needed = |c: &placement::Container| {
        let required = c.config.required_nodes() as usize;
        match wish.goal {
            "maintenance" => {
                required.min(cluster.settings.replication.maintenance_minimum as usize)
            }
            _ => required,
        }
    };
    let minimum = ids
        .iter()
        .flat_map(|id| cluster.replicas.on_node(*id))
        .filter_map(|c| cluster.containers.get(c))
        .filter(|c| !gone(c.state))
        .map(needed)
        .max()
        .unwrap_or(0);
    if serving.saturating_sub(ids.len()) >= minimum {
        return Ok(());
    }
    let (tried, others) = (ids.len(), cluster.nodes.len() - serving);
    let Leaving { verb, goal, .. } = *wish;
    Err(WorkflowError::InsufficientNodes { verb, goal, tried, serving, others, minimum })
}
