//! A cluster in memory, and a client of it with small sizes, so that little data covers every path.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use client::{Checksum, Client, ClientOptions, CreateKey, KeyPath};
use tokio::sync::Semaphore;
use types::replication::EcConfig;
use types::{Pipeline, PipelineId, PipelineState, ReplicationConfig};

use crate::datanode::{Blocks, Node};
use crate::om::{Om, State};

pub const CHUNK: usize = 64 << 10;
pub const SMALL: usize = 16 << 10;
pub const BLOCK: u64 = 256 << 10;

pub struct Cluster {
    pub om: Om,
    pub blocks: Arc<Blocks>,
    pub pipelines: Vec<Vec<Node>>,
    pub client: Client,
}

impl Cluster {
    /// Starts a cluster with this number of pipelines of three nodes each.
    pub async fn start(pipelines: usize) -> Self {
        Self::start_with(pipelines, |_| {}).await
    }

    /// Starts a cluster with changed options of the client.
    pub async fn start_with(pipelines: usize, change: impl FnOnce(&mut ClientOptions)) -> Self {
        let (state, blocks) = (Arc::<State>::default(), Arc::<Blocks>::default());
        state.block_size.store(BLOCK, Ordering::Relaxed);
        state.preallocate.store(1, Ordering::Relaxed);
        let mut nodes = Vec::new();
        for _ in 0..pipelines {
            let mut members = Vec::new();
            for _ in 0..3 {
                members.push(Node::start(blocks.clone()).await);
            }
            state.pipelines.lock().push(pipeline(&members));
            nodes.push(members);
        }
        let om = Om::start(state).await;
        let mut options = options(vec![om.address.clone()]);
        change(&mut options);
        let client = Client::new(options).unwrap();
        Self { om, blocks, pipelines: nodes, client }
    }

    /// Starts a cluster with groups of nodes for erasure-coded keys. Blocks of a replica have four
    /// full cells.
    pub async fn erasure_coded(
        groups: usize,
        config: EcConfig,
        change: impl FnOnce(&mut ClientOptions),
    ) -> Self {
        let mut cluster = Self::start_with(0, change).await;
        let state = cluster.state();
        state.block_size.store(4 * u64::from(config.chunk_size), Ordering::Relaxed);
        *state.erasure_coding.lock() = Some(config);
        for _ in 0..groups {
            let mut members = Vec::new();
            for _ in 0..config.data + config.parity {
                members.push(Node::start(cluster.blocks.clone()).await);
            }
            cluster.state().pipelines.lock().push(group(&members, config));
            cluster.pipelines.push(members);
        }
        cluster
    }

    pub fn state(&self) -> &State {
        &self.om.state
    }

    pub async fn put(&self, key: &str, data: Bytes) -> client::Result<proto::ozone::KeyInfo> {
        self.client.put_key(CreateKey::new(path(key)), data).await
    }

    /// Replaces a key during its next lookup: it returns the old version, which is then replaced.
    pub fn replace_after_look_up(&self, key: &'static str, with: &'static str) {
        let blocks = self.blocks.clone();
        let happens = move |state: &State| replace(state, &blocks, key, with);
        *self.state().after_look_up.lock() = Some(Box::new(happens));
    }

    /// Reads of one block of a key wait for permits.
    pub fn hold_reads(&self, key: &proto::ozone::KeyInfo, block: usize) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        let id = key.key_location_list[0].key_locations[block].block_id.container_block_id;
        for node in self.pipelines.iter().flatten() {
            *node.faults.read_gate.lock() = Some((id.local_id, gate.clone()));
        }
        gate
    }

    pub async fn get(&self, key: &str) -> client::Result<Bytes> {
        self.client.read_key(&path(key)).await
    }
}

/// Replaces one key by another, and deletes its blocks at once.
pub fn replace(state: &State, blocks: &Blocks, key: &str, with: &str) {
    let mut keys = state.keys.lock();
    let new = keys.remove(with).unwrap();
    blocks.delete(&keys.insert(key.to_owned(), new).unwrap());
}

pub fn path(key: &str) -> KeyPath {
    KeyPath::new("vol", "bucket", key)
}

pub fn pipeline(members: &[Node]) -> Pipeline {
    Pipeline {
        id: PipelineId::random(),
        config: ReplicationConfig::RATIS_THREE,
        storage_type: types::StorageType::default(),
        state: PipelineState::Open,
        leader: members.first().map(|node| node.details.id),
        suggested_leader: None,
        members: members.iter().map(|node| node.details.clone()).collect(),
        replica_indexes: vec![0; members.len()],
        created_ms: 0,
        order: Vec::new(),
    }
}

/// A pipeline of a block group: each node has the replica index of its position.
pub fn group(members: &[Node], config: EcConfig) -> Pipeline {
    Pipeline {
        config: ReplicationConfig::Ec(config),
        storage_type: types::StorageType::default(),
        leader: None,
        replica_indexes: (1..).take(members.len()).collect(),
        ..pipeline(members)
    }
}

pub fn options(om_addresses: Vec<String>) -> ClientOptions {
    // A test that waits for a timeout sets it; no other request takes as long.
    let patience = testkit::LIMIT;
    ClientOptions {
        follower_reads: None,
        om_probe_interval: Duration::from_secs(3),
        om_addresses,
        scm_addresses: Vec::new(),
        user: "tester".to_owned(),
        connect_timeout: patience,
        attempt_timeout: patience,
        deadline: patience,
        max_backoff: Duration::from_millis(20),
        write_retries: 5,
        stripe_retries: 3,
        read_retries: 3,
        read_retry_interval: Duration::from_millis(200),
        read_timeout: patience,
        write_timeout: patience,
        silence: patience,
        hedge_after: Duration::from_millis(20),
        chunk_size: CHUNK,
        flush_size: 2 * CHUNK,
        max_unacknowledged: 4 * CHUNK,
        max_unacknowledged_ec: 4 * CHUNK,
        small_size: SMALL,
        read_ahead: 4 * CHUNK,
        read_size: CHUNK,
        checksum: Checksum {
            kind: proto::datanode::ChecksumType::Crc32,
            bytes_per_checksum: 8 << 10,
        },
        verify_checksum: true,
        exclude_expiry: 10 * patience,
        topology_aware_read: true,
        list_page: 10,
        memory: None,
        block_size: BLOCK,
    }
}

/// Bytes in which no two slices are equal.
pub fn data(size: usize) -> Bytes {
    let mut state = size as u64 | 1;
    let bytes = (0..size).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    bytes.collect::<Vec<_>>().into()
}
