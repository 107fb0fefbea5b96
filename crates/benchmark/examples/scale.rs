//! Time from SCM's start until it leaves safe mode, with thousands of DataNodes that register at
//! once with full reports, and its memory then.
//!
//! `cargo run --release --example scale -- [--nodes 10002] [--containers 1000]`: containers are per
//! node, each on three nodes. SCM is a real one, on loopback, with a store that is filled before;
//! the nodes only send messages. Both share the process, so CPU time is that of both ends.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use config::Configuration;
use framed::{Client, ClientOptions};
use metastore::{Batch, Durability, Store, StoreOptions};
use placement::Container;
use proto::hdds::LifeCycleState;
use proto::method;
use proto::scm_datanode::container_replica_proto::State;
use proto::scm_datanode::{
    ContainerReplicaProto, ContainerReportsProto, NodeReportProto, PipelineReportsProto,
    ScmDatanodeRequest, ScmDatanodeResponse, ScmHeartbeatRequestProto, ScmRegisterRequestProto,
    Status, StorageReportProto, Type,
};
use scm::{Scm, tables};
use types::{ContainerId, DatanodeDetails, DatanodeId, ReplicationConfig};

/// Number of concurrent calls.
const WIDTH: usize = 64;
const CONNECTIONS: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(120);

struct Nodes {
    details: Vec<DatanodeDetails>,
    containers: usize,
    clients: Vec<Client>,
}

#[tokio::main]
async fn main() {
    let nodes = argument("--nodes", 10_002) / 3 * 3;
    let containers = argument("--containers", 1_000);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let conf = configuration(dir.path());
    Scm::start(&conf).await.expect("a first start").shutdown().await;
    let total = nodes / 3 * containers;
    let began = Instant::now();
    fill(&dir.path().join("scm.db"), total);
    println!("{total} containers written in {:.1?}; {} MB resident", began.elapsed(), resident());

    let began = Instant::now();
    let cpu = cpu_time();
    let scm = Scm::start(&conf).await.expect("a start");
    println!("SCM serves after {:.1?}; {} MB resident", began.elapsed(), resident());
    let address = scm.addresses().datanode.to_string();
    let options = ClientOptions { connections: 1, ..ClientOptions::default() };
    let all = Arc::new(Nodes {
        details: (0..nodes).map(node).collect(),
        containers,
        clients: (0..CONNECTIONS).map(|_| Client::new(address.clone(), options.clone())).collect(),
    });
    let registering = Instant::now();
    tokio::spawn(each(all.clone(), Nodes::register)).await.expect("every node registers");
    let storm = registering.elapsed();
    let replicas = nodes * containers;
    println!(
        "{nodes} nodes with {replicas} replicas registered in {storm:.1?} ({:.0} replicas/s)",
        replicas as f64 / storm.as_secs_f64()
    );
    record("scm/registration", replicas as f64 / storm.as_secs_f64(), "replicas/s");
    tokio::time::timeout(TIMEOUT, scm.ready()).await.expect("out of safe mode");
    println!(
        "out of safe mode {:.1?} after the start; CPU {:.1} s, both ends; {} MB resident",
        began.elapsed(),
        (cpu_time() - cpu).as_secs_f64(),
        resident()
    );
    record("scm/start to out of safe mode", began.elapsed().as_secs_f64(), "s");
    record("scm/memory out of safe mode", resident() as f64, "MB");
    for (what, full) in [("heartbeats", false), ("full container reports", true)] {
        let (round, cpu) = (Instant::now(), cpu_time());
        let beat = move |nodes: Arc<Nodes>, number| nodes.heartbeat(number, full);
        tokio::spawn(each(all.clone(), beat)).await.expect("every node is answered");
        println!(
            "{nodes} {what} in {:.1?}, CPU {:.2} s, both ends; {} MB resident",
            round.elapsed(),
            (cpu_time() - cpu).as_secs_f64(),
            resident()
        );
        let rate = nodes as f64 / round.elapsed().as_secs_f64();
        record(&format!("scm/{what}"), rate, "nodes/s");
    }
    scm.shutdown().await;
}

/// Runs `work` for every node, some concurrently.
async fn each<F, W>(nodes: Arc<Nodes>, work: W)
where
    W: Fn(Arc<Nodes>, usize) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let work = Arc::new(work);
    let workers = (0..WIDTH).map(|_| {
        let (nodes, next, work) = (nodes.clone(), next.clone(), work.clone());
        async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= nodes.details.len() {
                    return;
                }
                work(nodes.clone(), number).await;
            }
        }
    });
    futures::future::join_all(workers).await;
}

impl Nodes {
    async fn register(self: Arc<Self>, number: usize) {
        let request = ScmDatanodeRequest {
            cmd_type: Type::Register as i32,
            register_request: Some(ScmRegisterRequestProto {
                datanode_details: self.details[number].to_wire(),
                node_report: node_report(),
                container_report: self.replicas(number),
                pipeline_reports: PipelineReportsProto { pipeline_report: Vec::new() },
                data_node_layout_version: None,
            }),
            ..Default::default()
        };
        self.call(number, request).await;
    }

    async fn heartbeat(self: Arc<Self>, number: usize, full: bool) {
        let request = ScmDatanodeRequest {
            cmd_type: Type::SendHeartbeat as i32,
            send_heartbeat_request: Some(ScmHeartbeatRequestProto {
                datanode_details: self.details[number].to_wire(),
                node_report: Some(node_report()),
                container_report: full.then(|| self.replicas(number)),
                ..Default::default()
            }),
            ..Default::default()
        };
        self.call(number, request).await;
    }

    async fn call(&self, number: usize, request: ScmDatanodeRequest) {
        let client = &self.clients[number % self.clients.len()];
        let call = framed::message::call(client, method::SCM_DATANODE, &request, TIMEOUT);
        let response: ScmDatanodeResponse = call.await.expect("SCM answers");
        assert_eq!(response.status(), Status::Ok, "{response:?}");
    }

    /// Three consecutive nodes have the same containers.
    fn replicas(&self, number: usize) -> ContainerReportsProto {
        let first = number / 3 * self.containers + 1;
        let origin = self.details[number].id.to_string();
        let one = |id: usize| ContainerReplicaProto {
            container_id: id as i64,
            state: State::Closed as i32,
            used: Some(5 << 30),
            key_count: Some(1_000),
            block_commit_sequence_id: Some(1_000),
            origin_node_id: Some(origin.clone()),
            is_empty: Some(false),
            ..Default::default()
        };
        ContainerReportsProto { reports: (first..first + self.containers).map(one).collect() }
    }
}

fn node(number: usize) -> DatanodeDetails {
    DatanodeDetails::new(DatanodeId::random(), "127.0.0.1", format!("node{number}"))
}

fn node_report() -> NodeReportProto {
    NodeReportProto {
        storage_report: vec![StorageReportProto {
            storage_uuid: "DS-1".to_owned(),
            storage_location: "/data".to_owned(),
            capacity: Some(100 << 40),
            scm_used: Some(5 << 40),
            remaining: Some(95 << 40),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn configuration(dir: &Path) -> Configuration {
    let settings = [
        ("ozone.scm.client.address", "127.0.0.1:0"),
        ("ozone.scm.block.client.address", "127.0.0.1:0"),
        ("ozone.scm.datanode.address", "127.0.0.1:0"),
        ("ozone.scm.http.enabled", "false"),
        // The nodes do not retry every second here.
        ("ozone.scm.stale.node.interval", "5m"),
        ("ozone.scm.dead.node.interval", "10m"),
    ];
    let conf = Configuration::default().with("ozone.scm.db.dirs", dir.display());
    settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value))
}

/// Closed containers, as in a store after years.
fn fill(path: &Path, count: usize) {
    let store = Store::open(path, &tables::ALL, &StoreOptions::default()).expect("the store opens");
    let mut batch = Batch::new();
    for id in 1..=count as u64 {
        let container = Container {
            id: ContainerId(id),
            state: LifeCycleState::Closed,
            pipeline: None,
            config: ReplicationConfig::RATIS_THREE,
            storage_type: types::StorageType::default(),
            owner: "om".into(),
            used_bytes: 5 << 30,
            keys: 1_000,
            state_enter_ms: 1,
            sequence_id: 1_000,
            delete_transaction: 0,
            suppressed: false,
            evidence: Default::default(),
        };
        let key = tables::ContainerKey(container.id);
        tables::CONTAINERS.put(&mut batch, &key, &tables::ContainerRow(container));
        if batch.bytes() > 4 << 20 || id == count as u64 {
            store.write(std::mem::take(&mut batch), Durability::NoWal).expect("a write");
        }
    }
    store.flush().expect("a flush");
}

fn argument(name: &str, default: usize) -> usize {
    let mut words = std::env::args().skip_while(|word| word != name).skip(1);
    words.next().map_or(default, |word| word.parse().expect("a number"))
}

/// Resident memory in MB.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096 / 1_000_000
}
