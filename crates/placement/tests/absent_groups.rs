//! Nodes that have not registered since SCM started, and replicas that they may have: whole groups
//! are down and come back a few nodes at a time.

use std::collections::BTreeSet;

use placement::{
    Change, Cluster, Container, Decision, Evidence, Order, OrderKind, Replica, ReplicaState,
    Settings, Storage, UnknownContainer,
};
use proto::hdds::{LifeCycleEvent, LifeCycleState};
use types::{ContainerId, DatanodeDetails, OperationalState, PipelineId, StorageType};

use crate::ec_fixture::*;
use crate::fixture::*;

/// Interval of the replication manager's checks.
const LOOK: u64 = 30_000;

/// An SCM that starts on the rows of another one, without any nodes.
fn restart(cluster: &Cluster) -> Cluster {
    let mut fresh = Cluster::new(cluster.settings.clone());
    for c in cluster.containers.from(ContainerId(0)) {
        fresh.containers.insert(c.clone());
    }
    for entry in cluster.pipelines.iter() {
        fresh.pipelines.insert((*entry.record).clone());
    }
    fresh.begin_safe_mode();
    fresh.note_state_machine_ready();
    fresh
}

/// All automatic actions of SCM at one moment, while all registered nodes send heartbeats.
fn look(cluster: &mut Cluster, now: u64) -> Vec<Order> {
    for id in cluster.nodes.iter().map(|n| n.details.id).collect::<Vec<_>>() {
        cluster.heartbeat(id, now);
    }
    let mut orders = Vec::new();
    let (_, decision) = cluster.watch_nodes(now);
    orders.extend(carry_out(cluster, decision, now));
    let decision = cluster.scrub_pipelines(now);
    orders.extend(carry_out(cluster, decision, now));
    let mut decision = cluster.review_containers(now);
    decision.merge(cluster.clean_containers(now));
    decision.merge(cluster.clear_left_overs(now));
    orders.extend(carry_out(cluster, decision, now));
    orders.extend(cluster.repair_containers(ContainerId(0), 1_000, now).decision.orders);
    orders
}

/// Runs all checks for this long; returns the time.
fn look_for(cluster: &mut Cluster, from: u64, how_long: u64) -> u64 {
    let mut now = from;
    while now < from + how_long {
        now += 3_000;
        look(cluster, now);
    }
    now
}

fn come(cluster: &mut Cluster, n: u128, replica: Option<(ContainerId, Replica)>, now: u64) {
    register(cluster, n, &[], now);
    let decision = cluster.report_all_replicas(node(n), replica.into_iter().collect(), now);
    carry_out(cluster, decision, now);
}

/// Ten nodes, and an OPEN container of rs-3-2 on 1 to 5, with index n on node n.
fn ten_nodes() -> (Cluster, PipelineId, ContainerId) {
    let mut cluster = in_racks(10, 1);
    let id = pipeline(1);
    let others: Vec<_> = (6..=10).map(node).collect();
    let kind = (ec(RS_3_2), StorageType::Disk);
    let mut plan = cluster.plan_ec_pipeline(kind, &others, id).unwrap();
    plan.members = (1..=5).map(node).collect();
    let record = cluster.build_pipeline(&plan, id, START);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    let c = open_container(&mut cluster, 1, id);
    (cluster, id, c)
}

#[test]
fn a_container_whose_group_is_away_when_scm_starts_is_not_taken_for_never_written() {
    let (cluster, _, c) = ten_nodes();
    let mut cluster = restart(&cluster);
    let mut now = START + 1_000_000;
    (6..=10).for_each(|n| come(&mut cluster, n, None, now));
    for round in 0..3 {
        now = look_for(&mut cluster, now, 300_000);
        assert_eq!(state(&cluster, c), LifeCycleState::Closing, "round {round}");
        assert_eq!(cluster.health(cluster.containers.get(c).unwrap()), "MISSING");
        assert_eq!(cluster.silent_members(c, now), (1..=5).map(node).collect::<Vec<_>>());
        // Nor by an SCM that starts after the pipeline was removed.
        cluster = restart(&cluster);
        (6..=10).for_each(|n| come(&mut cluster, n, None, now));
    }
    let mut without = restart(&cluster);
    (5..=10).for_each(|n| come(&mut without, n, None, now));
    look(&mut without, now);
    let health = without.health(without.containers.get(c).unwrap());
    assert_eq!(health, "HEALTHY", "what is acknowledged would be on the fifth, too");
    for n in 1..=5_u32 {
        come(&mut cluster, n.into(), Some((c, part(node(n.into()), n, ReplicaState::Closed))), now);
        look(&mut cluster, now);
    }
    assert_eq!(state(&cluster, c), LifeCycleState::Closed);
    assert_eq!(cluster.replicas.of(c).len(), 5);
}

#[test]
fn a_replicated_container_whose_pipeline_is_away_is_not_taken_for_never_written_either() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let mut cluster = restart(&cluster);
    let now = START + 1_000_000;
    (4..=6).for_each(|n| come(&mut cluster, n, None, now));
    let now = look_for(&mut cluster, now, 300_000);
    assert_eq!(state(&cluster, c), LifeCycleState::Closing);
    assert_eq!(cluster.pipelines.get(p).map(|e| e.record.id), None);
    come(&mut cluster, 3, Some((c, replica(3, ReplicaState::QuasiClosed, 2, 8))), now);
    assert_eq!(state(&cluster, c), LifeCycleState::QuasiClosed);
}

#[test]
fn a_container_never_written_goes_when_all_of_its_group_have_said_that_they_have_none() {
    let (cluster, _, c) = ten_nodes();
    let mut cluster = restart(&cluster);
    let mut now = look_for(&mut cluster, START + 1_000_000, 120_000);
    for n in 1..=5 {
        assert_ne!(state(&cluster, c), LifeCycleState::Deleted, "{n} was not heard of");
        come(&mut cluster, n, None, now);
        now = look_for(&mut cluster, now, LOOK);
    }
    assert_eq!(state(&cluster, c), LifeCycleState::Deleted);
}

/// A disk that is out may have what its node does not report.
#[test]
fn a_member_with_a_failed_disk_has_not_said_that_it_has_nothing() {
    let (cluster, _, c) = ten_nodes();
    let mut cluster = restart(&cluster);
    let now = START + 1_000_000;
    (1..=5).for_each(|n| come(&mut cluster, n, None, now));
    let disks_of = |failed| vec![Storage { failed, ..disks(1).remove(0) }, disks(1).remove(0)];
    cluster.nodes.set_storage(node(4), disks_of(true));
    let decision = Decision {
        changes: vec![Change::ClosePipeline { id: pipeline(1), now }],
        ..Decision::default()
    };
    apply(&mut cluster, &decision);
    let now = look_for(&mut cluster, now, 300_000);
    assert_eq!(state(&cluster, c), LifeCycleState::Closing);
    cluster.nodes.set_storage(node(4), disks_of(false));
    look_for(&mut cluster, now, LOOK);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleted);
}

/// An operator confirms that it was removed: it was emptied.
#[test]
fn a_member_that_is_decommissioned_is_not_waited_for() {
    let (cluster, _, c) = ten_nodes();
    let mut cluster = restart(&cluster);
    let mut now = look_for(&mut cluster, START + 1_000_000, 120_000);
    let gone = DatanodeDetails { op_state: OperationalState::Decommissioned, ..details(4) };
    cluster.register(gone, disks(1), &[], now);
    now = look_for(&mut cluster, now, LOOK);
    assert_eq!(state(&cluster, c), LifeCycleState::Closing);
    assert!(!cluster.any_container_on_its_way(now), "it waits for others");
    now = silence(&mut cluster, node(4), 60_000).max(now);
    [1, 2, 3, 5].into_iter().for_each(|n| come(&mut cluster, n, None, now));
    assert!(cluster.any_container_on_its_way(now));
    for id in [1, 2, 3, 5] {
        cluster.heartbeat(node(id), now);
    }
    let decision = cluster.clean_containers(now);
    carry_out(&mut cluster, decision, now);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleting);
}

/// Replicas on the disks of nodes 1 to 5, index n on node n, of a container that is DELETED by the
/// record; they register in batches, with checks between them, and carry out their orders.
fn come_in_portions(record: &Container, portions: &[&[u128]]) -> (Cluster, BTreeSet<u32>) {
    let mut cluster = Cluster::new(settings());
    cluster.begin_safe_mode();
    cluster.note_state_machine_ready();
    let c = record.id;
    cluster.containers.insert(record.clone());
    let mut now = START + 1_000_000;
    (6..=10).for_each(|n| come(&mut cluster, n, None, now));
    now = look_for(&mut cluster, now, 300_000);
    let mut gone = BTreeSet::new();
    for portion in portions {
        for n in portion.iter().copied() {
            let replica = part(node(n), n as u32, ReplicaState::Closed);
            come(&mut cluster, n, Some((c, replica)), now);
        }
        for _ in 0..10 {
            now += LOOK / 5;
            for order in look(&mut cluster, now) {
                let OrderKind::DeleteContainer { force: true, .. } = order.kind else { continue };
                let Some(replica) = cluster.replicas.on(c, order.node).cloned() else { continue };
                gone.insert(replica.replica_index);
                report(&mut cluster, c, Replica { state: ReplicaState::Deleted, ..replica }, now);
            }
        }
    }
    (cluster, gone)
}

/// A container of rs-3-2 that is DELETED by its record.
fn deleted_record() -> Container {
    let (cluster, _, c) = ten_nodes();
    let record = cluster.containers.get(c).unwrap().clone();
    Container { state: LifeCycleState::Deleted, ..record }
}

#[test]
fn what_was_deleted_by_mistake_comes_back_however_its_nodes_do() {
    let portions: [&[&[u128]]; 4] = [
        &[&[1, 2], &[3, 4], &[5]],
        &[&[1], &[2], &[3], &[4], &[5]],
        &[&[5, 4], &[1], &[2, 3]],
        &[&[1, 2, 3, 4, 5]],
    ];
    let states = [LifeCycleState::Deleted, LifeCycleState::Deleting];
    for (portions, state_before) in portions.iter().flat_map(|p| states.map(|s| (*p, s))) {
        let record = Container { state: state_before, ..deleted_record() };
        let (cluster, gone) = come_in_portions(&record, portions);
        assert_eq!(gone, BTreeSet::new(), "{portions:?}");
        assert_eq!(state(&cluster, container(1)), LifeCycleState::Closed, "{portions:?}");
        let health = health(&cluster, container(1));
        assert_eq!((cluster.replicas.of(container(1)).len(), health), (5, "HEALTHY"));
    }
}

/// The record wrongly has all replicas as empty: the total of ordered deletions is at most the
/// number of indexes that the code can recover, whichever SCM leads.
#[test]
fn no_mistake_costs_more_than_the_code_makes_up_for() {
    let evidence = Evidence { emptied: true, ..Evidence::default() };
    let record = Container { evidence, ..deleted_record() };
    let cases: [(&[&[u128]], BTreeSet<u32>); 3] = [
        (&[&[1, 2], &[3, 4], &[5]], [1, 2].into()),
        (&[&[1], &[2], &[3], &[4], &[5]], [1, 2].into()),
        (&[&[5, 4, 3], &[1], &[2]], BTreeSet::new()),
    ];
    for (portions, costs) in cases {
        let (cluster, gone) = come_in_portions(&record, portions);
        assert_eq!(gone, costs, "{portions:?}");
        assert_eq!(state(&cluster, container(1)), LifeCycleState::Closed, "{portions:?}");
    }
    // The batches register with different SCMs.
    let mut record = record;
    let mut gone = BTreeSet::new();
    for portion in [[1, 2], [3, 4]] {
        let (cluster, now_gone) = come_in_portions(&record, &[&portion]);
        gone.extend(now_gone);
        record = cluster.containers.get(record.id).unwrap().clone();
    }
    assert_eq!(gone, [1, 2].into());
    assert_eq!(record.evidence.cleared, gone);
}

/// A replica that reports an index outside of the group may have any.
#[test]
fn what_has_no_index_of_the_group_is_not_ordered_away() {
    let evidence = Evidence { emptied: true, ..Evidence::default() };
    let mut cluster = in_racks(6, 1);
    let record = Container { evidence, ..deleted_record() };
    let c = record.id;
    cluster.containers.insert(record);
    let now = look_for(&mut cluster, START, 120_000);
    for (n, index) in [(1, 0), (2, 77)] {
        come(&mut cluster, n, Some((c, part(node(n), index, ReplicaState::Closed))), now);
    }
    let force = |o: &Order| matches!(o.kind, OrderKind::DeleteContainer { force: true, .. });
    assert!(!look(&mut cluster, now + LOOK).iter().any(force));
}

/// An earlier leader's decision on less evidence is refused when it is applied.
#[test]
fn more_than_may_go_is_refused_in_the_log() {
    let mut cluster = in_racks(6, 1);
    let record = deleted_record();
    let c = record.id;
    let clear = |indexes: &[u32]| Change::ClearLeftOvers { id: c, indexes: indexes.to_vec() };
    cluster.containers.insert(record.clone());
    cluster.apply(&clear(&[1])).unwrap_err();
    let evidence = Evidence { emptied: true, ..Evidence::default() };
    cluster.containers.insert(Container { evidence, ..record });
    cluster.apply(&clear(&[1])).unwrap();
    cluster.apply(&clear(&[2, 3])).unwrap_err();
    cluster.apply(&clear(&[2, 1])).unwrap();
    cluster.apply(&clear(&[3])).unwrap_err();
    cluster.apply(&Change::ReviveContainer { id: c, quasi: false, now: START }).unwrap();
    cluster.apply(&clear(&[1])).unwrap_err();
    let evidence = &cluster.containers.get(c).unwrap().evidence;
    assert_eq!(*evidence, Evidence { cleared: [1, 2].into(), ..Evidence::default() });
}

/// A container's record has blocks, but no replica was ever reported: any replica may lag behind
/// another one.
#[test]
fn the_last_copy_of_a_container_that_was_not_seen_empty_is_not_ordered_away() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    report(&mut cluster, c, replica(1, ReplicaState::Open, 3, 9), START);
    report(&mut cluster, c, replica(1, ReplicaState::Deleted, 0, 0), START);
    report(&mut cluster, c, replica(2, ReplicaState::Open, 0, 0), START);
    report(&mut cluster, c, replica(2, ReplicaState::Deleted, 0, 0), START);
    let decision = Decision {
        changes: vec![Change::ClosePipeline { id: p, now: START }],
        ..Decision::default()
    };
    apply(&mut cluster, &decision);
    let now = look_for(&mut cluster, START, 120_000);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleted);
    // The disk of the third member was not mounted.
    let orders = report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 8), now);
    assert_eq!(orders, []);
    assert_eq!(state(&cluster, c), LifeCycleState::QuasiClosed);
}

/// The operator configured the deletion of unknown containers; SCM's tables may be older than the
/// containers, whose ids may be below or above the last reserved one of the tables.
#[test]
fn an_unknown_container_with_blocks_is_never_ordered_away() {
    let settings = Settings { unknown_container: UnknownContainer::Delete, ..settings() };
    let mut cluster = cluster(1, settings);
    let sequence = placement::Sequence::ContainerId;
    for (expected, last) in [(0, 1_000), (1_000, 2_000)] {
        cluster.apply(&Change::ReserveIds { sequence, expected, last }).unwrap();
        for id in [41, last, last + 1] {
            let written = replica(1, ReplicaState::Closed, 5, 5);
            assert_eq!(report(&mut cluster, container(id), written, START), [], "{id}");
        }
    }
    let open = replica(1, ReplicaState::Open, 0, 5);
    assert_eq!(report(&mut cluster, container(41), open, START), [], "a node would refuse");
    let empty = replica(1, ReplicaState::Closed, 0, 5);
    let goes = [to(1, OrderKind::DeleteContainer { id: container(41), index: 0, force: false })];
    assert_eq!(report(&mut cluster, container(41), empty.clone(), START), goes);
    cluster.settings.safe_mode.enabled = true;
    cluster.begin_safe_mode();
    assert_eq!(report(&mut cluster, container(41), empty, START), [], "in safe mode");
}

#[test]
fn a_container_whose_pipeline_went_before_it_was_made_has_no_members() {
    let (mut cluster, p) = trio();
    let other = open_container(&mut cluster, 1, p);
    let made = Container { id: container(2), ..cluster.containers.get(other).unwrap().clone() };
    cluster.apply(&Change::ClosePipeline { id: p, now: START }).unwrap();
    cluster.apply(&Change::RemovePipeline(p)).unwrap();
    cluster.apply(&Change::AddContainer(made)).unwrap();
    assert_eq!(state(&cluster, container(2)), LifeCycleState::Closing);
    assert!(cluster.is_without_members(container(2)));
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    let change = Change::ClosePipeline { id: p, now: START };
    apply(&mut cluster, &Decision { changes: vec![change], ..Decision::default() });
    assert!(!cluster.is_without_members(c), "its pipeline is there");
    cluster.apply(&Change::RemovePipeline(p)).unwrap();
    assert!(!cluster.is_without_members(c), "the members stay with it");
}

fn step(cluster: &mut Cluster, id: ContainerId, event: LifeCycleEvent) {
    let usage = placement::Usage::default();
    cluster.apply(&Change::MoveContainer { id, event, now: START, usage }).unwrap();
}

/// Looks at short intervals go over all containers: what none of them can end must not ask for
/// them.
#[test]
fn what_is_left_for_good_asks_for_no_looks_at_short_intervals() {
    let (mut cluster, _, c) = ten_nodes();
    (1..=10).for_each(|n| come(&mut cluster, n, None, START));
    for event in [LifeCycleEvent::Finalize, LifeCycleEvent::Close, LifeCycleEvent::Delete] {
        step(&mut cluster, c, event);
    }
    assert!(cluster.any_container_on_its_way(START), "it has no replica any more");
    report(&mut cluster, c, part(node(1), 1, ReplicaState::Closed), START);
    assert_eq!(state(&cluster, c), LifeCycleState::Deleting);
    assert!(!cluster.any_container_on_its_way(START), "one with blocks that may not go");
    let empty = Replica { keys: 0, is_empty: true, ..part(node(2), 2, ReplicaState::Closed) };
    report(&mut cluster, c, empty, START);
    assert!(cluster.any_container_on_its_way(START), "an empty one, which a node deletes");

    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    step(&mut cluster, c, LifeCycleEvent::Finalize);
    step(&mut cluster, c, LifeCycleEvent::QuasiClose);
    report(&mut cluster, c, replica(1, ReplicaState::QuasiClosed, 2, 8), START);
    assert!(!cluster.any_container_on_its_way(START), "one of three that wrote to it");
    report(&mut cluster, c, replica(2, ReplicaState::QuasiClosed, 2, 8), START);
    report(&mut cluster, c, replica(3, ReplicaState::QuasiClosed, 2, 8), START);
    assert!(cluster.any_container_on_its_way(START), "all that wrote to it");
}
