//! Pipelines, containers and replicas of erasure coded block groups.

use std::collections::BTreeMap;

use placement::block::{Exclude, Wish};
use placement::{Change, Cluster, Decision, OrderKind, Replica, ReplicaState};
use proto::hdds::LifeCycleState;
use types::{ContainerId, PipelineId, PipelineState, ReplicationConfig};

use crate::fixture::*;

fn ec(text: &str) -> ReplicationConfig {
    ReplicationConfig::parse("EC", text).unwrap()
}

fn wish(config: ReplicationConfig, exclude: &Exclude) -> Wish<'_> {
    Wish { count: 1, config, owner: OWNER, exclude }
}

fn in_racks(nodes: u128, racks: u128) -> Cluster {
    let mut cluster = cluster(0, settings());
    for n in 1..=nodes {
        let mut details = details(n);
        details.network_location = format!("/rack{}", n % racks);
        cluster.register(details, disks(1), &[], START);
    }
    cluster
}

fn make(cluster: &mut Cluster, config: ReplicationConfig, n: u128) -> PipelineId {
    let id = pipeline(n);
    let plan = cluster.plan_ec_pipeline(config, &[], id).unwrap();
    let record = cluster.build_pipeline(&plan, id, START);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    id
}

/// The replica of an index, on the node that the pipeline has for it.
fn indexed(cluster: &Cluster, of: PipelineId, index: u32, state: ReplicaState) -> Replica {
    let record = &cluster.pipelines.get(of).unwrap().record;
    let member = record.replica_indexes.iter().position(|i| *i == index).unwrap();
    let node = record.members[member].id;
    Replica { node, origin: node, replica_index: index, ..replica(1, state, 5, 0) }
}

/// A closed container of rs-3-2 with all its replicas.
fn closed(cluster: &mut Cluster) -> (PipelineId, ContainerId) {
    let id = make(cluster, ec("rs-3-2-1024k"), 1);
    let container = open_container(cluster, 1, id);
    let decision = cluster.finalize_container(container, START);
    apply(cluster, &decision);
    for index in 1..=5 {
        let replica = indexed(cluster, id, index, ReplicaState::Closed);
        report(cluster, container, replica, START);
    }
    assert_eq!(state(cluster, container), LifeCycleState::Closed);
    (id, container)
}

#[test]
fn the_indexes_of_a_group_are_spread_evenly_over_the_racks() {
    for (config, nodes, racks, most) in
        [("rs-3-2-1024k", 9, 3, 2), ("rs-6-3-1024k", 9, 3, 3), ("rs-3-2-1024k", 5, 1, 5)]
    {
        let cluster = in_racks(nodes, racks);
        for n in 1..20 {
            let plan = cluster.plan_ec_pipeline(ec(config), &[], pipeline(n)).unwrap();
            let mut members = plan.members.clone();
            members.sort_unstable();
            members.dedup();
            assert_eq!(members.len(), ec(config).required_nodes() as usize, "each once");
            let mut racks: BTreeMap<String, usize> = BTreeMap::new();
            for member in members {
                let rack = cluster.nodes.get(member).unwrap().details.network_location.clone();
                *racks.entry(rack).or_default() += 1;
            }
            assert!(racks.values().all(|n| *n <= most), "{config}: {racks:?}");
        }
    }
}

#[test]
fn a_pipeline_takes_writes_at_once_and_has_one_container() {
    let mut cluster = in_racks(5, 1);
    let config = ec("rs-3-2-1024k");
    let none = Exclude::default();
    let empty = cluster.allocate(wish(config, &none));
    assert!(empty.slots.is_empty() && empty.shortage.is_empty() && empty.lacks_pipelines);
    let id = make(&mut cluster, config, 1);
    let entry = cluster.pipelines.get(id).unwrap();
    assert_eq!(entry.record.state, PipelineState::Open);
    assert_eq!(entry.record.replica_indexes, [1, 2, 3, 4, 5]);
    assert_eq!(cluster.order_creation(id, START), Decision::default(), "there is no group");
    assert_eq!(cluster.allocate(wish(config, &none)).shortage, [(id, 1)]);
    let container = open_container(&mut cluster, 1, id);
    let allocation = cluster.allocate(wish(config, &none));
    assert_eq!(allocation.slots[0].container, container);
    assert!(allocation.shortage.is_empty() && allocation.lacks_pipelines);
    // It is closed: so is its pipeline, and the next blocks go to another one.
    let decision = cluster.finalize_container(container, START);
    apply(&mut cluster, &decision);
    let allocation = cluster.allocate(wish(config, &none));
    assert!(allocation.slots.is_empty() && allocation.shortage.is_empty());
    let decision = cluster.scrub_pipelines(START);
    assert_eq!(decision.changes, [Change::ClosePipeline { id, now: START }]);
    apply(&mut cluster, &decision);
    let later = START + cluster.settings.destroy_timeout;
    let decision = cluster.scrub_pipelines(later);
    assert_eq!(decision.changes, [Change::RemovePipeline(id)]);
    assert!(decision.orders.is_empty(), "no node has a group of it");
}

#[test]
fn a_node_that_a_writer_had_trouble_with_is_in_no_new_pipeline_while_there_are_others() {
    let mut cluster = in_racks(6, 1);
    let config = ec("rs-3-2-1024k");
    let id = make(&mut cluster, config, 1);
    open_container(&mut cluster, 1, id);
    let bad = cluster.pipelines.get(id).unwrap().record.members[0].id;
    let exclude = Exclude { datanodes: vec![bad], ..Exclude::default() };
    assert!(cluster.allocate(wish(config, &exclude)).slots.is_empty(), "another one is made first");
    let plan = cluster.plan_ec_pipeline(config, &exclude.datanodes, pipeline(2)).unwrap();
    assert!(!plan.members.contains(&bad));
    // With five nodes there is no other.
    let other = plan.members[0];
    let exclude = Exclude { datanodes: vec![bad, other], ..Exclude::default() };
    assert!(cluster.plan_ec_pipeline(config, &exclude.datanodes, pipeline(3)).is_none());
    assert_eq!(cluster.allocate(wish(config, &exclude)).slots.len(), 1);
}

#[test]
fn a_container_is_closed_with_a_replica_that_has_a_part_of_each_block() {
    let mut cluster = in_racks(5, 1);
    let id = make(&mut cluster, ec("rs-3-2-1024k"), 1);
    let container = open_container(&mut cluster, 1, id);
    let decision = cluster.finalize_container(container, START);
    apply(&mut cluster, &decision);
    for index in [2, 3] {
        let replica = indexed(&cluster, id, index, ReplicaState::Closed);
        report(&mut cluster, container, replica, START);
        assert_eq!(state(&cluster, container), LifeCycleState::Closing, "may be padding alone");
    }
    let replica = indexed(&cluster, id, 4, ReplicaState::Closed);
    report(&mut cluster, container, replica, START);
    assert_eq!(state(&cluster, container), LifeCycleState::Closed);
    // One that comes late is told to close.
    let late = indexed(&cluster, id, 1, ReplicaState::Open);
    let orders = report(&mut cluster, container, late, START);
    assert!(matches!(orders[0].kind, OrderKind::CloseContainer { .. }));
}

#[test]
fn readers_are_told_of_one_node_for_each_index() {
    let mut cluster = in_racks(6, 1);
    let (id, container) = closed(&mut cluster);
    let members = cluster.pipelines.get(id).unwrap().member_ids();
    let sixth = (1..=6).map(node).find(|n| !members.contains(n)).unwrap();
    let twice = indexed(&cluster, id, 2, ReplicaState::Closed);
    report(&mut cluster, container, Replica { node: sixth, ..twice }, START);
    let (_, pipeline) = cluster.locate(container).unwrap();
    let mut indexes = pipeline.replica_indexes.clone();
    indexes.sort_unstable();
    assert_eq!(indexes, [1, 2, 3, 4, 5]);
    assert_eq!(pipeline.members.len(), 5);
    assert_eq!(cluster.health(cluster.containers.get(container).unwrap()), "OVER_REPLICATED");
}

#[test]
fn missing_indexes_are_told_and_nothing_is_deleted_or_copied_for_them() {
    let mut cluster = in_racks(9, 3);
    let (id, container) = closed(&mut cluster);
    let health = |cluster: &Cluster| cluster.health(cluster.containers.get(container).unwrap());
    assert_eq!(health(&cluster), "HEALTHY");
    for (index, now) in
        [(5, "UNDER_REPLICATED"), (1, "UNDER_REPLICATED"), (2, "MISSING_UNDER_REPLICATED")]
    {
        let gone = indexed(&cluster, id, index, ReplicaState::Deleted);
        report(&mut cluster, container, gone, START);
        assert_eq!(health(&cluster), now);
        let repairs = cluster.repair_containers(ContainerId(0), 10, START + 1_000_000);
        assert!(repairs.decision.orders.is_empty(), "{:?}", repairs.decision);
    }
}

#[test]
fn a_node_leaves_when_another_one_has_its_index() {
    let mut cluster = in_racks(6, 1);
    let (id, container) = closed(&mut cluster);
    let leaving = indexed(&cluster, id, 3, ReplicaState::Closed).node;
    let decision = cluster.decommission(leaving, START).unwrap();
    apply(&mut cluster, &decision);
    assert_eq!(cluster.obstacles(leaving).under_replicated, [container]);
    let soon = START + cluster.settings.resend_after;
    let orders = cluster.repair_containers(ContainerId(0), 10, soon).decision.orders;
    let OrderKind::ReplicateContainer { id: copied, target } = orders[0].kind else {
        panic!("{orders:?}")
    };
    assert_eq!((orders[0].node, copied, orders.len()), (leaving, container, 1));
    assert_eq!(cluster.replicas.on(container, target), None);
    let again = cluster.repair_containers(ContainerId(0), 10, soon).decision;
    assert!(again.orders.is_empty(), "it is on its way");
    let copy = indexed(&cluster, id, 3, ReplicaState::Closed);
    report(&mut cluster, container, Replica { node: target, ..copy }, soon);
    assert!(cluster.obstacles(leaving).under_replicated.is_empty());
    // For a while the group does without one of five, not without two.
    let away = indexed(&cluster, id, 1, ReplicaState::Closed).node;
    let decision = cluster.begin_maintenance(away, 0, soon).unwrap();
    apply(&mut cluster, &decision);
    assert!(cluster.obstacles(away).under_replicated.is_empty());
    let second = indexed(&cluster, id, 2, ReplicaState::Closed).node;
    let decision = cluster.begin_maintenance(second, 0, soon).unwrap();
    apply(&mut cluster, &decision);
    assert_eq!(cluster.obstacles(second).under_replicated, [container]);
}
