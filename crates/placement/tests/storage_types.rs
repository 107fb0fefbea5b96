//! Disks of several kinds: which pipelines there are, and where blocks and replicas go.

use std::collections::BTreeMap;

use placement::block::{Allocation, Exclude, Wish};
use placement::{Cluster, OrderKind, ReplicaState, Settings, Storage};
use proto::hdds::LifeCycleState;
use types::{ContainerId, ReplicationConfig, StorageType};

use crate::fixture::*;

use StorageType::{Archive, Disk, Ssd};

/// A disk of each of these types.
fn of_types(types: &[StorageType]) -> Vec<Storage> {
    let typed = disks(types.len()).into_iter().zip(types);
    typed.map(|(disk, of)| Storage { storage_type: *of, ..disk }).collect()
}

/// Nodes 1 to n with a disk of each of these types, and no pipelines.
fn nodes(all: &[&[StorageType]]) -> Cluster {
    let settings = Settings { create_factor_one: false, ..settings() };
    let mut cluster = cluster(0, settings);
    for (n, types) in (1..).zip(all) {
        cluster.register(details(n), of_types(types), &[], START);
    }
    cluster
}

fn pipelines(cluster: &Cluster) -> BTreeMap<StorageType, usize> {
    let mut counts = BTreeMap::new();
    for entry in cluster.pipelines.iter() {
        *counts.entry(entry.record.storage_type).or_default() += 1;
    }
    counts
}

fn ask(cluster: &mut Cluster, types: &[StorageType], waits: bool) -> Allocation {
    let exclude = Exclude::default();
    let config = THREE;
    cluster.allocate(Wish {
        count: 1,
        config,
        storage_types: types,
        waits,
        owner: OWNER,
        exclude: &exclude,
    })
}

/// The type of the pipeline for the next block, or of the one that would get it if it had a
/// container.
fn type_of(cluster: &mut Cluster, types: &[StorageType], waits: bool) -> Option<StorageType> {
    let found = ask(cluster, types, waits);
    found.shortage.first().map(|(id, _)| cluster.pipelines.get(*id).unwrap().record.storage_type)
}

#[test]
fn each_type_has_pipelines_of_the_nodes_that_have_such_disks() {
    let mixed = [Disk, Ssd];
    let mut cluster = nodes(&[&mixed, &mixed, &mixed, &[Archive], &[Archive], &[Archive]]);
    make_pipelines(&mut cluster, 1, START);
    let per_disk = cluster.settings.pipelines_per_disk as usize;
    let each = BTreeMap::from([(Disk, per_disk), (Ssd, per_disk), (Archive, per_disk)]);
    assert_eq!(pipelines(&cluster), each);
    for entry in cluster.pipelines.iter() {
        let archive = entry.member_ids().iter().all(|m| m.0.as_u128() > 3);
        assert_eq!(archive, entry.record.storage_type == Archive);
    }
    assert_eq!(cluster.plan_rebalance(), []);
    // Two nodes with such disks are too few.
    let mut few = nodes(&[&[Disk, Ssd], &[Disk, Ssd], &[Disk]]);
    make_pipelines(&mut few, 1, START);
    assert_eq!(pipelines(&few), BTreeMap::from([(Disk, per_disk)]));
}

#[test]
fn blocks_go_to_the_first_type_that_can_take_them() {
    let all = [Disk, Ssd];
    let mut cluster = nodes(&[&all, &all, &all]);
    make_pipelines(&mut cluster, 1, START);
    assert_eq!(type_of(&mut cluster, &[Ssd, Disk], false), Some(Ssd));
    assert_eq!(type_of(&mut cluster, &StorageType::ANY, false), Some(Disk));
    assert_eq!(type_of(&mut cluster, &[Archive, Disk], false), Some(Disk));
    assert_eq!(type_of(&mut cluster, &[Archive], false), None);
    // The SSD of one member has no room left.
    let mut full = of_types(&all);
    full[1].remaining = 10;
    full[1].free_space_to_spare = 10;
    cluster.nodes.set_storage(node(2), full);
    assert_eq!(type_of(&mut cluster, &[Ssd, Disk], false), Some(Disk));
    assert_eq!(type_of(&mut cluster, &[Ssd], false), Some(Ssd), "better than nowhere");
    cluster.nodes.set_storage(node(2), of_types(&all));
    assert_eq!(type_of(&mut cluster, &[Ssd, Disk], false), Some(Ssd));
}

#[test]
fn a_type_whose_pipelines_are_being_made_is_waited_for() {
    let all = [Disk, Ssd];
    let mut cluster = nodes(&[&all, &all, &all]);
    make_pipelines(&mut cluster, 1, START);
    let ssd: Vec<_> = cluster.pipelines.open_of(THREE, Ssd).to_vec();
    for id in ssd {
        cluster.apply(&placement::Change::ClosePipeline { id, now: START }).unwrap();
    }
    assert_eq!(type_of(&mut cluster, &[Ssd, Disk], true), None);
    assert_eq!(type_of(&mut cluster, &[Ssd, Disk], false), Some(Disk));
    // Nodes without such disks have no effect.
    assert_eq!(type_of(&mut cluster, &[Archive, Disk], true), Some(Disk));
}

#[test]
fn an_erasure_coded_group_is_made_on_disks_of_one_type() {
    let all = [Disk, Archive];
    let mut cluster = nodes(&[&all, &all, &all, &all, &all, &[Disk]]);
    let ec: ReplicationConfig = "rs-3-2-1024k".parse().map(ReplicationConfig::Ec).unwrap();
    let plan = cluster.plan_ec_pipeline((ec, Archive), &[], pipeline(1)).unwrap();
    assert_eq!(plan.storage_type, Archive);
    assert!(!plan.members.contains(&node(6)));
    assert!(cluster.plan_ec_pipeline((ec, Ssd), &[], pipeline(2)).is_none());
    let record = cluster.build_pipeline(&plan, pipeline(1), START);
    cluster.apply(&placement::Change::AddPipeline(record)).unwrap();
    assert_eq!(cluster.pipelines.open_of(ec, Archive), [pipeline(1)]);
    assert_eq!(cluster.pipelines.open_of(ec, Disk), []);
}

/// A closed container on archive disks of nodes 1 to 3, and a node 4 and 5 with these disks.
fn archived(fourth: &[StorageType], fifth: &[StorageType]) -> (Cluster, ContainerId) {
    let old = [Archive];
    let mut cluster = nodes(&[&old, &old, &old]);
    make_pipelines(&mut cluster, 1, START);
    let [p, ..] = *cluster.pipelines.open_of(THREE, Archive) else { panic!("no pipeline") };
    let c = open_container(&mut cluster, 1, p);
    cluster.apply(&placement::Change::ClosePipeline { id: p, now: START }).unwrap();
    for n in 1..=2 {
        let one =
            placement::Replica { storage_type: Archive, ..replica(n, ReplicaState::Closed, 5, 5) };
        report(&mut cluster, c, one, START);
    }
    assert_eq!(cluster.containers.get(c).unwrap().state, LifeCycleState::Closed);
    cluster.register(details(4), of_types(fourth), &[], START);
    cluster.register(details(5), of_types(fifth), &[], START);
    (cluster, c)
}

fn target_of_copy(cluster: &mut Cluster) -> Option<u128> {
    let now = START + cluster.settings.resend_after;
    let nodes: Vec<_> = cluster.nodes.iter().map(|n| n.details.id).collect();
    for id in nodes {
        cluster.heartbeat(id, now);
    }
    // Node 3 takes no part.
    cluster.decommission(node(3), now).unwrap();
    let orders = cluster.repair_containers(ContainerId(0), 100, now).decision.orders;
    orders.iter().find_map(|order| match order.kind {
        OrderKind::ReplicateContainer { target, .. } => Some(target.0.as_u128()),
        _ => None,
    })
}

#[test]
fn a_replica_that_is_missing_comes_to_a_disk_of_its_type_and_else_to_another() {
    let (mut cluster, c) = archived(&[Disk], &[Archive]);
    assert_eq!(cluster.containers.get(c).unwrap().storage_type, Archive);
    assert_eq!(target_of_copy(&mut cluster), Some(5));
    let (mut cluster, _) = archived(&[Archive], &[Ssd]);
    assert_eq!(target_of_copy(&mut cluster), Some(4));
    // One too few would be worse.
    let (mut cluster, _) = archived(&[Ssd], &[Disk]);
    assert_eq!(target_of_copy(&mut cluster), Some(5), "DISK comes before SSD");
}
