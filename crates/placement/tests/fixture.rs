//! A small cluster to put rules to the test.

use placement::node::DestinationChoice;
use placement::{
    Change, Cluster, Container, Decision, Order, OrderKind, Replica, ReplicaState, Settings,
    Storage,
};
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeDetails, DatanodeId, PipelineId, ReplicationConfig};
use uuid::Uuid;

pub const THREE: ReplicationConfig = ReplicationConfig::RATIS_THREE;
pub const ONE: ReplicationConfig = ReplicationConfig::RATIS_ONE;
pub const OWNER: &str = "omServiceIdDefault";

/// Start time of the tests.
pub const START: u64 = 1_000_000;

pub fn node(n: u128) -> DatanodeId {
    DatanodeId(Uuid::from_u128(n))
}

pub fn pipeline(n: u128) -> PipelineId {
    PipelineId(Uuid::from_u128(0xabc << 64 | n))
}

pub fn container(n: u64) -> ContainerId {
    ContainerId(n)
}

pub fn disks(count: usize) -> Vec<Storage> {
    (0..count)
        .map(|i| Storage {
            id: format!("DS-{i}"),
            location: format!("/data{i}"),
            capacity: 1 << 40,
            remaining: 1 << 40,
            ..Storage::default()
        })
        .collect()
}

/// Settings without safe mode.
pub fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.safe_mode.enabled = false;
    settings
}

/// A cluster out of safe mode with nodes 1 to `nodes` registered and no pipelines.
pub fn cluster(nodes: u128, settings: Settings) -> Cluster {
    let mut cluster = Cluster::new(settings);
    cluster.begin_safe_mode();
    cluster.note_state_machine_ready();
    for n in 1..=nodes {
        register(&mut cluster, n, &[], START);
    }
    cluster
}

pub fn details(n: u128) -> DatanodeDetails {
    DatanodeDetails::new(node(n), format!("10.0.0.{n}"), format!("host{n}"))
}

pub fn register(cluster: &mut Cluster, n: u128, on_disk: &[PipelineId], now: u64) -> Decision {
    cluster.register(details(n), disks(1), on_disk, now).1
}

/// Applies a decision and its consequences; returns the orders.
pub fn carry_out(cluster: &mut Cluster, decision: Decision, now: u64) -> Vec<Order> {
    let mut orders = decision.orders;
    for change in decision.changes {
        if cluster.apply(&change).is_ok() {
            let more = cluster.follow_up(&change, now);
            orders.extend(carry_out(cluster, more, now));
        }
    }
    orders
}

pub fn apply(cluster: &mut Cluster, decision: &Decision) {
    for change in &decision.changes {
        cluster.apply(change).unwrap();
    }
}

/// Creates every pipeline that the rules plan, numbered from `first`, and lets their members report
/// them; the suggested leaders lead.
pub fn make_pipelines(cluster: &mut Cluster, first: u128, now: u64) -> Vec<PipelineId> {
    let plans = cluster.plan_pipelines();
    let mut made = Vec::new();
    for (i, plan) in plans.iter().enumerate() {
        let id = pipeline(first + i as u128);
        let record = cluster.build_pipeline(plan, id, now);
        cluster.apply(&Change::AddPipeline(record)).unwrap();
        for member in &plan.members {
            let decision = cluster.report_pipelines(*member, &[(id, *member == plan.leader)]);
            apply(cluster, &decision);
        }
        assert!(cluster.pipelines.is_open(id));
        made.push(id);
    }
    made
}

/// Three nodes with one RATIS/THREE pipeline between them.
pub fn trio() -> (Cluster, PipelineId) {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let pipelines = make_pipelines(&mut cluster, 1, START);
    assert_eq!(pipelines.len(), 1);
    (cluster, pipelines[0])
}

pub fn open_container(cluster: &mut Cluster, id: u64, pipeline: PipelineId) -> ContainerId {
    let id = container(id);
    cluster
        .apply(&Change::AddContainer(Container {
            id,
            state: LifeCycleState::Open,
            pipeline: Some(pipeline),
            config: cluster.pipelines.get(pipeline).unwrap().record.config,
            storage_type: cluster.pipelines.get(pipeline).unwrap().record.storage_type,
            owner: OWNER.into(),
            used_bytes: 0,
            keys: 0,
            state_enter_ms: START,
            sequence_id: 0,
            delete_transaction: 0,
            suppressed: false,
            evidence: Default::default(),
        }))
        .unwrap();
    id
}

pub fn replica(n: u128, state: ReplicaState, keys: u64, sequence_id: u64) -> Replica {
    Replica {
        node: node(n),
        state,
        used_bytes: keys * 1_000,
        keys,
        sequence_id,
        origin: node(n),
        replica_index: 0,
        storage_type: types::StorageType::default(),
        is_empty: keys == 0,
        data_checksum: 0,
        delete_transaction: 0,
        lags: false,
    }
}

/// Reports a replica, and applies what follows.
pub fn report(cluster: &mut Cluster, id: ContainerId, replica: Replica, now: u64) -> Vec<Order> {
    let decision = cluster.report_replicas(vec![(id, replica)], now);
    apply(cluster, &decision);
    decision.orders
}

pub fn state(cluster: &Cluster, id: ContainerId) -> LifeCycleState {
    cluster.containers.get(id).unwrap().state
}

/// Closes a container with that many keys on nodes 1 to 3.
pub fn close(cluster: &mut Cluster, id: ContainerId, keys: u64, now: u64) {
    let decision = cluster.finalize_container(id, now);
    apply(cluster, &decision);
    for n in 1..=3 {
        report(cluster, id, replica(n, ReplicaState::Closed, keys, keys), now);
    }
    assert_eq!(state(cluster, id), LifeCycleState::Closed);
}

/// Destination of the replicas of a node that is about to leave: for every second one a node that
/// the rules choose, for the others any.
pub fn choose_destination(cluster: &mut Cluster, n: u128) {
    let choice = match n.is_multiple_of(2) {
        true => DestinationChoice::Auto,
        false => DestinationChoice::Any,
    };
    for change in cluster.plan_destinations(&[node(n)], choice).unwrap() {
        cluster.apply(&change).unwrap();
    }
}

pub fn to(n: u128, kind: OrderKind) -> Order {
    Order { node: node(n), kind }
}
