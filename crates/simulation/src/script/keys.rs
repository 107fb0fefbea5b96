//! Keys that scripts write, and checks of them: by clients, and on the DataNodes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use bytes::Bytes;
use client::{BucketSpec, Client, CreateKey, ErrorKind, KeyPath};
use parking_lot::Mutex;
use types::replication::EcConfig;
use types::{BlockId, ContainerId, DatanodeDetails, ReplicationConfig};

use super::Server;
use super::cluster::Cluster;
use super::operator::Clients;
use super::stage::{Stage, minutes, seconds};
use crate::scenario::replica::{Absent, read, striped};
use crate::world::random::Random;

const VOLUME: &str = "volume";
const BUCKET: &str = "bucket";
/// Replicas of a block that is not erasure coded.
const REPLICAS: usize = 3;
/// Lengths that take different ways: in the log, and in chunks. Each byte that is sent costs time
/// of a processor: scripts write little.
const LENGTHS: [usize; 3] = [3_000, 100_000, 1 << 20];

/// A key that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    length: usize,
    coding: Option<EcConfig>,
}

impl Key {
    fn path(&self) -> KeyPath {
        KeyPath::new(VOLUME, BUCKET, &self.name)
    }

    /// Its bytes: no two parts of any two keys are alike.
    fn bytes(&self) -> Bytes {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let mut random = Random::new(self.name.bytes().fold(0xcbf2_9ce4_8422_2325, hash));
        let words = (0..self.length.div_ceil(8)).flat_map(|_| random.next().to_le_bytes());
        words.take(self.length).collect::<Vec<u8>>().into()
    }
}

/// Makes the volume and the bucket, if they are not there, and writes a key.
///
/// # Errors
/// When one of them is refused.
pub fn prepare(cluster: &mut Cluster) -> anyhow::Result<()> {
    let exists = |result: client::Result<()>| match result {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    };
    let made = cluster.ask(move |it| async move {
        exists(it.om.create_volume(VOLUME, None, -1, -1).await)?;
        exists(it.om.create_bucket(VOLUME, BUCKET, BucketSpec::default()).await)
    });
    made??;
    cluster.put("first", 1).map(drop)
}

async fn put(om: &Client, key: &Key) -> client::Result<()> {
    let replication = key.coding.map(ReplicationConfig::Ec);
    let create = CreateKey::new(key.path()).size_hint(key.length as u64);
    let create = match replication {
        Some(replication) => create.replication(replication),
        None => create,
    };
    om.put_key(create, key.bytes()).await.map(drop)
}

impl Cluster {
    /// Writes a key of three replicas.
    ///
    /// # Errors
    /// When it is not acknowledged.
    pub fn put(&mut self, name: &str, length: usize) -> anyhow::Result<Key> {
        self.put_key(Key { name: name.to_owned(), length, coding: None })
    }

    /// Writes an erasure-coded key.
    ///
    /// # Errors
    /// When it is not acknowledged.
    pub fn put_coded(&mut self, name: &str, length: usize, coding: &str) -> anyhow::Result<Key> {
        let coding = coding.parse().map_err(|error| anyhow::anyhow!("{coding}: {error}"))?;
        self.put_key(Key { name: name.to_owned(), length, coding: Some(coding) })
    }

    fn put_key(&mut self, key: Key) -> anyhow::Result<Key> {
        let of = key.clone();
        let put = self.ask(move |it| async move { put(&it.om, &of).await });
        put?.with_context(|| format!("key {} is not acknowledged", key.name))?;
        Ok(key)
    }

    /// Reads keys, and compares them with their written contents.
    ///
    /// # Errors
    /// When one of them cannot be read, or differs.
    pub fn read(&mut self, keys: &[Key]) -> anyhow::Result<()> {
        for key in keys {
            let path = key.path();
            let found = self.ask(move |it| async move { it.om.read_key(&path).await })?;
            let found = found.with_context(|| format!("key {} cannot be read", key.name))?;
            ensure!(found == key.bytes(), "key {} is {} other bytes", key.name, found.len());
        }
        Ok(())
    }

    /// Deletes a key.
    ///
    /// # Errors
    /// When that is not acknowledged.
    pub fn delete(&mut self, key: &Key) -> anyhow::Result<()> {
        let path = key.path();
        let deleted = self.ask(move |it| async move { it.om.delete_key(&path).await })?;
        deleted.with_context(|| format!("key {} is not deleted", key.name))
    }

    /// The containers of keys.
    ///
    /// # Errors
    /// When OM does not answer.
    pub fn containers(&mut self, keys: &[Key]) -> anyhow::Result<BTreeSet<ContainerId>> {
        let keys = keys.to_vec();
        let found = self.ask(move |it| async move {
            let mut found = BTreeSet::new();
            for key in keys {
                found.extend(blocks(&it, &key).await?.iter().map(|(id, _)| id.container));
            }
            anyhow::Ok(found)
        });
        found?
    }

    /// The DataNodes that blocks of keys were written to, in order.
    ///
    /// # Errors
    /// When OM does not answer.
    pub fn written_to(&mut self, keys: &[Key]) -> anyhow::Result<Vec<Server>> {
        let paths: Vec<KeyPath> = keys.iter().map(Key::path).collect();
        let told = self.ask(move |it| async move {
            let mut hosts = BTreeSet::new();
            for path in paths {
                let reader = it.om.open_key(&path).await?;
                let locations = reader.info().key_location_list.iter();
                let locations = locations.flat_map(|list| &list.key_locations);
                let pipelines = locations.filter_map(|location| location.pipeline.as_ref());
                hosts.extend(pipelines.flat_map(|p| &p.members).map(|m| m.host_name.clone()));
            }
            anyhow::Ok(hosts)
        });
        let hosts: BTreeSet<String> = told??;
        ensure!(!hosts.is_empty(), "no DataNode has a block of these keys");
        let mut found = Vec::new();
        for host in hosts {
            found.push(self.machines().server_at(&host).with_context(|| host.clone())?);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Checks that each block of these keys has all its replicas on DataNodes: every byte and
    /// checksum of them is read, from each DataNode separately.
    ///
    /// # Errors
    /// What is lacking, or is wrong.
    pub fn whole(&mut self, keys: &[Key]) -> anyhow::Result<()> {
        let keys = keys.to_vec();
        let lacking = self.ask(move |it| async move {
            let mut lacking = Vec::new();
            let nodes = it.scm.nodes(None, None).await?;
            let of_wire = |node: &proto::hdds::Node| DatanodeDetails::from_wire(&node.node_id).ok();
            let nodes: Vec<DatanodeDetails> = nodes.iter().filter_map(of_wire).collect();
            for key in keys {
                for (id, bytes) in blocks(&it, &key).await? {
                    if let Some(why) = lacks(&it, &nodes, key.coding, id, bytes).await {
                        lacking.push(format!("key {} block {id}: {why}", key.name));
                    }
                }
            }
            anyhow::Ok(lacking)
        });
        let lacking = lacking??;
        ensure!(lacking.is_empty(), "{}", lacking.join("\n  "));
        Ok(())
    }

    /// Has clients write keys, one after the other each, until they are stopped.
    pub fn write(&self, clients: usize) -> Writers {
        let writers = Writers::default();
        for number in 0..clients {
            let of = writers.clone();
            of.running.fetch_add(1, Ordering::AcqRel);
            self.begin(move |it| async move { of.work(&it.om, number).await });
        }
        writers
    }
}

/// The blocks of a key, with their bytes.
async fn blocks(it: &Clients, key: &Key) -> anyhow::Result<Vec<(BlockId, Bytes)>> {
    let info = it.om.key_info(&key.path()).await.with_context(|| key.name.clone())?;
    let mut rest = key.bytes();
    let mut found = Vec::new();
    for location in info.key_location_list.iter().flat_map(|list| &list.key_locations) {
        let bytes = rest.split_to((location.length as usize).min(rest.len()));
        found.push((BlockId::from_wire(&location.block_id), bytes));
    }
    ensure!(rest.is_empty(), "{} bytes of key {} are in no block", rest.len(), key.name);
    Ok(found)
}

/// Defects of a block's replicas.
async fn lacks(
    it: &Clients,
    nodes: &[DatanodeDetails],
    coding: Option<EcConfig>,
    id: BlockId,
    bytes: Bytes,
) -> Option<String> {
    let parts = coding.map(|config| striped(config, &bytes));
    let mut found = Vec::new();
    let mut good = BTreeSet::new();
    for node in nodes {
        let told = match read(&it.pool, node, id).await {
            Err(Absent::Nothing) => continue,
            Err(absent) => format!("{absent:?}"),
            Ok(replica) => {
                let part = match &parts {
                    None => Some(&bytes).filter(|_| replica.index == 0),
                    Some(parts) => {
                        (replica.index as usize).checked_sub(1).and_then(|at| parts.get(at))
                    }
                };
                match part {
                    Some(part) if replica.bytes.starts_with(part) && replica.bcsid >= id.bcsid => {
                        good.insert(if parts.is_some() {
                            replica.index.to_string()
                        } else {
                            node.host.clone()
                        });
                        format!("good, index {}", replica.index)
                    }
                    _ => format!(
                        "{} bytes of index {} at {}, which are not its own",
                        replica.bytes.len(),
                        replica.index,
                        replica.bcsid
                    ),
                }
            }
        };
        found.push(format!("{}: {told}", node.host));
    }
    // Padding has no block where nothing was written.
    let wanted = match &parts {
        None => REPLICAS,
        Some(parts) => parts.iter().filter(|part| !part.is_empty()).count(),
    };
    (good.len() < wanted)
        .then(|| format!("{} of {wanted} replicas: {}", good.len(), found.join(", ")))
}

/// Clients that write, and the responses they got.
#[derive(Clone, Default)]
pub struct Writers {
    acknowledged: Arc<Mutex<Vec<Key>>>,
    failed: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    running: Arc<AtomicUsize>,
}

impl Writers {
    async fn work(&self, om: &Client, number: usize) {
        for count in 0.. {
            if self.is_over.load(Ordering::Acquire) {
                self.running.fetch_sub(1, Ordering::AcqRel);
                return;
            }
            let name = format!("writer-{number}-{count}");
            let key = Key { name, length: LENGTHS[count % LENGTHS.len()], coding: None };
            match put(om, &key).await {
                Ok(()) => self.acknowledged.lock().push(key),
                Err(error) => self.failed.lock().push(format!("{}: {error}", key.name)),
            }
            tokio::time::sleep(seconds(1)).await;
        }
    }

    /// Has them stop after the write that each is at.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Checks that all have stopped, and no write failed.
    ///
    /// # Errors
    /// The number of those that still run, or the failed writes.
    fn ended(&self) -> anyhow::Result<()> {
        self.none_failed()?;
        let running = self.running.load(Ordering::Acquire);
        ensure!(running == 0, "{running} writers are at a write");
        Ok(())
    }

    /// Stops them, and waits until the last write of each has ended well.
    ///
    /// # Errors
    /// When one failed or hangs.
    pub fn end_well(&self, cluster: &mut Cluster) -> anyhow::Result<()> {
        self.stop();
        cluster.expect("every write ends well", minutes(5), |_| self.ended())
    }

    /// Keys that were acknowledged until now.
    pub fn keys(&self) -> Vec<Key> {
        self.acknowledged.lock().clone()
    }

    /// Checks that this many writes were acknowledged until now.
    ///
    /// # Errors
    /// When there are fewer.
    pub fn reached(&self, count: usize) -> anyhow::Result<()> {
        let (there, failed) = (self.acknowledged.lock().len(), self.failed.lock());
        ensure!(there >= count, "{there} of {count} keys were acknowledged, failed: {failed:?}");
        Ok(())
    }

    /// Checks that no write failed.
    ///
    /// # Errors
    /// Those that did.
    fn none_failed(&self) -> anyhow::Result<()> {
        let failed = self.failed.lock();
        ensure!(failed.is_empty(), "writes failed: {failed:?}");
        Ok(())
    }
}
