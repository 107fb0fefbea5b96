//! Replicas that are moved from one disk to another: there is a good one at every moment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::container::ContainerState;
use blockio::{Fault, Op, Strike};
use parking_lot::Mutex;
use proto::scm_datanode::ContainerReplicaProto;

use super::*;
use crate::relocation::Passage;

/// Blocks that are packed, and blocks with files of their own.
const SMALL: std::ops::RangeInclusive<u64> = 1..=40;
const LARGE: std::ops::RangeInclusive<u64> = 101..=104;

/// Runs a change while a replica is copied: with the number of the piece.
struct Meanwhile<F>(Mutex<F>, AtomicUsize);

impl<F: FnMut(usize) -> bool + Send> Meanwhile<F> {
    fn new(act: F) -> Self {
        Self(Mutex::new(act), AtomicUsize::new(0))
    }
}

#[async_trait::async_trait]
impl<F: FnMut(usize) -> bool + Send> Passage for Meanwhile<F> {
    async fn pass(&self, _bytes: u64) -> bool {
        (*self.0.lock())(self.1.fetch_add(1, Ordering::SeqCst))
    }
}

/// A node with two disks; the container is on the first one, and closed.
fn closed() -> Node {
    let mut node = Node::with(|options| {
        let first = options.dirs[0].path.clone();
        options.dirs.push(DataDirectory::new(first.with_file_name("disk2")));
        options.segment_size = 20_000;
    });
    for local in SMALL {
        node.put_small(local, pattern(local, 1_000 + local as usize));
    }
    for local in LARGE {
        node.put_large(local, &[pattern(local, 700_000), pattern(local + 1, 20_001)]);
    }
    node.close();
    node
}

fn expected(local: u64) -> Bytes {
    if SMALL.contains(&local) {
        return pattern(local, 1_000 + local as usize);
    }
    [pattern(local, 700_000), pattern(local + 1, 20_001)].concat().into()
}

fn assert_whole_without(node: &Node, gone: &[u64]) {
    for local in SMALL.chain(LARGE) {
        let read = node.read(local);
        if gone.contains(&local) {
            assert!(matches!(read, Err(StorageError::NoSuchBlock(_))), "block {local}: {read:?}");
        } else {
            assert_eq!(read.unwrap(), expected(local), "block {local}");
        }
    }
    let blocks = SMALL.chain(LARGE).count() - gone.len();
    assert_eq!(node.container().info().blocks, blocks as u64);
}

async fn relocate(node: &Node, passage: &dyn Passage) -> Result<Relocated> {
    let here = node.container().disk().id().to_owned();
    let disks = node.store().disks();
    let other = disks.iter().find(|disk| disk.id() != here).unwrap();
    node.store().relocate(CONTAINER, other, passage).await
}

/// Nothing that happens meanwhile.
fn quiet() -> Meanwhile<impl FnMut(usize) -> bool + Send> {
    Meanwhile::new(|_| true)
}

/// On which of the two disks there is a folder of the container.
fn folders(node: &Node) -> [bool; 2] {
    let places: Vec<bool> =
        node.store().disks().iter().map(|disk| disk.container_dir(CONTAINER).exists()).collect();
    places.try_into().unwrap()
}

/// Returns the disk of the replica that is served: 0 or 1.
fn place(node: &Node) -> usize {
    let here = node.container().disk().id().to_owned();
    node.store().disks().iter().position(|disk| disk.id() == here).unwrap()
}

/// Nothing of an unfinished copy, and no row without its container.
fn assert_tidy(node: &Node) {
    for disk in node.store().disks() {
        assert_eq!(fs::read_dir(disk.arrivals_dir()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(disk.deleted_dir()).unwrap().count(), 0);
        let served = node.container().disk().id() == disk.id();
        assert_eq!(disk.container_dir(CONTAINER).exists(), served);
        for table in crate::tables::PER_CONTAINER {
            let range = metastore::IterRange::prefix(crate::tables::prefix(CONTAINER));
            let mut cursor = disk.db.iter(table, range).unwrap();
            cursor.first();
            let found = cursor.row().unwrap().map(|(key, _)| key.to_vec());
            assert!(served || found.is_none(), "{table:?} of disk {}: {found:?}", disk.id());
        }
    }
}

#[tokio::test]
async fn a_moved_replica_is_whole_and_leaves_nothing_behind() {
    let mut node = closed();
    let before = node.container().info();
    let report = node.store().replica_report(CONTAINER).unwrap();
    node.store().take_changed();
    let moved = relocate(&node, &quiet()).await.unwrap();
    assert_eq!((moved.blocks, moved.bytes), (before.blocks, before.used));
    assert_eq!(place(&node), 1);
    assert_eq!(node.container().info(), before);
    assert_eq!(node.pipe().containers(), [CONTAINER], "its pipeline has it still, and once");
    let after = node.store().replica_report(CONTAINER).unwrap();
    // It was read to be copied.
    let (read_count, read_bytes) = (after.read_count, after.read_bytes);
    assert_eq!(after, ContainerReplicaProto { read_count, read_bytes, ..report });
    assert_whole_without(&node, &[]);
    assert_eq!(folders(&node), [true, true], "what it left goes later");
    assert_eq!(node.store().retired_bytes(&node.store().disks()[0]), before.used);
    assert_eq!(node.store().remove_retired(Duration::from_secs(3_600)).unwrap(), 0);
    assert_eq!(node.store().remove_retired(Duration::ZERO).unwrap(), 1);
    assert_tidy(&node);
    assert_eq!(node.scan(ScanKind::Data).await, Verdict::Sound);
    node.kill();
    node.open();
    assert_eq!(place(&node), 1);
    assert_eq!(node.container().state(), ContainerState::Closed);
    // What its pipeline has of it in its log changes nothing.
    node.replay();
    assert_whole_without(&node, &[]);
    // And back again.
    relocate(&node, &quiet()).await.unwrap();
    node.kill();
    node.open();
    assert_eq!(place(&node), 0);
    assert_whole_without(&node, &[]);
    assert_tidy(&node);
}

#[tokio::test]
async fn a_replica_that_is_on_both_disks_is_the_moved_one_and_what_was_deleted_stays_deleted() {
    for state in [ContainerState::Closed, ContainerState::QuasiClosed] {
        let mut node = closed();
        if state == ContainerState::QuasiClosed {
            // As one whose pipeline was lost: its file shows that, and its log is deleted.
            node.pipe().remove().unwrap();
            let text = container_file(&node).replace("state: CLOSED", "state: QUASI_CLOSED");
            rewrite_container_file(&node, &text);
            node.stop();
            node.open();
        }
        assert_eq!(node.container().state(), state);
        relocate(&node, &quiet()).await.unwrap();
        node.delete(1, &[3, 102]);
        node.store().reclaim(100).unwrap();
        node.delete(2, &[4]);
        assert_eq!(folders(&node), [true, true]);
        node.kill();
        node.open();
        assert_eq!((place(&node), node.container().state()), (1, state));
        node.store().reclaim(100).unwrap();
        assert_whole_without(&node, &[3, 4, 102]);
        assert_tidy(&node);
    }
}

/// Also if both would be loaded from rows: the one to remove is chosen after their files were
/// checked.
#[tokio::test]
async fn a_container_that_was_damaged_while_it_was_twice_there_is_not_the_one_that_stays() {
    for damaged in [0, 1] {
        let mut node = closed();
        relocate(&node, &quiet()).await.unwrap();
        assert_eq!(folders(&node), [true, true]);
        node.store().flush_all().unwrap();
        let chunks = node.store().disks()[damaged].container_dir(CONTAINER).join("chunks");
        node.stop();
        fs::remove_file(chunks.join("00000001.segment")).unwrap();
        node.open_unseen();
        assert_eq!(place(&node), 1 - damaged);
        assert_eq!(folders(&node), [damaged == 1, damaged == 0]);
        assert_whole_without(&node, &[]);
        assert_tidy(&node);
    }
}

fn container_file(node: &Node) -> String {
    let path = node.container().path().join(format!("metadata/{CONTAINER}.container"));
    fs::read_to_string(path).unwrap()
}

/// Writes a `.container` file with its checksum made right, and no row says what was in it.
fn rewrite_container_file(node: &Node, text: &str) {
    use metastore::{Batch, Durability};
    use sha2::Digest;
    let mut batch = Batch::new();
    batch.delete(tables::CLOSED, tables::prefix(CONTAINER));
    node.container().disk().db.write(batch, Durability::NoWal).unwrap();
    let sum = text.lines().find_map(|line| line.strip_prefix("checksum: ")).unwrap();
    let zeroed = text.replacen(sum, &"0".repeat(64), 1);
    let right = hex::encode(sha2::Sha256::digest(zeroed.as_bytes()));
    let path = node.container().path().join(format!("metadata/{CONTAINER}.container"));
    fs::write(path, zeroed.replacen(&"0".repeat(64), &right, 1)).unwrap();
}

#[tokio::test]
async fn deletions_that_come_while_it_is_copied_are_neither_lost_nor_undone() {
    let mut node = closed();
    // One is deleted and its rows are still here when the copy begins.
    node.delete(1, &[1]);
    let store = node.store().clone();
    let mut txs = 1;
    let passage = Meanwhile::new(|piece| {
        // Of those that were copied already, and of those that were not. Some are carried out.
        for local in [5 + piece as u64, 30 + piece as u64, 101 + piece as u64] {
            txs += 1;
            let outcome = store.delete_blocks(&[transaction(txs, &[local])]).pop().unwrap();
            outcome.outcome.unwrap();
        }
        if piece == 1 {
            store.reclaim(100).unwrap();
        }
        true
    });
    relocate(&node, &passage).await.unwrap();
    let pieces = passage.1.load(Ordering::SeqCst) as u64;
    assert!(pieces >= 3, "{pieces} pieces");
    let mut gone = vec![1];
    gone.extend((0..pieces).flat_map(|piece| [5 + piece, 30 + piece, 101 + piece]));
    gone.retain(|local| SMALL.contains(local) || LARGE.contains(local));
    gone.sort_unstable();
    gone.dedup();
    let info = node.container().info();
    assert_eq!(info.delete_tx, txs as u64);
    assert!(info.pending_delete > 0, "some are still to be carried out");
    drop(store);
    node.kill();
    node.open();
    node.store().reclaim(1_000).unwrap();
    assert_whole_without(&node, &gone);
    assert_eq!(node.container().info().pending_delete, 0);
    assert_eq!(node.container().info().delete_tx, txs as u64);
    assert_eq!(place(&node), 1);
    assert_tidy(&node);
    assert_eq!(node.scan(ScanKind::Data).await, Verdict::Sound);
}

#[tokio::test]
async fn a_replica_that_changes_while_it_is_copied_stays() {
    // Deleted: it does not come back.
    let mut node = closed();
    let store = node.store().clone();
    let passage = Meanwhile::new(|_| {
        let _ = store.delete_container(CONTAINER, true);
        true
    });
    let store_disks = node.store().disks().to_vec();
    let refused = node.store().relocate(CONTAINER, &store_disks[1], &passage).await;
    assert!(matches!(refused, Err(StorageError::NotRelocated { .. })), "{refused:?}");
    drop((store, store_disks));
    node.kill();
    node.open();
    assert!(matches!(node.store().container(CONTAINER), Err(StorageError::ContainerNotFound(_))));
    assert_eq!(folders(&node), [false, false]);

    // Found damaged.
    let node = closed();
    let store = node.store().clone();
    let passage = Meanwhile::new(|_| {
        store.mark_unhealthy(CONTAINER, "a test says so").unwrap();
        true
    });
    let refused = relocate(&node, &passage).await;
    assert!(matches!(refused, Err(StorageError::NotRelocated { .. })), "{refused:?}");
    assert_eq!((place(&node), folders(&node)), (0, [true, false]));
    assert_tidy(&node);

    // Given up.
    let node = closed();
    let refused = relocate(&node, &Meanwhile::new(|piece| piece < 1)).await;
    assert!(matches!(refused, Err(StorageError::NotRelocated { .. })), "{refused:?}");
    assert_eq!((place(&node), folders(&node)), (0, [true, false]));
    assert_whole_without(&node, &[]);
    assert_tidy(&node);
    // And it may be tried again.
    relocate(&node, &quiet()).await.unwrap();
    assert_whole_without(&node, &[]);
}

#[tokio::test]
async fn what_may_not_be_moved_is_refused() {
    let mut node = Node::with(|options| {
        let first = options.dirs[0].path.clone();
        options.dirs.push(DataDirectory::new(first.with_file_name("disk2")));
    });
    node.put_small(1, pattern(1, 1_000));
    assert!(!node.store().is_relocatable(CONTAINER));
    let open = relocate(&node, &quiet()).await;
    assert!(matches!(open, Err(StorageError::NotClosed { .. })), "{open:?}");
    node.close();
    assert!(node.store().is_relocatable(CONTAINER));
    let same = Arc::clone(node.container().disk());
    let refused = node.store().relocate(CONTAINER, &same, &quiet()).await;
    assert!(matches!(refused, Err(StorageError::NotRelocated { .. })), "{refused:?}");
    relocate(&node, &quiet()).await.unwrap();
    assert!(!node.store().is_relocatable(CONTAINER), "what it left is still there");
    let back = relocate(&node, &quiet()).await;
    assert!(matches!(back, Err(StorageError::NotRelocated { .. })), "{back:?}");
    node.store().remove_retired(Duration::ZERO).unwrap();
    relocate(&node, &quiet()).await.unwrap();
}

#[tokio::test]
async fn a_damaged_replica_is_found_and_not_moved() {
    let node = closed();
    let path = node.chunks_dir().join("103.block");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let refused = relocate(&node, &quiet()).await;
    assert!(matches!(refused, Err(StorageError::Checksum { .. })), "{refused:?}");
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    assert_eq!((place(&node), folders(&node)), (0, [true, false]));
    assert_tidy(&node);
}

#[tokio::test]
async fn a_disk_without_room_gets_nothing() {
    let mut node = closed();
    node.stop();
    let full = node.options.clone();
    // All of it is for others: there is nothing that may be used.
    node.options.dirs[1].reserved = u64::MAX / 2;
    node.open();
    let refused = relocate(&node, &quiet()).await;
    assert!(matches!(refused, Err(StorageError::OutOfSpace(_))), "{refused:?}");
    assert_eq!((place(&node), folders(&node)), (0, [true, false]));
    assert_whole_without(&node, &[]);
    assert_tidy(&node);
    node.stop();
    node.options = full;
    node.open();
    relocate(&node, &quiet()).await.unwrap();
}

#[tokio::test]
async fn readers_of_what_was_left_go_on_and_it_goes_behind_them() {
    let node = closed();
    let reader = node.container();
    relocate(&node, &quiet()).await.unwrap();
    assert_eq!(node.store().remove_retired(Duration::ZERO).unwrap(), 0, "it is being read");
    let row = reader.block_row(LocalId(102)).unwrap().unwrap();
    let (store, range) = (node.store().clone(), (0, row.length()));
    let read = store.read_range(&reader, &row, id(102), range, ReadTimeout::Unlimited).await;
    assert_eq!(read.unwrap(), expected(102));
    // Nor does what such a reader says of its replica count against the other one.
    assert!(store.mark_replica_unhealthy(&reader, "a test says so").is_err());
    assert_eq!(node.container().state(), ContainerState::Closed);
    drop((reader, store));
    assert_eq!(node.store().remove_retired(Duration::ZERO).unwrap(), 1);
    assert_tidy(&node);
}

#[tokio::test]
async fn a_container_that_is_deleted_after_its_move_does_not_come_back() {
    let mut node = closed();
    relocate(&node, &quiet()).await.unwrap();
    node.store().delete_container(CONTAINER, true).unwrap();
    assert_eq!(folders(&node), [false, false]);
    assert_eq!(node.pipe().containers(), []);
    node.kill();
    node.open();
    assert!(matches!(node.store().container(CONTAINER), Err(StorageError::ContainerNotFound(_))));
}

/// Every sync fails in turn, which fails its disk, and the node is killed after it: then the disks
/// have one good replica, and only one.
#[tokio::test]
async fn whichever_sync_fails_there_is_one_good_replica_behind_it() {
    for path in ["disk", "disk2"] {
        let mut failed = 0;
        for skip in 0.. {
            let mut node = closed();
            node.delete(1, &[2]);
            let fault = Fault {
                op: Op::Sync,
                path: format!("/{path}/"),
                skip,
                times: 1,
                strike: Strike::Eio,
            };
            node.faults.add(fault);
            let outcome = relocate(&node, &quiet()).await;
            node.faults.clear();
            node.kill();
            node.open();
            assert_eq!(node.container().state(), ContainerState::Closed, "sync {skip} of {path}");
            node.store().reclaim(100).unwrap();
            assert_whole_without(&node, &[2]);
            assert_eq!(node.container().info().delete_tx, 1);
            assert_tidy(&node);
            if outcome.is_ok() {
                break;
            }
            failed += 1;
        }
        let least = if path == "disk" { 1 } else { 6 };
        assert!(failed >= least, "{failed} syncs of {path}");
    }
}

/// A copy whose publishing failed half way is not served at the next start: later deletions were
/// only applied to the replica that stayed.
#[tokio::test]
async fn a_copy_that_was_disowned_is_not_served() {
    let mut node = closed();
    relocate(&node, &quiet()).await.unwrap();
    let left = node.store().disks()[0].container_dir(CONTAINER).join("metadata");
    let number = fs::read_to_string(left.join("leaving")).unwrap();
    node.stop();
    fs::write(left.join("stayed"), number).unwrap();
    node.open();
    assert_eq!(place(&node), 0);
    assert_whole_without(&node, &[]);
    assert_tidy(&node);
}

/// A move of the same container to and fro, while the node is killed at any moment.
#[tokio::test]
async fn marks_of_earlier_moves_count_for_nothing() {
    let mut node = closed();
    for round in 0..4 {
        relocate(&node, &quiet()).await.unwrap();
        let gone: Vec<u64> = (0..=round).map(|round| 10 + round).collect();
        node.delete(round as i64 + 1, &[10 + round]);
        node.store().reclaim(100).unwrap();
        if round % 2 == 0 {
            node.store().remove_retired(Duration::ZERO).unwrap();
        } else {
            node.kill();
            node.open();
        }
        assert_whole_without(&node, &gone);
        assert_tidy(&node);
    }
}
