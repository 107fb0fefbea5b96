//! Erasure coded containers to put rules to the test.

use placement::replica::ec_count::EcReplicaCount;
use placement::{Change, Cluster, Health, Order, OrderKind, Replica, ReplicaState};
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId, PipelineId, ReplicationConfig};

use crate::fixture::*;

pub const RS_3_2: &str = "rs-3-2-1024k";

pub fn ec(text: &str) -> ReplicationConfig {
    ReplicationConfig::parse("EC", text).unwrap()
}

/// Nodes 1 to `nodes`, in turn in one of `racks` racks.
pub fn in_racks(nodes: u128, racks: u128) -> Cluster {
    let mut cluster = cluster(0, settings());
    (1..=nodes).for_each(|n| register_in(&mut cluster, n, &format!("/rack{}", n % racks), START));
    cluster
}

pub fn register_in(cluster: &mut Cluster, n: u128, rack: &str, now: u64) {
    let mut details = details(n);
    details.network_location = rack.to_owned();
    cluster.register(details, disks(1), &[], now);
}

pub fn make(cluster: &mut Cluster, config: ReplicationConfig, n: u128) -> PipelineId {
    let id = pipeline(n);
    let plan = cluster.plan_ec_pipeline((config, types::StorageType::Disk), &[], id).unwrap();
    let record = cluster.build_pipeline(&plan, id, START);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    id
}

/// The replica of an index, on the node that the pipeline has for it.
pub fn indexed(cluster: &Cluster, of: PipelineId, index: u32, state: ReplicaState) -> Replica {
    let record = &cluster.pipelines.get(of).unwrap().record;
    let member = record.replica_indexes.iter().position(|i| *i == index).unwrap();
    part(record.members[member].id, index, state)
}

/// A replica of that index.
pub fn part(node: DatanodeId, index: u32, state: ReplicaState) -> Replica {
    Replica { node, origin: node, replica_index: index, ..replica(1, state, 5, 0) }
}

/// Container `n`, closed, of that replication, with all its replicas.
pub fn closed_as(cluster: &mut Cluster, config: &str, n: u64) -> (PipelineId, ContainerId) {
    let config = ec(config);
    let id = make(cluster, config, n.into());
    let container = open_container(cluster, n, id);
    let decision = cluster.finalize_container(container, START);
    apply(cluster, &decision);
    for index in 1..=config.required_nodes() {
        let replica = indexed(cluster, id, index, ReplicaState::Closed);
        report(cluster, container, replica, START);
    }
    assert_eq!(state(cluster, container), LifeCycleState::Closed);
    (id, container)
}

/// Container 1, closed, of rs-3-2, with all its replicas.
pub fn closed(cluster: &mut Cluster) -> (PipelineId, ContainerId) {
    closed_as(cluster, RS_3_2, 1)
}

/// A node reports its replica of that index.
pub fn say(cluster: &mut Cluster, id: ContainerId, on: DatanodeId, index: u32, s: ReplicaState) {
    report(cluster, id, part(on, index, s), START);
}

/// Nodes that reported a good replica of that index.
pub fn nodes_of(cluster: &Cluster, id: ContainerId, index: u32) -> Vec<DatanodeId> {
    let of = cluster.replicas.of(id).iter();
    let of = of.filter(|r| r.replica_index == index && r.state == ReplicaState::Closed);
    of.map(|r| r.node).collect()
}

pub fn node_of(cluster: &Cluster, id: ContainerId, index: u32) -> DatanodeId {
    let nodes = nodes_of(cluster, id, index);
    assert_eq!(nodes.len(), 1, "index {index}: {nodes:?}");
    nodes[0]
}

/// The nodes that have no replica of it.
pub fn free_nodes(cluster: &Cluster, id: ContainerId) -> Vec<DatanodeId> {
    let nodes = cluster.nodes.iter().map(|n| n.details.id);
    nodes.filter(|node| cluster.replicas.on(id, *node).is_none()).collect()
}

/// The replica of that index is lost.
pub fn lose(cluster: &mut Cluster, id: ContainerId, index: u32) -> DatanodeId {
    let on = node_of(cluster, id, index);
    say(cluster, id, on, index, ReplicaState::Deleted);
    on
}

pub fn count(cluster: &Cluster, id: ContainerId) -> EcReplicaCount {
    cluster.ec_replica_count(cluster.containers.get(id).unwrap()).unwrap()
}

pub fn health(cluster: &Cluster, id: ContainerId) -> &'static str {
    cluster.health(cluster.containers.get(id).unwrap())
}

/// Heartbeats of all nodes that are HEALTHY, and a review of all containers.
pub fn repair(cluster: &mut Cluster, now: u64) -> Vec<Order> {
    let healthy = cluster.nodes.iter().filter(|n| n.health == Health::Healthy);
    for id in healthy.map(|n| n.details.id).collect::<Vec<_>>() {
        cluster.heartbeat(id, now);
    }
    review(cluster, now)
}

/// A review of all containers.
pub fn review(cluster: &mut Cluster, now: u64) -> Vec<Order> {
    let repairs = cluster.repair_containers(ContainerId(0), 1_000, now);
    assert_eq!(repairs.next, None);
    repairs.decision.orders
}

/// Heartbeats of all nodes but this one until it is not HEALTHY.
pub fn silence(cluster: &mut Cluster, silent: DatanodeId, age: u64) -> u64 {
    let heard = cluster.nodes.iter().map(|n| n.last_heartbeat).max().unwrap();
    let later = heard + age;
    let others: Vec<_> = cluster.nodes.iter().map(|n| n.details.id).collect();
    for id in others.into_iter().filter(|id| *id != silent) {
        cluster.heartbeat(id, later);
    }
    let (_, decision) = cluster.watch_nodes(later);
    apply(cluster, &decision);
    later
}

/// A node is silent until it is STALE.
pub fn make_stale(cluster: &mut Cluster, silent: DatanodeId) -> u64 {
    silence(cluster, silent, cluster.settings.stale_after)
}

/// A node is silent until it is DEAD.
pub fn make_dead(cluster: &mut Cluster, silent: DatanodeId) -> u64 {
    silence(cluster, silent, cluster.settings.dead_after)
}

/// Time of the first check of containers that were closed at the start.
pub fn soon(cluster: &Cluster) -> u64 {
    START + cluster.settings.resend_after
}

/// An order to reconstruct.
#[derive(Debug)]
pub struct Reconstruction {
    pub id: ContainerId,
    pub sources: Vec<(DatanodeId, u32)>,
    pub targets: Vec<(DatanodeId, u32)>,
}

impl Reconstruction {
    pub fn indexes(&self) -> Vec<u32> {
        self.targets.iter().map(|(_, index)| *index).collect()
    }
}

/// The order, which must be consistent.
pub fn reconstruction(order: &Order) -> Reconstruction {
    let OrderKind::ReconstructEcContainer { id, sources, targets } = &order.kind else {
        panic!("{order:?}")
    };
    assert_eq!(order.node, targets[0].0, "the first target coordinates");
    let mut nodes: Vec<_> = sources.iter().chain(targets).map(|(node, _)| *node).collect();
    let mut indexes: Vec<_> = sources.iter().chain(targets).map(|(_, index)| *index).collect();
    let all = nodes.len();
    nodes.sort_unstable();
    nodes.dedup();
    indexes.sort_unstable();
    indexes.dedup();
    assert_eq!((nodes.len(), indexes.len()), (all, all), "each once: {order:?}");
    Reconstruction { id: *id, sources: sources.clone(), targets: targets.clone() }
}

/// The source, the target of an order to copy.
pub fn copy(order: &Order) -> (DatanodeId, DatanodeId) {
    let OrderKind::ReplicateContainer { target, .. } = order.kind else { panic!("{order:?}") };
    (order.node, target)
}

/// Carries out the order.
pub fn arrive(cluster: &mut Cluster, reconstruction: &Reconstruction) {
    for (node, index) in &reconstruction.targets {
        say(cluster, reconstruction.id, *node, *index, ReplicaState::Closed);
    }
}
