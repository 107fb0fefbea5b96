//! The disks of a DataNode become even, on the word of an administrator, under the eyes of clients.
//!
//! Both directories of a node are on one file system here, of which each has half: how much they
//! differ is a tiny part of it, and so are the thresholds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use config::Configuration;
use datanode::{Datanode, DatanodeOptions};
use hadoop_rpc::{CallError, Client, ClientOptions, Identity};
use prost::Message;
use proto::disk_balancer::*;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{BlockId, DatanodeId, PipelineId, PortName};

use crate::support::scm::{CLUSTER, RunningScm};
use crate::support::{Cluster, Pipe, block, bytes, conf};

const PROTOCOL: (&str, u64) = ("org.apache.hadoop.hdds.protocol.DiskBalancerProtocol", 1);
const TIMEOUT: Duration = testkit::LIMIT;

/// Percent of the file system by which the disks may differ.
const THRESHOLD: &str = "0.000001";

fn quick(conf: Configuration) -> Configuration {
    let settings = [
        ("volume.density.threshold.percent", THRESHOLD),
        ("service.interval", "100ms"),
        ("max.disk.throughputInMBPerSec", "1000"),
        ("replica.deletion.delay", "0s"),
    ];
    settings.iter().fold(conf, |conf, (key, value)| {
        conf.with(&format!("hdds.datanode.disk.balancer.{key}"), value)
    })
}

/// An administrator of one DataNode.
struct Admin(Client);

impl Admin {
    fn of(cluster: &Cluster, user: &str) -> Self {
        let address = cluster.nodes[0].handle.as_ref().unwrap().addresses().hadoop;
        let options = ClientOptions::default();
        Self(Client::new(address.to_string(), PROTOCOL, user, Identity::random(), options))
    }

    async fn call<A: Message + Default>(
        &self,
        method: &str,
        request: impl Message,
    ) -> Result<A, CallError> {
        let answer = self.0.call(method, request.encode_to_vec().into(), TIMEOUT).await?;
        Ok(A::decode(answer).unwrap())
    }

    async fn info(&self) -> DatanodeDiskBalancerInfoProto {
        let request = GetDiskBalancerInfoRequestProto { client_version: 2 };
        let answer: GetDiskBalancerInfoResponseProto =
            self.call("getDiskBalancerInfo", request).await.unwrap();
        answer.info
    }

    async fn start(
        &self,
        config: DiskBalancerConfigurationProto,
    ) -> Result<StartDiskBalancerResponseProto, CallError> {
        self.call("startDiskBalancer", StartDiskBalancerRequestProto { config: Some(config) }).await
    }

    async fn wait_for(&self, status: DiskBalancerRunningStatus) -> DatanodeDiskBalancerInfoProto {
        until("the balancer to be in a state", async || {
            self.info().await.running_status() == status
        })
        .await;
        self.info().await
    }
}

type Written = Vec<(BlockId, Bytes)>;

/// Writes containers from 1 on, each with a large block and small ones, and closes them.
async fn closed_containers(scm: &RunningScm, pipe: &mut Pipe, count: u64) -> Written {
    let mut written = Vec::new();
    for container in 1..=count {
        let data = bytes(container, 2 << 20);
        let put = pipe.put_large(block(container, container * 100), &data, 1 << 20).await.unwrap();
        written.push((put, data));
        for small in 1..=5 {
            let local = container * 100 + small;
            let data = bytes(local, 10_000);
            written
                .push((pipe.put_small(block(container, local), data.clone()).await.unwrap(), data));
        }
    }
    for container in 1..=count as i64 {
        scm.scm.wait_for_replica(pipe.leader, container, State::Open).await;
        scm.scm.send_close_container(pipe.leader, container, pipe.id, false);
    }
    for container in 1..=count as i64 {
        scm.scm.wait_for_replica(pipe.leader, container, State::Closed).await;
    }
    written
}

/// Returns the disks of a node with a folder of each container.
fn places(home: &Path) -> BTreeMap<u64, Vec<usize>> {
    let mut found: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for disk in 0..2 {
        let current = home.join(format!("disk{disk}/hdds/{CLUSTER}/current"));
        let Ok(groups) = std::fs::read_dir(current) else { continue };
        for group in groups.flatten() {
            for folder in std::fs::read_dir(group.path()).unwrap().flatten() {
                let id = folder.file_name().to_str().unwrap().parse().unwrap();
                found.entry(id).or_default().push(disk);
            }
        }
    }
    found
}

async fn check(pipe: &Pipe, node: DatanodeId, written: &Written) {
    for (block, data) in written {
        let read = pipe.eventually(|| pipe.get_large(node, *block)).await;
        assert_eq!(read, data, "{block}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disks_become_even_while_clients_read_and_write() {
    let mut cluster = Cluster::start_with(1, quick).await;
    let node = cluster.ids()[0];
    let (id, leader) = cluster.scm.scm.create_pipeline(&[node]).await;
    let mut pipe = cluster.pipe(id, leader);
    let written = Arc::new(closed_containers(&cluster.scm, &mut pipe, 8).await);
    let home = cluster.nodes[0].dir.clone();
    let before = places(&home);
    let full = before[&1].clone();
    assert!(before.values().all(|disks| *disks == full), "a pipeline is on one disk: {before:?}");

    let (stop, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let reader = {
        let (pipe, written) = (cluster.pipe(id, leader), Arc::clone(&written));
        let (stop, reads) = (Arc::clone(&stop), Arc::clone(&reads));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                for (block, data) in written.iter() {
                    assert_eq!(pipe.get_large(node, *block).await.unwrap(), data, "{block}");
                }
                reads.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let writer = {
        let (mut pipe, stop) = (cluster.pipe(id, leader), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut written = Vec::new();
            for local in 1.. {
                let data = bytes(local, 5_000);
                written.push((pipe.put_small(block(9, local), data.clone()).await.unwrap(), data));
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            written
        })
    };

    let admin = Admin::of(&cluster, "somebody");
    let first = admin.info().await;
    assert_eq!(first.running_status(), DiskBalancerRunningStatus::Stopped);
    assert_eq!((first.volume_info.len(), first.success_move_count()), (2, 0));
    assert!(first.bytes_to_move() > 0, "{first:?}");
    assert!(first.node.ports.iter().all(|port| port.name != "TRIOXIDE"));
    // It runs until it is stopped: writes during the test keep it busy.
    let goes_on =
        DiskBalancerConfigurationProto { stop_after_disk_even: Some(false), ..Default::default() };
    admin.start(goes_on).await.unwrap();
    until("half of the containers to move", async || admin.info().await.success_move_count() >= 4)
        .await;
    let looked = reads.load(Ordering::Relaxed);
    until("everything to be read again", async || reads.load(Ordering::Relaxed) > looked + 1).await;
    let _: StopDiskBalancerResponseProto =
        admin.call("stopDiskBalancer", StopDiskBalancerRequestProto {}).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    reader.await.unwrap();
    let more = writer.await.unwrap();

    let info = admin.wait_for(DiskBalancerRunningStatus::Stopped).await;
    assert_eq!(info.failure_move_count(), 0);
    assert!(info.bytes_moved() >= 4 * (2 << 20), "{info:?}");
    until("what was left to go", async || places(&home).values().all(|disks| disks.len() == 1))
        .await;
    let moved = places(&home).values().filter(|disks| **disks != full).count() as u64;
    // Of two disks: one that went back counts twice.
    let back = info.success_move_count().checked_sub(moved);
    assert!(back.is_some_and(|n| n % 2 == 0), "{moved}: {info:?}, {:?}", places(&home));
    check(&pipe, node, &written).await;

    // A restart finds them in the same place, and their bytes.
    let after = places(&home);
    cluster.node(node).stop().await;
    cluster.node(node).restart().await;
    assert_eq!(places(&home), after);
    let pipe = cluster.pipe(id, leader);
    check(&pipe, node, &written).await;
    check(&pipe, node, &more).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stops_when_the_disks_are_even_and_deletions_follow_the_containers() {
    let mut cluster = Cluster::start_with(1, |conf| {
        quick(conf).with("ozone.block.deleting.service.interval", "100ms")
    })
    .await;
    let node = cluster.ids()[0];
    let (id, leader) = cluster.scm.scm.create_pipeline(&[node]).await;
    let mut pipe = cluster.pipe(id, leader);
    let written = closed_containers(&cluster.scm, &mut pipe, 6).await;
    let home = cluster.nodes[0].dir.clone();
    let full = places(&home)[&1].clone();
    let admin = Admin::of(&cluster, "somebody");
    let before = admin.info().await;
    admin.start(DiskBalancerConfigurationProto::default()).await.unwrap();
    // A large block of each is deleted, wherever it is by then.
    let mut gone = Vec::new();
    for container in 1..=6i64 {
        let local = container * 100 + 1;
        assert!(cluster.scm.scm.delete_blocks(node, container, container, &[local]).await);
        gone.push(block(container as u64, local as u64).local);
    }
    let info = admin.wait_for(DiskBalancerRunningStatus::Stopped).await;
    assert_eq!((info.success_move_count(), info.failure_move_count()), (3, 0), "{info:?}");
    until("what was left to go", async || places(&home).values().all(|disks| disks.len() == 1))
        .await;
    let after = admin.info().await;
    assert!(after.current_volume_density_sum < before.current_volume_density_sum);
    assert!(after.bytes_to_move() < before.bytes_to_move(), "{before:?} {after:?}");
    assert_eq!(places(&home).values().filter(|disks| **disks != full).count(), 3);
    let (deleted, kept): (Written, Written) =
        written.into_iter().partition(|(block, _)| gone.contains(&block.local));
    assert_eq!(deleted.len(), 6);
    let all_gone = async |pipe: &Pipe| {
        for (block, _) in &deleted {
            until("a block to be gone", async || pipe.get_block(node, *block).await.is_err()).await;
        }
    };
    all_gone(&pipe).await;
    check(&pipe, node, &kept).await;
    cluster.node(node).stop().await;
    cluster.node(node).restart().await;
    let pipe = cluster.pipe(id, leader);
    check(&pipe, node, &kept).await;
    all_gone(&pipe).await;
    // It is remembered that it stopped.
    let admin = Admin::of(&cluster, "somebody");
    assert_eq!(admin.info().await.running_status(), DiskBalancerRunningStatus::Stopped);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_acls_on_administrators_change_it_and_everybody_sees_it() {
    let cluster = Cluster::start_with(1, |conf| {
        conf.with("ozone.acl.enabled", true).with("ozone.administrators", "ann")
    })
    .await;
    let class = |error: CallError| error.fault().unwrap().exception.full_name("-");
    let (ann, bob) = (Admin::of(&cluster, "ann"), Admin::of(&cluster, "bob"));
    assert_eq!(bob.info().await.running_status(), DiskBalancerRunningStatus::Stopped);
    let denied = "org.apache.hadoop.security.AccessControlException";
    let config = DiskBalancerConfigurationProto {
        threshold: Some(7.5),
        stop_after_disk_even: Some(false),
        ..Default::default()
    };
    assert_eq!(class(bob.start(config.clone()).await.unwrap_err()), denied);
    let stop = StopDiskBalancerRequestProto {};
    let refused = bob.call::<StopDiskBalancerResponseProto>("stopDiskBalancer", stop).await;
    assert_eq!(class(refused.unwrap_err()), denied);
    ann.start(config.clone()).await.unwrap();
    let info = bob.info().await;
    assert_eq!(info.running_status(), DiskBalancerRunningStatus::Running);
    assert_eq!(info.disk_balancer_conf.unwrap().threshold(), 7.5);
    let wrong = DiskBalancerConfigurationProto { threshold: Some(100.0), ..Default::default() };
    let request = UpdateDiskBalancerConfigurationRequestProto { config: wrong };
    let method = "updateDiskBalancerConfiguration";
    let refused = ann.call::<UpdateDiskBalancerConfigurationResponseProto>(method, request).await;
    assert_eq!(class(refused.unwrap_err()), "java.lang.IllegalArgumentException");
    let nothing = ann.call::<StopDiskBalancerResponseProto>("noSuchMethod", stop).await;
    assert!(class(nothing.unwrap_err()).ends_with("RpcNoSuchMethodException"));
    // Leaving the service pauses it.
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_disabled_says_so() {
    let cluster =
        Cluster::start_with(1, |conf| conf.with("hdds.datanode.disk.balancer.enabled", false))
            .await;
    let refused = Admin::of(&cluster, "root").start(Default::default()).await.unwrap_err();
    assert!(refused.fault().unwrap().message.contains("disabled"), "{refused}");
    cluster.stop().await;
}

const DIR: &str = "DATANODE_BALANCING_DIR";
const SCM: &str = "DATANODE_BALANCING_SCM";

/// Not a test of its own: what the process runs that the next one kills.
#[test]
fn a_balancing_datanode_in_a_process_of_its_own() {
    let (Ok(dir), Ok(scm)) = (std::env::var(DIR), std::env::var(SCM)) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let scm: SocketAddr = scm.parse().unwrap();
        let dir = Path::new(&dir);
        let conf = quick(conf(dir, 2, scm))
            .with("hdds.datanode.disk.balancer.max.disk.throughputInMBPerSec", 20)
            .with("hdds.datanode.disk.balancer.parallel.thread", 2)
            .with("hdds.datanode.disk.balancer.stop.after.disk.even", false)
            // It runs once this file is there.
            .with("hdds.datanode.disk.balancer.should.run.default", dir.join("go").exists());
        let _handle = Datanode::start(&conf, DatanodeOptions::default()).await.unwrap();
        let parent = std::os::unix::process::parent_id();
        while std::os::unix::process::parent_id() == parent {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
}

/// Ends with what started it.
struct Process(Child);

impl Process {
    fn start(dir: &Path, scm: SocketAddr) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "disk_balancing::a_balancing_datanode_in_a_process_of_its_own",
                "--exact",
                "--nocapture",
            ])
            .env(DIR, dir)
            .env(SCM, scm.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datanode_that_is_killed_while_it_balances_has_every_block() {
    testkit::log();
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("dn0");
    let scm = RunningScm::start().await;
    let process = Process::start(&home, scm.address);
    scm.scm.wait_for_nodes(1).await;
    let node = scm.scm.with(|known| *known.nodes.keys().next().unwrap());
    let pipe_of = |id: PipelineId| {
        let details = scm.scm.with(|known| known.nodes[&node].clone());
        Pipe::new(id, &[(node, details.address(&PortName::Native).unwrap())], node)
    };
    let (id, _) = scm.scm.create_pipeline(&[node]).await;
    let mut pipe = pipe_of(id);
    let written = closed_containers(&scm, &mut pipe, 12).await;
    let full = places(&home)[&1].clone();
    drop(process);
    std::fs::write(home.join("go"), "").unwrap();

    let are_even = |now: &BTreeMap<u64, Vec<usize>>| {
        now.values().all(|disks| disks.len() == 1)
            && now.values().filter(|disks| **disks != full).count() == 6
    };
    for round in 0..6u64 {
        let before = places(&home);
        let begun = scm.scm.with(|known| known.registrations[&node]);
        let process = Process::start(&home, scm.address);
        let again =
            |known: &crate::support::scm::Known| (known.registrations[&node] > begun).then_some(());
        scm.scm.wait("the node to come back", again).await;
        let pipe = pipe_of(id);
        check(&pipe, node, &written).await;
        until("a container to come or go", async || {
            let now = places(&home);
            now != before || are_even(&now)
        })
        .await;
        // The moment of the kill: somewhere in this move or the next one.
        tokio::time::sleep(Duration::from_millis(17 * round)).await;
        drop(process);
        let now = places(&home);
        assert_eq!(now.len(), 12, "each container is somewhere: {now:?}");
    }
    // Let it come to its end.
    let begun = scm.scm.with(|known| known.registrations[&node]);
    let process = Process::start(&home, scm.address);
    scm.scm
        .wait("the node to come back", |known| (known.registrations[&node] > begun).then_some(()))
        .await;
    until("half of the containers to be on each disk", async || are_even(&places(&home))).await;
    check(&pipe_of(id), node, &written).await;
    drop(process);
}
