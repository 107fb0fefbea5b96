//! Disks that are checked, replicas that are read because something is suspicious, and disks that
//! cannot be opened.

use std::os::unix::fs::FileExt;
use std::time::Duration;

use blockio::{Op, Strike};
use proto::datanode::Result as ResultCode;

use super::*;
use crate::disk::CheckFault;
use container::ContainerState;

#[tokio::test]
async fn a_check_finds_a_disk_that_gives_back_other_bytes_than_it_took() {
    let node = Node::new();
    let disk = node.store().disks()[0].clone();
    disk.test_data(Some(100)).await.unwrap();
    disk.test_log(Some(100)).unwrap();
    node.faults.always(Op::Read, "disk-check", Strike::FlipBit(50));
    let fault = disk.test_data(Some(100)).await.unwrap_err();
    assert!(matches!(fault, CheckFault::Test(_)), "{fault}");
    node.faults.clear();
    disk.test_data(Some(100)).await.unwrap();
    assert_eq!(disk.failure(), None);
}

#[tokio::test]
async fn a_check_finds_a_directory_that_is_gone() {
    let node = Node::new();
    let disk = node.store().disks()[0].clone();
    fs::rename(node.disk_dir().join("ratis"), node.disk_dir().join("elsewhere")).unwrap();
    assert!(disk.test_log(None).unwrap_err().is_final());
    fs::rename(disk.containers_dir(), node.disk_dir().join("current")).unwrap();
    assert!(disk.test_data(None).await.unwrap_err().is_final());
}

#[tokio::test]
async fn a_check_whose_sync_fails_fails_the_disk() {
    let node = Node::new();
    let disk = node.store().disks()[0].clone();
    node.faults.once(Op::Sync, "disk-check", Strike::Eio);
    disk.test_data(Some(100)).await.unwrap_err();
    assert!(disk.failure().is_some());
    assert!(disk.test_data(Some(100)).await.is_err());
    let log = testkit::fail_syncs(&disk.raft_dir().join("disk-check").display().to_string(), 1);
    assert!(disk.test_log(Some(100)).unwrap_err().is_final());
    assert_eq!(log.struck(), 1);
}

#[tokio::test]
async fn a_suspicious_replica_is_marked_only_when_it_is_damaged() {
    let mut node = Node::new();
    node.put_large(7, &[pattern(1, 50_000), pattern(2, 50_000)]);
    node.put_small(8, pattern(3, 1000));
    assert_eq!(node.scan(ScanKind::OnDemand).await, Verdict::Sound);
    assert_eq!(node.container().state(), ContainerState::Open);
    let path = node.chunks_dir().join("7.block");
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(b"x", 70_000).unwrap();
    let verdict = node.scan(ScanKind::OnDemand).await;
    assert!(matches!(verdict, Verdict::Damaged(_)), "{verdict:?}");
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    assert_eq!(node.scan(ScanKind::OnDemand).await, Verdict::Moot);
}

#[tokio::test]
async fn bytes_that_the_device_does_not_give_make_the_replica_suspicious() {
    let mut node = Node::new();
    node.put_large(7, &[pattern(1, 50_000)]);
    node.faults.always(Op::Read, "7.block", Strike::Eio);
    assert_eq!(node.read(7).unwrap_err().result(), ResultCode::IoException);
    assert_eq!(node.container().state(), ContainerState::Open, "not before it was looked at");
    assert_eq!(node.store().take_suspect(), Some(CONTAINER));
    let verdict = node.scan(ScanKind::OnDemand).await;
    assert!(matches!(verdict, Verdict::Damaged(_)), "{verdict:?}");
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
}

#[tokio::test]
async fn bytes_for_a_client_that_tells_of_no_damage_are_verified() {
    let mut node = Node::new();
    let chunks = [pattern(1, 50_000), pattern(2, 50_000)];
    node.put_large(7, &chunks);
    let (store, block) = (node.store().clone(), id(7));
    let all = chunks.concat();
    let part = |at: usize, len: usize| Bytes::copy_from_slice(&all[at..at + len]);
    for (at, len) in [(0, 50_000), (50_000, 50_000), (0, 100_000), (16 << 10, 16 << 10), (7, 9)] {
        store.verify_read(block, at as u64, &part(at, len)).unwrap();
    }
    let mut wrong = part(50_000, 50_000).to_vec();
    wrong[20_000] ^= 1;
    // Not on the boundaries of checksums: the reader's.
    store.verify_read(block, 50_001, &Bytes::copy_from_slice(&wrong[1..])).unwrap();
    assert_eq!(store.suspects(), 0);
    store.verify_read(block, 50_000, &wrong.into()).unwrap_err();
    assert_eq!(store.take_suspect(), Some(CONTAINER));
}

#[tokio::test]
async fn a_stream_ends_at_bytes_without_their_checksums() {
    let mut node = Node::new();
    node.put_large(7, &[pattern(1, 50_000), pattern(2, 50_000)]);
    let path = node.chunks_dir().join("7.block");
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(b"x", 70_000).unwrap();
    let piece = |at| node.store().read_piece(id(7), at, 100_000, 1 << 20, ReadTimeout::Unlimited);
    assert_eq!(piece(0).await.unwrap().unwrap().data, pattern(1, 50_000));
    assert!(piece(50_000).await.is_err());
    assert_eq!(node.store().take_suspect(), Some(CONTAINER));
}

#[test]
fn a_replica_is_not_read_again_and_again() {
    let mut node = Node::new();
    node.put_small(8, pattern(3, 1000));
    for _ in 0..3 {
        node.store().suspect(CONTAINER, "a test says so");
    }
    node.store().suspect(ContainerId(99), "it is not here");
    assert_eq!(node.store().take_suspect(), Some(CONTAINER));
    node.store().suspect(CONTAINER, "a test says so again");
    assert_eq!(node.store().take_suspect(), None);
}

#[test]
fn a_disk_that_cannot_be_opened_is_left_out_unless_it_is_the_last() {
    let mut node = with_two_disks();
    node.put_small(1, pattern(1, 100));
    let here = node.container().disk().path().parent().unwrap().to_path_buf();
    let other = node.options.dirs.iter().map(|dir| dir.path.clone()).find(|dir| *dir != here);
    node.stop();
    let (other, aside) = (other.unwrap(), here.with_file_name("aside"));
    fs::rename(&other, &aside).unwrap();
    fs::write(&other, b"no directory").unwrap();
    node.open();
    assert_eq!(node.store().disks().len(), 1);
    assert_eq!(node.store().unopened()[0].path, other);
    let failed: Vec<_> = node.store().storage_reports().iter().map(|r| r.failed()).collect();
    assert_eq!(failed, [false, true]);
    node.replay();
    assert_eq!(node.read(1).unwrap(), pattern(1, 100));
    node.stop();
    fs::rename(&here, here.with_file_name("first")).unwrap();
    fs::write(&here, b"no directory").unwrap();
    assert!(ContainerStore::open(node.options.clone()).is_err());
}

pub(super) fn with_two_disks() -> Node {
    Node::with(|options| {
        let second = options.dirs[0].path.with_file_name("second");
        options.dirs.push(DataDirectory::new(second));
    })
}

/// A disk that is opened by a thread of its own that hangs until this is dropped.
struct Hanging(PathBuf);

impl Hanging {
    /// A thread that reads the file now waits for one that writes it.
    fn at(path: PathBuf) -> Self {
        fs::remove_file(&path).unwrap();
        // No child process: it would hold the locks of other tests for a moment.
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Self(path)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        drop(fs::OpenOptions::new().read(true).write(true).open(&self.0));
    }
}

#[test]
fn a_disk_that_hangs_while_it_is_opened_is_left_out_in_time() {
    let mut node = with_two_disks();
    node.put_small(1, pattern(1, 100));
    node.stop();
    let second = node.options.dirs[1].path.clone();
    let _hangs = Hanging::at(second.join("hdds/VERSION"));
    // A machine that is too slow for the shorter limit opens the other one in the longer one.
    let mut opens_within = |seconds| {
        node.options.open_timeout = Duration::from_secs(seconds);
        node.opens()
    };
    assert!(opens_within(8) || opens_within(100));
    let unopened = node.store().unopened();
    assert_eq!((unopened.len(), &unopened[0].path), (1, &second));
    assert!(unopened[0].reason.contains("timed out within"), "{}", unopened[0].reason);
    node.replay();
    assert_eq!(node.read(1).unwrap(), pattern(1, 100));
}

#[test]
fn a_disk_that_lost_its_version_file_is_not_formatted() {
    let mut node = with_two_disks();
    node.put_small(1, pattern(1, 100));
    let version = |node: &Node, at: usize| node.options.dirs[at].path.join("hdds/VERSION");
    node.stop();
    fs::remove_file(version(&node, 1)).unwrap();
    node.open();
    assert!(node.store().unopened()[0].reason.contains("without a VERSION file"));
    node.stop();
    fs::remove_file(version(&node, 0)).unwrap();
    assert!(ContainerStore::open(node.options.clone()).is_err());
    assert!(!version(&node, 0).exists() && !version(&node, 1).exists());
}
