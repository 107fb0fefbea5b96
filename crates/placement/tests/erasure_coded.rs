//! Pipelines, containers and replicas of erasure coded block groups.

use std::collections::BTreeMap;

use placement::block::{Exclude, Wish};
use placement::container::Usage;
use placement::{Change, Decision, OrderKind, Replica, ReplicaState};
use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{PipelineState, ReplicationConfig, StorageType};

use crate::ec_fixture::*;
use crate::fixture::*;

fn wish(config: ReplicationConfig, exclude: &Exclude) -> Wish<'_> {
    Wish { count: 1, config, storage_types: &StorageType::ANY, waits: false, owner: OWNER, exclude }
}

#[test]
fn the_indexes_of_a_group_are_spread_evenly_over_the_racks() {
    for (config, nodes, racks, most) in
        [("rs-3-2-1024k", 9, 3, 2), ("rs-6-3-1024k", 9, 3, 3), ("rs-3-2-1024k", 5, 1, 5)]
    {
        let cluster = in_racks(nodes, racks);
        for n in 1..20 {
            let plan = cluster
                .plan_ec_pipeline((ec(config), StorageType::Disk), &[], pipeline(n))
                .unwrap();
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
    let plan = cluster
        .plan_ec_pipeline((config, StorageType::Disk), &exclude.datanodes, pipeline(2))
        .unwrap();
    assert!(!plan.members.contains(&bad));
    // With five nodes there is no other.
    let other = plan.members[0];
    let exclude = Exclude { datanodes: vec![bad, other], ..Exclude::default() };
    assert!(
        cluster
            .plan_ec_pipeline((config, StorageType::Disk), &exclude.datanodes, pipeline(3))
            .is_none()
    );
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
    // A late one is ordered to close.
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
fn what_is_the_matter_with_a_container_is_said_as_ozone_says_it() {
    let mut cluster = in_racks(9, 3);
    let (_, c) = closed(&mut cluster);
    assert_eq!(health(&cluster, c), "HEALTHY");
    lose(&mut cluster, c, 5);
    assert_eq!(health(&cluster, c), "UNDER_REPLICATED");
    lose(&mut cluster, c, 1);
    assert_eq!(health(&cluster, c), "UNDER_REPLICATED");
    let two = node_of(&cluster, c, 2);
    say(&mut cluster, c, two, 2, ReplicaState::Unhealthy);
    assert_eq!(health(&cluster, c), "UNHEALTHY", "too few that are good");
    let three = node_of(&cluster, c, 3);
    let decision = cluster.decommission(three, START).unwrap();
    apply(&mut cluster, &decision);
    assert_eq!(health(&cluster, c), "UNHEALTHY_UNDER_REPLICATED");
    say(&mut cluster, c, two, 2, ReplicaState::Deleted);
    assert_eq!(health(&cluster, c), "MISSING_UNDER_REPLICATED");
    say(&mut cluster, c, three, 3, ReplicaState::Deleted);
    assert_eq!(health(&cluster, c), "MISSING");
    lose(&mut cluster, c, 4);
    assert_eq!(health(&cluster, c), "MISSING");
    let free = free_nodes(&cluster, c).into_iter().filter(|node| *node != three);
    for (index, node) in (1..=5).zip(free) {
        say(&mut cluster, c, node, index, ReplicaState::Closed);
    }
    let spare = free_nodes(&cluster, c).into_iter().find(|node| *node != three).unwrap();
    say(&mut cluster, c, spare, 2, ReplicaState::Unhealthy);
    assert_eq!(health(&cluster, c), "UNHEALTHY", "one that is bad beside all that are good");
    say(&mut cluster, c, spare, 2, ReplicaState::Closed);
    assert!(matches!(health(&cluster, c), "OVER_REPLICATED" | "MIS_REPLICATED"));
    let counts = cluster.health_report().counts;
    assert_eq!(counts[health(&cluster, c)], 1);
}

#[test]
fn an_empty_container_is_deleted_when_each_index_is_known_to_be_empty() {
    let mut cluster = in_racks(6, 1);
    let (_, c) = closed(&mut cluster);
    let nodes: Vec<_> = (1..=5).map(|index| node_of(&cluster, c, index)).collect();
    let empty = |node, index| {
        let part = part(node, index, ReplicaState::Closed);
        Replica { keys: 0, used_bytes: 0, is_empty: true, ..part }
    };
    for (index, node) in (1..=4).zip(&nodes) {
        report(&mut cluster, c, empty(*node, index), START);
    }
    say(&mut cluster, c, nodes[4], 5, ReplicaState::Deleted);
    let sixth = free_nodes(&cluster, c)[0];
    report(&mut cluster, c, empty(sixth, 2), START);
    assert!(cluster.clean_containers(START).changes.is_empty(), "five replicas, four indexes");
    report(&mut cluster, c, empty(nodes[4], 5), START);
    assert_eq!(cluster.clean_containers(START).changes.len(), 1);
}

#[test]
fn a_container_that_is_deleted_comes_back_when_enough_of_it_has_blocks_to_be_read() {
    let mut cluster = in_racks(6, 1);
    let (_, c) = closed(&mut cluster);
    let nodes: Vec<_> = (1..=5).map(|index| lose(&mut cluster, c, index)).collect();
    for event in [LifeCycleEvent::Delete, LifeCycleEvent::Cleanup] {
        let (usage, now) = (Usage::default(), START);
        cluster.apply(&Change::MoveContainer { id: c, event, now, usage }).unwrap();
    }
    // Nodes that were down come back with blocks that the others have deleted; then a late write.
    for (index, there) in [(1, false), (1, false), (5, false), (3, true)] {
        let replica = part(nodes[index as usize - 1], index, ReplicaState::Closed);
        let orders = report(&mut cluster, c, replica, START);
        assert_eq!(orders, []);
        assert_eq!(state(&cluster, c) == LifeCycleState::Closed, there, "index {index}");
    }
}

#[test]
fn an_index_with_blocks_is_not_ordered_away_again_and_again() {
    let mut cluster = in_racks(6, 1);
    let (_, c) = closed(&mut cluster);
    let nodes: Vec<_> = (1..=5).map(|index| lose(&mut cluster, c, index)).collect();
    let (event, usage, now) = (LifeCycleEvent::Delete, Usage::default(), START);
    cluster.apply(&Change::MoveContainer { id: c, event, now, usage }).unwrap();
    // A node that was down has blocks that the others have deleted; it refuses to delete them.
    let late = part(nodes[0], 1, ReplicaState::Closed);
    assert_eq!(report(&mut cluster, c, late.clone(), START), []);
    let later = START + cluster.settings.resend_after;
    assert_eq!(cluster.clean_containers(later), placement::Decision::default());
    // After its blocks are deleted it is deleted.
    let empty = Replica { keys: 0, used_bytes: 0, is_empty: true, ..late };
    let delete = OrderKind::DeleteContainer { id: c, index: 1, force: false };
    let orders = report(&mut cluster, c, empty, later);
    assert_eq!(orders, [placement::Order { node: nodes[0], kind: delete.clone() }]);
    let orders = cluster.clean_containers(later).orders;
    assert_eq!(orders, [placement::Order { node: nodes[0], kind: delete }]);
}

#[test]
fn an_index_that_the_code_does_not_have_closes_nothing_and_is_read_by_nobody() {
    let mut cluster = in_racks(6, 1);
    let id = make(&mut cluster, ec(RS_3_2), 1);
    let c = open_container(&mut cluster, 1, id);
    let decision = cluster.finalize_container(c, START);
    apply(&mut cluster, &decision);
    for (n, index) in [(1, 0), (2, 6), (3, 99)] {
        say(&mut cluster, c, node(n), index, ReplicaState::Closed);
        assert_eq!(state(&cluster, c), LifeCycleState::Closing);
    }
    say(&mut cluster, c, node(4), 1, ReplicaState::QuasiClosed);
    assert_eq!(state(&cluster, c), LifeCycleState::Closing, "there is no group to be without");
    say(&mut cluster, c, node(4), 1, ReplicaState::Closed);
    assert_eq!(state(&cluster, c), LifeCycleState::Closed);
    let (_, pipeline) = cluster.locate(c).unwrap();
    assert_eq!(pipeline.replica_indexes, [1]);
    let count = count(&cluster, c);
    assert_eq!((count.readable(), count.bad.len()), (1, 3));
    assert_eq!(health(&cluster, c), "MISSING");
}

#[test]
fn readers_are_told_of_the_replica_that_is_closed() {
    let mut cluster = in_racks(9, 1);
    let (_, c) = closed(&mut cluster);
    for (state, spare) in
        [ReplicaState::Open, ReplicaState::Unhealthy].into_iter().zip(free_nodes(&cluster, c))
    {
        let good = node_of(&cluster, c, 2);
        say(&mut cluster, c, spare, 2, state);
        let (_, pipeline) = cluster.locate(c).unwrap();
        let at = pipeline.replica_indexes.iter().position(|i| *i == 2).unwrap();
        assert_eq!(pipeline.members[at].id, good, "{state:?}");
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
    let orders = cluster.repair_containers(types::ContainerId(0), 10, soon).decision.orders;
    let OrderKind::ReplicateContainer { id: copied, target } = orders[0].kind else {
        panic!("{orders:?}")
    };
    assert_eq!((orders[0].node, copied, orders.len()), (leaving, container, 1));
    assert_eq!(cluster.replicas.on(container, target), None);
    let again = cluster.repair_containers(types::ContainerId(0), 10, soon).decision;
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
