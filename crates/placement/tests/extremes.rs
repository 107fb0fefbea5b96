//! Every change with every number at its limits, and possible reports of DataNodes: nothing panics,
//! and SCM continues.

use placement::balance::{Choice, Configuration, Iteration};
use placement::deletion::{DeletedBlock, Draft};
use placement::node::DestinationChoice;
use placement::{
    Balancer, Change, Cluster, Container, Evidence, Replica, ReplicaState, Sequence, Storage,
    Transaction, Usage,
};
use proptest::prelude::*;
use proto::hdds::{LifeCycleEvent, LifeCycleState};
use testkit::Extremes;
use types::{
    ContainerId, DatanodeDetails, EcCodec, EcConfig, LocalId, Pipeline, PipelineState,
    ReplicationConfig,
};

use crate::fixture::*;

/// Kinds of change. A new one is missed here at compile time, and then by the test below.
const KINDS: usize = 15;

fn kind(change: &Change) -> usize {
    match change {
        Change::AddPipeline(_) => 0,
        Change::OpenPipeline(_) => 1,
        Change::SetPipelineDormant(..) => 2,
        Change::ClosePipeline { .. } => 3,
        Change::RemovePipeline(_) => 4,
        Change::AddContainer(_) => 5,
        Change::MoveContainer { .. } => 6,
        Change::ReviveContainer { .. } => 7,
        Change::ReserveIds { .. } => 8,
        Change::AddDeletions(_) => 9,
        Change::RemoveDeletions(_) => 10,
        Change::SetBalancer(_) => 11,
        Change::SetDestination { .. } => 12,
        Change::DeleteEmptied { .. } => 13,
        Change::ClearLeftOvers { .. } => 14,
    }
}

fn config(x: &mut Extremes) -> ReplicationConfig {
    let n = |x: &mut Extremes| x.number() as u32;
    match x.below(4) {
        0 => ReplicationConfig::RATIS_ONE,
        1 => ReplicationConfig::Ec(EcConfig {
            data: n(x),
            parity: n(x),
            codec: EcCodec::Rs,
            chunk_size: n(x),
        }),
        _ => THREE,
    }
}

fn pipeline_of(x: &mut Extremes) -> Pipeline {
    let members: Vec<_> = (1..=x.below(5) as u128).map(details).collect();
    Pipeline {
        id: pipeline(x.below(4) as u128),
        config: config(x),
        storage_type: types::StorageType::default(),
        state: PipelineState::Allocated,
        replica_indexes: vec![x.number() as u32; members.len()],
        leader: members.first().map(|m| m.id),
        suggested_leader: members.last().map(|m| m.id),
        members,
        created_ms: x.number(),
        order: vec![x.number() as u32],
    }
}

fn id(x: &mut Extremes) -> ContainerId {
    ContainerId([1, 2, 3, x.number()][x.below(4)])
}

fn evidence(x: &mut Extremes) -> Evidence {
    Evidence {
        members: (1..=x.below(5) as u128).map(node).collect(),
        emptied: x.chance(50),
        cleared: (0..x.below(4)).map(|_| x.number() as u32).collect(),
    }
}

fn usage(x: &mut Extremes) -> Usage {
    Usage { used_bytes: x.number(), keys: x.number(), sequence_id: x.number() }
}

fn change(x: &mut Extremes) -> Change {
    let p = pipeline(x.below(4) as u128);
    match x.below(KINDS) {
        0 => Change::AddPipeline(pipeline_of(x)),
        1 => Change::OpenPipeline(p),
        2 => Change::SetPipelineDormant(p, x.chance(50)),
        3 => Change::ClosePipeline { id: p, now: x.number() },
        4 => Change::RemovePipeline(p),
        5 => Change::AddContainer(Container {
            id: id(x),
            state: LifeCycleState::Open,
            pipeline: x.chance(80).then_some(p),
            config: config(x),
            storage_type: types::StorageType::default(),
            owner: OWNER.into(),
            used_bytes: x.number(),
            keys: x.number(),
            state_enter_ms: x.number(),
            sequence_id: x.number(),
            delete_transaction: x.number(),
            suppressed: x.chance(10),
            evidence: evidence(x),
        }),
        6 => {
            let events = [
                LifeCycleEvent::Finalize,
                LifeCycleEvent::QuasiClose,
                LifeCycleEvent::Close,
                LifeCycleEvent::Delete,
                LifeCycleEvent::ForceClose,
                LifeCycleEvent::Cleanup,
            ];
            let event = events[x.below(events.len())];
            Change::MoveContainer { id: id(x), event, now: x.number(), usage: usage(x) }
        }
        7 => Change::ReviveContainer { id: id(x), quasi: x.chance(50), now: x.number() },
        8 => Change::ReserveIds {
            sequence: Sequence::ALL[x.below(3)],
            expected: x.number(),
            last: x.number(),
        },
        9 => {
            let blocks: Vec<_> = (0..x.below(4))
                .map(|_| DeletedBlock {
                    container: id(x),
                    local: LocalId(x.number()),
                    size: x.number(),
                    replicated_size: x.number(),
                })
                .collect();
            // As OM's message has it, and as an entry of another leader may.
            let drafts = Draft::group(&blocks);
            let (size, replicated_size) = (x.number(), x.number());
            let blocks = blocks.iter().map(|b| b.local).collect();
            let container = id(x);
            let t = Transaction { id: x.number(), container, blocks, size, replicated_size };
            assert!(drafts.len() <= 4);
            Change::AddDeletions(vec![t])
        }
        10 => Change::RemoveDeletions(vec![x.number(), x.number()]),
        12 => Change::SetDestination {
            node: node(1 + x.below(5) as u128),
            destination: x.chance(80).then(|| node(1 + x.below(6) as u128)),
        },
        13 => Change::DeleteEmptied { id: id(x), now: x.number(), usage: usage(x) },
        14 => Change::ClearLeftOvers {
            id: id(x),
            indexes: (0..x.below(4)).map(|_| x.number() as u32).collect(),
        },
        _ => Change::SetBalancer(Balancer {
            configuration: configuration(x),
            should_run: x.chance(50),
            next_iteration: x.number() as u32,
        }),
    }
}

fn configuration(x: &mut Extremes) -> Configuration {
    Configuration {
        threshold: [0.0, 10.0, 99.9][x.below(3)],
        max_datanodes_percentage: x.number() as u32,
        max_size_per_iteration: x.number(),
        max_size_entering_target: x.number(),
        max_size_leaving_source: x.number(),
        iterations: Some(x.number() as u32),
        move_timeout: x.number(),
        replication_timeout: x.number(),
        interval: x.number(),
        network_topology: x.chance(50),
        include_non_standard: x.chance(50),
        ..crate::balance::configuration()
    }
}

fn storage(x: &mut Extremes) -> Vec<Storage> {
    let disk = |x: &mut Extremes| Storage {
        capacity: x.number(),
        used: x.number(),
        remaining: x.number(),
        committed: x.number(),
        free_space_to_spare: x.number(),
        reserved: x.number(),
        fs_capacity: x.number(),
        fs_available: x.number(),
        failed: x.chance(10),
        ..Storage::default()
    };
    (0..x.below(4)).map(|_| disk(x)).collect()
}

fn replica_of(x: &mut Extremes) -> (ContainerId, Replica) {
    let states = [
        ReplicaState::Open,
        ReplicaState::Closing,
        ReplicaState::QuasiClosed,
        ReplicaState::Closed,
        ReplicaState::Unhealthy,
        ReplicaState::Deleted,
    ];
    let replica = Replica {
        node: node(1 + x.below(5) as u128),
        state: states[x.below(states.len())],
        used_bytes: x.number(),
        keys: x.number(),
        sequence_id: x.number(),
        origin: node(1 + x.below(5) as u128),
        replica_index: x.number() as u32,
        storage_type: types::StorageType::ALL[x.below(3)],
        is_empty: x.chance(50),
        data_checksum: x.number() as i64,
        delete_transaction: x.number(),
        lags: false,
    };
    (id(x), replica)
}

/// All automatic actions of SCM at any time.
fn everything(cluster: &mut Cluster, x: &mut Extremes) {
    let now = x.number();
    let _ = cluster.watch_nodes(now);
    let _ = cluster.review_containers(now);
    let _ = cluster.clean_containers(now);
    let _ = cluster.repair_containers(ContainerId(0), 100, now);
    let _ = cluster.send_deletions(now, usize::MAX);
    let _ = cluster.check_leaving_nodes(now);
    let _ = cluster.plan_rebalance();
    for choice in [DestinationChoice::Auto, DestinationChoice::Node(node(2))] {
        let _ = cluster.plan_destinations(&[node(1), node(3)], choice);
    }
    let _ = cluster.review_moves(now);
    if let Some(balancer) = cluster.balancer.clone() {
        let _ = balancer.configuration.check(&cluster.nodes, x.number(), x.number());
        if let Ok(mut iteration) = Iteration::begin(&cluster.nodes, balancer.configuration) {
            while let Choice::Move(_) | Choice::More = cluster.next_move(&mut iteration, now) {}
            for (moved, result) in cluster.review_moves(x.number()) {
                iteration.note(&moved, result);
            }
        }
    }
    let _ = cluster.health_report();
    let _ = cluster.safe_mode_rules();
    let _ = cluster.deletions.summary();
    let _ = cluster.sequences.left(Sequence::LocalId);
    for node in cluster.nodes.iter() {
        let _ = (node.total(), node.used_percent(), node.has_room_for(x.number()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn no_change_and_no_report_panics(seed in any::<u64>()) {
        let mut x = Extremes::new(seed);
        let mut cluster = cluster(3, settings());
        for _ in 0..150 {
            match x.below(8) {
                0 => {
                    let n = 1 + x.below(5) as u128;
                    let details = DatanodeDetails { op_state_expiry: x.number() as i64, ..details(n) };
                    let (storage, now) = (storage(&mut x), x.number());
                    let _ = cluster.register(details, storage, &[], now);
                }
                1 => {
                    let reports = (0..x.below(4)).map(|_| replica_of(&mut x)).collect();
                    let decision = cluster.report_replicas(reports, x.number());
                    for change in &decision.changes {
                        let _ = cluster.apply(change);
                    }
                }
                2 => {
                    let results = [(x.number(), x.chance(50)), (x.number(), true)];
                    let _ = cluster.acknowledge_deletions(node(1), &results);
                }
                3 => everything(&mut cluster, &mut x),
                _ => {
                    let change = change(&mut x);
                    // Refused or applied.
                    let _ = cluster.apply(&change);
                }
            }
        }
        everything(&mut cluster, &mut x);
        still_works(&mut cluster);
    }
}

/// A pipeline, a container in it, and blocks to delete.
fn still_works(cluster: &mut Cluster) {
    for n in 1..=3 {
        register(cluster, n, &[], START);
    }
    let fresh = Pipeline {
        id: pipeline(100),
        config: THREE,
        storage_type: types::StorageType::default(),
        state: PipelineState::Allocated,
        members: (1..=3).map(details).collect(),
        replica_indexes: vec![0; 3],
        leader: None,
        suggested_leader: None,
        created_ms: START,
        order: Vec::new(),
    };
    cluster.apply(&Change::AddPipeline(fresh)).unwrap();
    cluster.apply(&Change::OpenPipeline(pipeline(100))).unwrap();
    let c = open_container(cluster, 1_000_003, pipeline(100));
    let before = cluster.deletions.summary().transactions;
    let t = Transaction { id: 1_000_003, container: c, size: 7, ..Transaction::default() };
    cluster.apply(&Change::AddDeletions(vec![t])).unwrap();
    assert_eq!(cluster.deletions.summary().transactions, before + 1);
    cluster.apply(&Change::RemoveDeletions(vec![1_000_003])).unwrap();
}

#[test]
fn every_kind_of_change_is_made() {
    let mut x = Extremes::new(1);
    let made: std::collections::BTreeSet<_> = (0..500).map(|_| kind(&change(&mut x))).collect();
    assert_eq!(made.into_iter().collect::<Vec<_>>(), (0..KINDS).collect::<Vec<_>>());
}
