//! kill -9 of OMs, the leader included, while they compact ranges of their tables, delete
//! directories and keys, create and delete snapshots and send checkpoints of their tables.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use client::{BucketSpec, Client, CreateKey, ErrorKind, KeyPath, ScmClient};
use config::Configuration;
use metastore::{IterRange, OfflineStore};
use prost::Message;
use proto::ozone::{
    BucketInfo, BucketLayoutProto, DeleteKeyRequest, KeyArgs, OmRequest, Status, Type,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use testkit::{free_ports, until};

use super::cluster::free;
use super::ledger::content;
use super::{BUCKET, VOLUME, make_bucket, runtime};
use crate::process::{Daemon, o3, stdout};

const KILLS: usize = 8;
/// Number of operations between two kills.
const OPERATIONS: u64 = 40;
/// A bucket with directories.
const TREE: &str = "tree1";
/// Bytes of a key.
const SIZE: usize = 100;

/// All background services of OM run at once and in many small batches, a checkpoint takes long
/// enough to be interrupted, and the log is short, so that followers receive snapshots, too.
const EAGER: [(&str, &str); 13] = [
    ("ozone.om.range.compaction.service.interval", "50ms"),
    ("ozone.om.range.compaction.service.min.tombstones", "20"),
    ("ozone.om.range.compaction.service.tombstone.percentage", "10"),
    ("trioxide.om.key.deleting.service.interval", "100ms"),
    ("trioxide.om.deleted.blocks.kept", "0s"),
    ("ozone.key.deleting.limit.per.task", "20"),
    ("ozone.directory.deleting.service.interval", "100ms"),
    ("ozone.path.deleting.limit.per.task", "10"),
    ("ozone.snapshot.deleting.service.interval", "100ms"),
    ("ozone.snapshot.key.deleting.limit.per.task", "10"),
    ("ozone.om.ratis.snapshot.auto.trigger.threshold", "300"),
    ("trioxide.om.checkpoint.rate", "300KB"),
    // Clients wait long enough for OMs to restart on a busy machine.
    ("trioxide.client.deadline", "10m"),
];

/// Three OMs, an SCM and three DataNodes as processes.
struct Service {
    dir: tempfile::TempDir,
    /// Settings of all roles and clients.
    shared: Vec<(String, String)>,
    oms: Vec<Option<Daemon>>,
    http: Vec<String>,
    // Killed with this value.
    _others: Vec<Daemon>,
}

impl Service {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let addresses = ["client", "block.client", "datanode"];
        let path = |name: &str| dir.path().join(name).display().to_string();
        let mut own = vec![
            ("ozone.metadata.dirs".to_owned(), path("scm")),
            ("ozone.scm.http-address".to_owned(), free()),
        ];
        own.extend(addresses.map(|kind| (format!("ozone.scm.{kind}.address"), free())));
        let scm = Daemon::start(role("scm", &own));
        let mut shared: Vec<(String, String)> =
            EAGER.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        for (kind, name) in addresses.into_iter().zip(["client", "block", "datanode"]) {
            shared.push((format!("ozone.scm.{kind}.address"), scm.address(name)));
        }
        shared.push(("ozone.om.service.ids".to_owned(), "svc".to_owned()));
        shared.push(("ozone.om.nodes.svc".to_owned(), "om1,om2,om3".to_owned()));
        let mut http = Vec::new();
        for node in ["om1", "om2", "om3"] {
            let ports = free_ports(3);
            http.push(format!("127.0.0.1:{}", ports[1]));
            for (key, value) in [
                ("address", format!("127.0.0.1:{}", ports[0])),
                ("http-address", format!("127.0.0.1:{}", ports[1])),
                ("ratis.port", ports[2].to_string()),
                ("grpc.port", "0".to_owned()),
            ] {
                shared.push((format!("ozone.om.{key}.svc.{node}"), value));
            }
        }
        let mut others = vec![scm];
        for node in ["dn1", "dn2", "dn3"] {
            let mut all = shared.clone();
            for (key, value) in [
                ("ozone.metadata.dirs", path(node)),
                ("hdds.datanode.dir", path(&format!("{node}/data"))),
                ("trioxide.datanode.bind.host", "127.0.0.1".to_owned()),
                ("hdds.container.ipc.random.port", "true".to_owned()),
                ("hdds.container.ratis.ipc.random.port", "true".to_owned()),
                ("trioxide.datanode.port", "0".to_owned()),
                ("hdds.datanode.http-address", free()),
            ] {
                all.push((key.to_owned(), value));
            }
            others.push(Daemon::start(role("datanode", &all)));
        }
        let mut service = Self { dir, shared, oms: vec![None, None, None], http, _others: others };
        (0..3).for_each(|n| service.start_om(n));
        service
    }

    fn om_dir(&self, n: usize) -> std::path::PathBuf {
        self.dir.path().join(format!("om{}", n + 1))
    }

    fn start_om(&mut self, n: usize) {
        let mut all = self.shared.clone();
        all.push(("ozone.om.node.id".to_owned(), format!("om{}", n + 1)));
        all.push(("ozone.metadata.dirs".to_owned(), self.om_dir(n).display().to_string()));
        self.oms[n] = Some(Daemon::start(role("om", &all)));
    }

    fn configuration(&self) -> Configuration {
        let mut builder = Configuration::builder();
        for (key, value) in &self.shared {
            builder = builder.define(format!("{key}={value}")).unwrap();
        }
        builder.build().unwrap()
    }
}

fn role(kind: &str, definitions: &[(String, String)]) -> Command {
    define(o3(&[kind, "--json"]), definitions)
}

fn define(mut command: Command, definitions: &[(String, String)]) -> Command {
    for (key, value) in definitions {
        command.args(["-D", &format!("{key}={value}")]);
    }
    command
}

/// The OM that is the leader.
async fn leader(client: &Client) -> Option<usize> {
    let states = client.om_states().await.into_iter().filter_map(|(_, state)| state.ok());
    let leading = states.filter(|(state, _)| state.role == "LEADER");
    let newest = leading.max_by_key(|(state, _)| state.term)?;
    ["om1", "om2", "om3"].iter().position(|node| newest.0.node_id == *node)
}

/// Number of ranges that an OM has compacted since its start.
async fn compacted(client: &Client, n: usize) -> u64 {
    let statuses = client.om_range_compactions().await.into_iter();
    let node = format!("om{}", n + 1);
    let own = statuses.filter_map(|(_, status)| status.ok()).find(|status| status.node_id == node);
    own.map_or(0, |status| status.compacted)
}

/// The keys of a bucket with their versions.
type Keys = BTreeMap<String, u64>;

/// Changes a bucket of its own, and records the content of the bucket and its snapshots.
struct Writer {
    client: Client,
    bucket: &'static str,
    random: SmallRng,
    version: u64,
    keys: Keys,
    snapshots: BTreeMap<String, Keys>,
}

impl Writer {
    fn new(client: &Client, bucket: &'static str, seed: u64) -> Self {
        Self {
            client: client.clone(),
            bucket,
            random: SmallRng::seed_from_u64(seed),
            version: 0,
            keys: Keys::new(),
            snapshots: BTreeMap::new(),
        }
    }

    /// The names of all possible keys.
    fn names(&self) -> Vec<String> {
        match self.bucket {
            TREE => (0..48).map(|i| format!("d{}/e{}/k{}", i / 16, i / 4 % 4, i % 4)).collect(),
            _ => (0..48).map(|i| format!("k{i:02}")).collect(),
        }
    }

    fn path(&self, name: &str) -> KeyPath {
        KeyPath::new(VOLUME, self.bucket, name)
    }

    /// Runs until `stop` is set. Every operation succeeds, however many OMs are killed.
    async fn run(mut self, stop: Arc<AtomicBool>, done: Arc<AtomicU64>) -> Self {
        let names = self.names();
        while !stop.load(Ordering::Relaxed) {
            let name = names[self.random.random_range(0..names.len())].clone();
            if let Err(e) = self.step(&name).await {
                panic!("{}/{name}: {e}", self.bucket);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        self
    }

    async fn step(&mut self, name: &str) -> Result<(), client::Error> {
        let (volume, bucket) = (VOLUME, self.bucket);
        match self.random.random_range(0..100) {
            0..60 => {
                self.version += 1;
                let data = content(name, self.version, SIZE);
                self.client.put_key(CreateKey::new(self.path(name)), data).await?;
                self.keys.insert(name.to_owned(), self.version);
            }
            60..80 => {
                if self.keys.remove(name).is_some() {
                    self.client.delete_key(&self.path(name)).await?;
                }
            }
            80..86 => self.delete_many(name).await?,
            86..91 if self.snapshots.len() < 4 => {
                self.version += 1;
                let made = format!("snap{}", self.version);
                self.client.create_snapshot(volume, bucket, Some(&made)).await?;
                self.snapshots.insert(made, self.keys.clone());
            }
            91..95 => {
                if let Some((gone, _)) = self.snapshots.pop_first() {
                    self.client.delete_snapshot(volume, bucket, &gone).await?;
                }
            }
            _ => {
                self.compare("", &self.keys, name).await;
                if let Some((snapshot, keys)) = self.snapshots.first_key_value() {
                    self.compare(&format!(".snapshot/{snapshot}/"), keys, name).await;
                }
            }
        }
        Ok(())
    }

    /// Deletes a directory with its content, or several keys.
    async fn delete_many(&mut self, name: &str) -> Result<(), client::Error> {
        let Some((directory, _)) = name.split_once('/') else {
            let beside = self.keys.range(name.to_owned()..).take(20);
            let gone: Vec<String> = beside.map(|(key, _)| key.clone()).collect();
            for key in gone {
                self.client.delete_key(&self.path(&key)).await?;
                self.keys.remove(&key);
            }
            return Ok(());
        };
        let below = format!("{directory}/");
        if !self.keys.keys().any(|key| key.starts_with(&below)) {
            return Ok(());
        }
        let key_args = KeyArgs {
            volume_name: VOLUME.to_owned(),
            bucket_name: self.bucket.to_owned(),
            key_name: directory.to_owned(),
            recursive: Some(true),
            ..KeyArgs::default()
        };
        let request = OmRequest {
            cmd_type: Type::DeleteKey as i32,
            delete_key_request: Some(Box::new(DeleteKeyRequest { key_args })),
            ..OmRequest::default()
        };
        let answer = self.client.submit(request).await?;
        assert_eq!(answer.status(), Status::Ok, "{directory}: {:?}", answer.message);
        self.keys.retain(|key, _| !key.starts_with(&below));
        Ok(())
    }

    /// Compares a key of the bucket, or of a snapshot, with the record.
    async fn compare(&self, prefix: &str, keys: &Keys, name: &str) {
        let found = match self.client.read_key(&self.path(&format!("{prefix}{name}"))).await {
            Ok(found) => Some(found),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => panic!("{}/{prefix}{name}: {e}", self.bucket),
        };
        let expected: Option<Bytes> = keys.get(name).map(|version| content(name, *version, SIZE));
        let (len, version) = (found.as_ref().map(Bytes::len), keys.get(name));
        assert!(found == expected, "{}/{prefix}{name}: {len:?}, not {version:?}", self.bucket);
    }

    async fn verify(&self) {
        for name in self.names() {
            self.compare("", &self.keys, &name).await;
            for (snapshot, keys) in &self.snapshots {
                self.compare(&format!(".snapshot/{snapshot}/"), keys, &name).await;
            }
        }
    }
}

/// Results of the checkpoints.
#[derive(Default)]
struct Copies {
    stop: AtomicBool,
    /// The OM, counted from one, that is sending a checkpoint.
    sender: AtomicUsize,
    whole: AtomicU64,
    cut: AtomicU64,
}

impl Copies {
    /// Downloads checkpoints of all OMs in turn, in both forms, and checks the complete ones.
    fn take(&self, oms: &[String]) {
        let turns =
            (0..oms.len()).flat_map(|n| ["/dbCheckpoint", "/v2/dbCheckpoint"].map(|f| (n, f)));
        for (n, form) in turns.cycle() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let archive = self.get(n, &oms[n], form);
            self.sender.store(0, Ordering::Relaxed);
            let dir = tempfile::tempdir().unwrap();
            match archive {
                Some(archive) if unpack(&archive, dir.path()) => {
                    let copy = OfflineStore::open_read_only(dir.path()).unwrap();
                    counters_fit(&copy, &format!("{form} of {}", oms[n]));
                    self.whole.fetch_add(1, Ordering::Relaxed);
                }
                Some(_) => {
                    self.cut.fetch_add(1, Ordering::Relaxed);
                }
                // It is down.
                None => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        }
    }

    /// The body of a response, as far as it arrived.
    fn get(&self, n: usize, om: &str, path: &str) -> Option<Vec<u8>> {
        let mut stream = TcpStream::connect(om).ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: om\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let (mut answer, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        while let Ok(len @ 1..) = stream.read(&mut piece) {
            answer.extend_from_slice(&piece[..len]);
            self.sender.store(n + 1, Ordering::Relaxed);
        }
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        // The tables are being replaced by a snapshot's.
        head.contains("200 OK").then(|| answer.split_off(end + 4))
    }
}

/// Unpacks an archive; `true` if it is complete.
fn unpack(archive: &[u8], to: &Path) -> bool {
    let mut last = String::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let Ok(mut entry) = entry else { return false };
        last = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        if entry.read_to_end(&mut content).is_err() {
            return false;
        }
        std::fs::write(to.join(&last), content).unwrap();
    }
    if last != "OZONE_RATIS_SNAPSHOT_COMPLETE" {
        return false;
    }
    // In the second form files are named by ids.
    let links = std::fs::read_to_string(to.join("hardLinkFile")).unwrap_or_default();
    for line in links.lines() {
        let (name, id) = line.split_once('\t').unwrap();
        std::fs::copy(to.join(id), to.join(name.strip_prefix("om.db/").unwrap())).unwrap();
    }
    true
}

fn rows(tables: &OfflineStore, table: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut cursor = tables.iter(table, IterRange::all()).unwrap();
    cursor.first();
    let add = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        true
    };
    cursor.for_each(add).unwrap();
    rows
}

/// Checks that all tables are of the same moment: each of the two buckets has counts of its rows in
/// other tables.
fn counters_fit(tables: &OfflineStore, whose: &str) {
    for (_, row) in rows(tables, "bucketTable") {
        let bucket = BucketInfo::decode(&row[..]).unwrap();
        let counted: &[&str] = match bucket.bucket_name.as_str() {
            TREE => &["fileTable", "directoryTable"],
            _ => &["keyTable"],
        };
        let there: usize = counted.iter().map(|table| rows(tables, table).len()).sum();
        assert_eq!(bucket.used_namespace(), there as u64, "{whose}: {}", bucket.bucket_name);
    }
}

/// Tables whose rows differ between OMs: the log position, and the retry cache, which has rows by
/// rounds of entries.
const OWN: [&str; 2] = ["transactionInfoTable", "trioxideRetryTable"];

fn all_rows(om: &Path) -> BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>> {
    let tables = OfflineStore::open_read_only(&om.join("om.db")).unwrap();
    counters_fit(&tables, &om.display().to_string());
    let common = tables.tables().iter().filter(|table| !OWN.contains(&table.as_str()));
    common.map(|table| (table.clone(), rows(&tables, table))).collect()
}

#[test]
fn oms_killed_while_they_compact_delete_and_copy_lose_nothing_and_have_the_same_rows() {
    let mut service = Service::start();
    let runtime = runtime();
    let conf = service.configuration();
    let (client, scm) = (Client::connect(&conf).unwrap(), ScmClient::connect(&conf));
    runtime.block_on(async {
        until("the nodes form a pipeline", async || {
            let pipelines = scm.pipelines().await.unwrap();
            pipelines.iter().any(|p| p.members.len() == 3 && p.leader_datanode_id.is_some())
        })
        .await;
        make_bucket(&client).await;
        let layout = Some(BucketLayoutProto::FileSystemOptimized);
        let spec = BucketSpec { layout, ..BucketSpec::default() };
        client.create_bucket(VOLUME, TREE, spec).await.unwrap();
    });
    let (stop, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let writers: Vec<_> = [(BUCKET, 1), (TREE, 2)]
        .map(|(bucket, seed)| Writer::new(&client, bucket, seed).run(stop.clone(), done.clone()))
        .into_iter()
        .map(|writer| runtime.spawn(writer))
        .collect();
    let copies = Arc::<Copies>::default();
    let copier = {
        let (copies, oms) = (copies.clone(), service.http.clone());
        std::thread::spawn(move || copies.take(&oms))
    };

    for kill in 0..KILLS {
        let victim = runtime.block_on(async {
            let enough = done.load(Ordering::Relaxed) + OPERATIONS;
            until("clients go on", async || done.load(Ordering::Relaxed) >= enough).await;
            let mut leading = None;
            until("an OM leads", async || {
                leading = leader(&client).await;
                leading.is_some()
            })
            .await;
            // The leader every second time, otherwise each follower.
            let victim = (leading.unwrap() + [0, 1, 0, 2][kill % 4]) % 3;
            until("it has compacted ranges", async || compacted(&client, victim).await > 0).await;
            victim
        });
        // The last half of the kills interrupts a checkpoint in progress.
        if kill >= KILLS / 2 {
            let sends = async || copies.sender.load(Ordering::Relaxed) == victim + 1;
            runtime.block_on(until("it sends a copy", sends));
        }
        let om = service.oms[victim].take().unwrap();
        assert_eq!(om.lines_with("panicked"), 0);
        om.kill();
        service.start_om(victim);
    }
    let whole = copies.whole.load(Ordering::Relaxed) + 3;
    let more = async || copies.whole.load(Ordering::Relaxed) >= whole;
    runtime.block_on(until("copies come as a whole", more));
    copies.stop.store(true, Ordering::Relaxed);
    stop.store(true, Ordering::Relaxed);
    copier.join().unwrap();
    runtime.block_on(async {
        for writer in writers {
            writer.await.unwrap().verify().await;
        }
    });

    // All OMs apply the same last entry, and their background services end there.
    let mut prepare = define(o3(&["admin", "om", "prepare"]), &service.shared);
    let prepared = prepare.output().unwrap();
    let said = stdout(&prepared);
    assert_eq!(said.matches("PREPARE_COMPLETED").count(), 3, "{prepared:?}");
    for om in &mut service.oms {
        let om = om.take().unwrap();
        assert_eq!(om.lines_with("panicked"), 0);
        assert!(om.terminate().success());
    }
    let expected = all_rows(&service.om_dir(0));
    for n in 1..3 {
        let found = all_rows(&service.om_dir(n));
        assert!(found.keys().eq(expected.keys()), "{:?}", found.keys());
        for (table, rows) in &expected {
            assert!(found[table] == *rows, "om1 and om{} have other rows of {table}", n + 1);
        }
    }
    let count = |copies: &AtomicU64| copies.load(Ordering::Relaxed);
    println!(
        "{KILLS} kills, {} operations, {} copies, {} of them cut off",
        count(&done),
        count(&copies.whole) + count(&copies.cut),
        count(&copies.cut)
    );
}
