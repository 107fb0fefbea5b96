//! Replicas whose disk fails.

use std::path::{Path, PathBuf};

use proto::datanode::Result as ResultCode;
use proto::scm_datanode::container_replica_proto::State as ReplicaState;
use testkit::until;
use types::DatanodeId;

use crate::support::scm::Known;
use crate::support::{Cluster, Pipe, block, bytes};

/// Directories below another that hold containers.
pub fn container_parents(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.file_name().is_some_and(|name| name == "containerDir0") {
            true => found.push(path),
            false if path.is_dir() => found.extend(container_parents(&path)),
            false => {}
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_does_not_go_on_without_an_entry_that_its_disk_refused() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;

    // The follower cannot make the next container.
    let dir = cluster.node(follower).dir.clone();
    let in_the_way: Vec<_> = container_parents(&dir).iter().map(|dir| dir.join("2")).collect();
    assert!(!in_the_way.is_empty());
    in_the_way.iter().for_each(|path| std::fs::write(path, b"").unwrap());
    let second = pipe.put_small(block(2, 2), bytes(2, 100)).await.unwrap();
    let failed = |known: &crate::support::scm::Known| known.failed.get(&pipe.id).cloned();
    cluster.scm.scm.wait("the follower to give the pipeline up", failed).await;

    // Later entries do not hide its gap, once its disk works again.
    in_the_way.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    let third = pipe.put_small(block(2, 3), bytes(3, 100)).await.unwrap();
    cluster.node(follower).stop().await;
    cluster.node(follower).restart().await;
    let pipe = cluster.pipe(pipe.id, pipe.leader);
    for (id, seed) in [(second, 2), (third, 3)] {
        assert_eq!(pipe.eventually(|| pipe.get_small(follower, id)).await, bytes(seed, 100));
    }
    cluster.stop().await;
}

/// The disk of a node that has container 1.
pub fn disk_of(dir: &Path) -> PathBuf {
    let has =
        |disk: &PathBuf| container_parents(disk).iter().any(|parent| parent.join("1").is_dir());
    ["disk0", "disk1"].iter().map(|name| dir.join(name)).find(has).unwrap()
}

/// Waits until SCM has heard that a node gave up the disk with container 1.
async fn wait_until_left(cluster: &Cluster, node: DatanodeId, pipe: &Pipe, disk: &Path) {
    let scm = &cluster.scm.scm;
    let failed = |known: &Known| known.failed.get(&pipe.id).cloned();
    scm.wait("the pipeline to be given up", failed).await;
    let reported = |known: &Known| {
        let is_it = |report: &&proto::scm_datanode::StorageReportProto| {
            Path::new(&report.storage_location).starts_with(disk)
        };
        let report = known.storage.get(&node)?.iter().find(is_it)?;
        let logs = known.logs.get(&node)?.iter().filter(|log| log.failed()).count();
        (report.failed() && report.capacity() == 0 && logs == 1).then_some(())
    };
    scm.wait("the disk to be reported as failed", reported).await;
    scm.wait_for_replica(node, 1, ReplicaState::Deleted).await;
}

/// One fsync below `part` of a follower's disk fails, and never another: the disk is left, the
/// others have all that is acknowledged, and the node goes on with its other disk.
async fn one_failed_fsync_is_final(part: &str) {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;
    let disk = disk_of(&cluster.node(follower).dir);

    let failing = testkit::fail_syncs(&disk.join(part).display().to_string(), 1);
    let data = bytes(2, 100_000);
    let second = pipe.put_large(block(1, 2), &data, 50_000).await.unwrap();
    until("an fsync that fails", async || failing.struck() == 1).await;
    wait_until_left(&cluster, follower, &pipe, &disk).await;
    let refused = pipe.get_large(follower, second).await.unwrap_err();
    assert_eq!(refused.code(), Some(ResultCode::ContainerMissing));
    let third = pipe.put_small(block(1, 3), bytes(3, 100)).await.unwrap();
    for node in cluster.ids().into_iter().filter(|id| *id != follower) {
        assert_eq!(pipe.eventually(|| pipe.get_small(node, first)).await, bytes(1, 100));
        assert_eq!(pipe.eventually(|| pipe.get_large(node, second)).await, data);
        assert_eq!(pipe.eventually(|| pipe.get_small(node, third)).await, bytes(3, 100));
    }

    // The node's other disk takes what comes next.
    let mut next = cluster.pipeline().await;
    let fourth = next.put_small(block(2, 4), bytes(4, 100)).await.unwrap();
    assert_eq!(next.eventually(|| next.get_small(follower, fourth)).await, bytes(4, 100));
    assert!(!disk_has(&disk, 2));
    cluster.stop().await;
}

fn disk_has(disk: &Path, container: u64) -> bool {
    let name = container.to_string();
    container_parents(disk).iter().any(|parent| parent.join(&name).exists())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_whose_block_file_could_not_be_synced_once_is_left() {
    one_failed_fsync_is_final("hdds").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_whose_raft_log_could_not_be_synced_once_is_left() {
    one_failed_fsync_is_final("ratis").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_raft_log_could_not_be_synced_once_is_replaced() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let leader = pipe.leader;
    // A new member takes part in elections once it has what its first leader had committed.
    for node in cluster.ids() {
        pipe.eventually(|| pipe.get_small(node, first)).await;
    }
    let disk = disk_of(&cluster.node(leader).dir);
    let failing = testkit::fail_syncs(&disk.join("ratis").display().to_string(), 1);
    // This one may be refused, or be acknowledged by the others alone.
    let _ = pipe.put_small(block(1, 2), bytes(2, 100)).await;
    until("an fsync that fails", async || failing.struck() == 1).await;
    wait_until_left(&cluster, leader, &pipe, &disk).await;
    let third = pipe.put_small(block(1, 3), bytes(3, 100)).await.unwrap();
    assert_ne!(pipe.leader, leader);
    for node in cluster.ids().into_iter().filter(|id| *id != leader) {
        assert_eq!(pipe.eventually(|| pipe.get_small(node, first)).await, bytes(1, 100));
        assert_eq!(pipe.eventually(|| pipe.get_small(node, third)).await, bytes(3, 100));
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datanode_with_fewer_good_disks_than_it_must_have_ends() {
    let key = "hdds.datanode.failed.data.volumes.tolerated";
    let mut cluster = Cluster::start_with(3, |conf| conf.with(key, "0")).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;
    let disk = disk_of(&cluster.node(follower).dir);
    let _failing = testkit::fail_syncs(&disk.join("hdds").display().to_string(), 1);
    pipe.put_large(block(1, 2), &bytes(2, 100_000), 50_000).await.unwrap();
    let reason = cluster.node(follower).handle.as_ref().unwrap().failed().await;
    assert!(reason.contains("data directories: 1 of 2 have failed, the limit is 0"), "{reason}");
    cluster.stop().await;
}

/// Waits until SCM has received reports of `count` failed disks of a node.
async fn wait_for_failed(cluster: &Cluster, node: DatanodeId, count: usize) {
    let failed = |known: &Known| {
        let reports = known.storage.get(&node)?;
        (reports.iter().filter(|report| report.failed()).count() == count).then_some(())
    };
    cluster.scm.scm.wait("disks to be reported as failed", failed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_cannot_be_opened_keeps_no_node_from_starting() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;
    let disk = disk_of(&cluster.node(follower).dir);
    cluster.node(follower).stop().await;
    std::fs::rename(&disk, disk.with_extension("aside")).unwrap();
    std::fs::write(&disk, b"a file is no disk").unwrap();
    cluster.node(follower).restart().await;
    wait_for_failed(&cluster, follower, 1).await;
    // The other disk takes what comes next.
    let mut next = cluster.pipeline().await;
    let second = next.put_small(block(2, 2), bytes(2, 100)).await.unwrap();
    assert_eq!(next.eventually(|| next.get_small(follower, second)).await, bytes(2, 100));
    // Unless it may not.
    cluster.node(follower).stop().await;
    let strict = cluster.node(follower).conf.clone();
    let strict = strict.with("hdds.datanode.failed.data.volumes.tolerated", "0");
    let refused = datanode::Datanode::start(&strict, Default::default()).await;
    let Err(refused) = refused else { panic!("it started with a disk less than it may") };
    assert!(refused.to_string().contains("1 of 2 have failed, the limit is 0"), "{refused}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_a_disk_that_is_gone() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;
    let disk = disk_of(&cluster.node(follower).dir);
    std::fs::rename(disk.join("hdds"), disk.join("gone")).unwrap();
    cluster.node(follower).handle.as_ref().unwrap().check_disks();
    wait_until_left(&cluster, follower, &pipe, &disk).await;
    pipe.put_small(block(1, 2), bytes(2, 100)).await.unwrap();
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_a_client_found_damaged_is_looked_at_and_marked() {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let data = bytes(1, 100_000);
    let id = pipe.put_large(block(1, 1), &data, 50_000).await.unwrap();
    let [sound, damaged] =
        [pipe.leader, cluster.ids().into_iter().find(|n| *n != pipe.leader).unwrap()];
    for node in [sound, damaged] {
        pipe.eventually(|| pipe.get_large(node, id)).await;
        cluster.scm.scm.wait_for_container(node, 1).await;
    }
    let disk = disk_of(&cluster.node(damaged).dir);
    let parents = container_parents(&disk);
    let path = parents[0].join("1/chunks/1.block");
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", 70_000).unwrap();
    let report = [1u64.to_be_bytes(), 1u64.to_be_bytes()].concat();
    for node in [sound, damaged] {
        let told = pipe.nodes[&node].call(
            proto::method::REPORT_DAMAGE,
            report.clone().into(),
            Default::default(),
            testkit::LIMIT,
        );
        told.await.unwrap();
    }
    cluster.scm.scm.wait_for_replica(damaged, 1, ReplicaState::Unhealthy).await;
    let state = cluster.scm.scm.with(|known| known.replicas[&(sound, 1)].state());
    assert_ne!(state, ReplicaState::Unhealthy, "nobody is believed without a look");
    cluster.stop().await;
}

/// A file whose readers hang until this is dropped.
struct Hanging(PathBuf);

impl Hanging {
    fn at(path: PathBuf) -> Self {
        std::fs::remove_file(&path).unwrap();
        // No child process: it would hold the locks of other tests for a moment.
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Self(path)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        drop(std::fs::OpenOptions::new().read(true).write(true).open(&self.0));
    }
}

/// A node whose one disk hangs when this file of it is read starts with the other one.
async fn hangs_at_start(file: &str) {
    let mut cluster = Cluster::start(3).await;
    let mut pipe = cluster.pipeline().await;
    let first = pipe.put_small(block(1, 1), bytes(1, 100)).await.unwrap();
    let follower = cluster.ids().into_iter().find(|id| *id != pipe.leader).unwrap();
    pipe.eventually(|| pipe.get_small(follower, first)).await;
    let disk = disk_of(&cluster.node(follower).dir);
    cluster.node(follower).stop().await;
    let _hangs = Hanging::at(disk.join("hdds").join(file));
    let node = cluster.node(follower);
    // A machine that is too slow for the shorter limit opens the other one in the longer one.
    node.conf = node.conf.with("hdds.datanode.disk.check.timeout", "8s");
    if node.try_restart().await.is_err() {
        node.conf = node.conf.with("hdds.datanode.disk.check.timeout", "100s");
        node.restart().await;
    }
    wait_for_failed(&cluster, follower, 1).await;
    cluster.scm.scm.with(|known| {
        let here = known.replicas.keys().filter(|(node, _)| *node == follower).count();
        assert_eq!(here, 0, "the disk's replica is not reported");
    });
    let mut next = cluster.pipeline().await;
    let second = next.put_small(block(2, 2), bytes(2, 100)).await.unwrap();
    assert_eq!(next.eventually(|| next.get_small(follower, second)).await, bytes(2, 100));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_hangs_when_it_is_opened_keeps_no_node_from_starting() {
    hangs_at_start("VERSION").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_whose_raft_log_hangs_when_it_is_opened_keeps_no_node_from_starting() {
    let manifest = format!("{}/raft-log.manifest", crate::support::scm::CLUSTER);
    hangs_at_start(&manifest).await;
}
