//! SCM's rules over many containers: the repair scan, and a full container report.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use placement::{Change, Cluster, Container, Replica, ReplicaState, Settings, Storage};
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeDetails, DatanodeId, ReplicationConfig};
use uuid::Uuid;

use crate::cpu::CpuTime;

const CONTAINERS: u64 = 100_000;
const NODES: u128 = 300;
/// Containers per batch of the scan, as in SCM's service.
const PORTION: usize = 1_000;
/// Start of the cluster, in milliseconds; and a time long after its containers were closed.
const BEGUN: u64 = 1_000_000;
const NOW: u64 = BEGUN + 3_600_000;

pub fn benchmarks(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("placement");
    group.sample_size(10).throughput(Throughput::Elements(CONTAINERS));
    let mut whole = cluster(3);
    group.bench_function("repair look, 100k containers, all whole", |b| {
        b.iter(|| assert_eq!(repair_all(&mut whole), 0, "nothing is to be repaired"));
    });
    // Every container lacks a replica: copies are ordered until the limits are reached.
    let mut lacking = cluster(2);
    group.bench_function("repair look, 100k containers, all lack one", |b| {
        b.iter(|| black_box(repair_all(&mut lacking)));
    });
    let reports = reports_of(node(0), 3);
    group.throughput(Throughput::Elements(reports.len() as u64));
    group.bench_function("full container report of one node", |b| {
        b.iter(|| black_box(whole.report_all_replicas(node(0), reports.clone(), NOW)));
    });
    group.finish();
}

/// Scans all containers, in batches; returns the number of resulting orders.
fn repair_all(cluster: &mut Cluster) -> usize {
    let (mut orders, mut start) = (0, ContainerId(0));
    loop {
        let repairs = cluster.repair_containers(start, PORTION, NOW);
        orders += repairs.decision.orders.len();
        match repairs.next {
            Some(next) => start = next,
            None => return orders,
        }
    }
}

fn node(n: u128) -> DatanodeId {
    DatanodeId(Uuid::from_u128(n + 1))
}

/// The nodes with a container's replicas: consecutive ones.
fn holders(id: u64, replicas: u128) -> impl Iterator<Item = DatanodeId> {
    (0..replicas).map(move |n| node((u128::from(id) + n) % NODES))
}

fn replica(of: DatanodeId) -> Replica {
    Replica {
        node: of,
        state: ReplicaState::Closed,
        used_bytes: 5 << 30,
        keys: 1_000,
        sequence_id: 1_000,
        origin: of,
        replica_index: 0,
        storage_type: types::StorageType::default(),
        is_empty: false,
        data_checksum: 0,
        delete_transaction: 0,
        lags: false,
    }
}

fn reports_of(reporter: DatanodeId, replicas: u128) -> Vec<(ContainerId, Replica)> {
    let has = |id: &u64| holders(*id, replicas).any(|holder| holder == reporter);
    (1..=CONTAINERS).filter(has).map(|id| (ContainerId(id), replica(reporter))).collect()
}

/// A cluster of closed containers with this number of replicas each.
fn cluster(replicas: u128) -> Cluster {
    let mut settings = Settings::default();
    settings.safe_mode.enabled = false;
    let mut cluster = Cluster::new(settings);
    cluster.begin_safe_mode();
    cluster.note_state_machine_ready();
    for n in 0..NODES {
        let details = DatanodeDetails::new(node(n), format!("10.0.0.{n}"), format!("host{n}"));
        let disk = Storage {
            id: "DS-0".to_owned(),
            location: "/data".to_owned(),
            capacity: 100 << 40,
            remaining: 90 << 40,
            ..Storage::default()
        };
        cluster.register(details, vec![disk], &[], NOW);
    }
    for id in 1..=CONTAINERS {
        let container = Container {
            id: ContainerId(id),
            state: LifeCycleState::Closed,
            pipeline: None,
            config: ReplicationConfig::RATIS_THREE,
            storage_type: types::StorageType::default(),
            owner: "om".into(),
            used_bytes: 5 << 30,
            keys: 1_000,
            state_enter_ms: BEGUN,
            sequence_id: 1_000,
            delete_transaction: 0,
            suppressed: false,
            evidence: Default::default(),
        };
        cluster.apply(&Change::AddContainer(container)).expect("a new container");
        for holder in holders(id, replicas) {
            cluster.report_replicas(vec![(ContainerId(id), replica(holder))], NOW);
        }
    }
    cluster
}
