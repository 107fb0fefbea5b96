//! Copies of a container that its pipeline makes on the same node meanwhile.

use ::container::ContainerState;
use metastore::IterRange;

use super::transfer::{assert_equal, closed, copy, export, totals};
use super::*;
use crate::tables::{BLOCK_DATA, PER_CONTAINER, prefix};
use crate::transfer::{Arrival, Part};

/// A block that no copy has.
const LIVE: u64 = 500;

fn live() -> Bytes {
    pattern(LIVE, 3_000)
}

/// A node to which a part of a copy came, and whose pipeline made the container then, with a block.
fn made_meanwhile() -> (Node, Arrival, Vec<Part>) {
    let source = closed();
    let (export, parts) = export(&source, None, None);
    let mut target = Node::new();
    let mut arrival = Arrival::begin(target.store(), CONTAINER, export.manifest()).unwrap();
    parts[..20].iter().for_each(|part| arrival.add(part).unwrap());
    target.put_small(LIVE, live());
    (target, arrival, parts)
}

/// The replica that the pipeline made is there, and nothing of the copy.
fn assert_live(node: &Node) {
    assert_eq!(node.read(LIVE).unwrap(), live());
    assert_eq!(node.container().state(), ContainerState::Open);
    assert_eq!(node.container().info().blocks, 1);
    let mut cursor =
        node.store().disks()[0].db.iter(BLOCK_DATA, IterRange::prefix(prefix(CONTAINER))).unwrap();
    cursor.first();
    let mut rows = 0;
    cursor
        .for_each(|_, _| {
            rows += 1;
            true
        })
        .unwrap();
    assert_eq!(rows, 1, "rows of the copy are among those of the replica");
}

/// The same, also for a process that starts again; no data of the copy is on the disk.
fn assert_live_for_good(mut node: Node) {
    assert_live(&node);
    node.kill();
    node.open();
    node.replay();
    assert_live(&node);
    let disk = &node.store().disks()[0];
    assert_eq!(fs::read_dir(disk.arrivals_dir()).unwrap().count(), 0);
    node.put_small(1, pattern(77, 900));
    assert_eq!(node.read(1).unwrap(), pattern(77, 900), "a block that the copy had as well");
}

#[test]
fn a_copy_whose_container_was_made_meanwhile_is_not_published() {
    let (node, arrival, parts) = made_meanwhile();
    let (blocks, bytes) = totals(&parts[..20]);
    arrival.publish(node.store(), blocks, bytes).unwrap_err();
    assert_live_for_good(node);
}

#[test]
fn a_copy_that_is_discarded_takes_no_row_of_the_replica_that_was_made_meanwhile() {
    let (node, arrival, _) = made_meanwhile();
    arrival.discard();
    assert_live_for_good(node);
}

#[test]
fn a_start_that_finds_a_copy_takes_no_row_of_the_replica_that_was_made_meanwhile() {
    for flushed in [false, true] {
        let (mut node, arrival, _) = made_meanwhile();
        if flushed {
            node.store().flush_all().unwrap();
        }
        node.kill();
        drop(arrival);
        node.open();
        node.replay();
        assert_live_for_good(node);
    }
}

#[test]
fn nothing_can_be_added_to_a_copy_whose_container_was_made_meanwhile() {
    let (node, mut arrival, parts) = made_meanwhile();
    arrival.add(&parts[20]).unwrap_err();
    arrival.leave_out(LocalId(LIVE)).unwrap_err();
    drop(arrival);
    assert_live_for_good(node);
}

#[test]
fn a_copy_that_nobody_discarded_leaves_no_row_to_the_replica_that_is_made_then() {
    let (source, mut node) = (closed(), Node::new());
    let (export, parts) = export(&source, None, None);
    let mut arrival = Arrival::begin(node.store(), CONTAINER, export.manifest()).unwrap();
    parts[..20].iter().for_each(|part| arrival.add(part).unwrap());
    drop(arrival);
    node.put_small(LIVE, live());
    assert_live_for_good(node);
}

#[test]
fn a_copy_that_is_not_published_leaves_nothing() {
    let (source, node) = (closed(), Node::new());
    let (export, parts) = export(&source, None, None);
    let mut arrival = Arrival::begin(node.store(), CONTAINER, export.manifest()).unwrap();
    parts[..20].iter().for_each(|part| arrival.add(part).unwrap());
    arrival.publish(node.store(), 1, 1).unwrap_err();
    let disk = &node.store().disks()[0];
    assert_eq!(fs::read_dir(disk.arrivals_dir()).unwrap().count(), 0);
    for table in PER_CONTAINER {
        let mut cursor = disk.db.iter(table, IterRange::prefix(prefix(CONTAINER))).unwrap();
        cursor.first();
        assert_eq!(cursor.row().unwrap(), None, "{table:?}");
    }
    copy(&source, &node);
    assert_equal(&source, &node);
}

#[test]
fn one_copy_of_a_container_is_made_at_a_time_and_by_nobody_else_meanwhile() {
    let (source, node) = (closed(), Node::new());
    let manifest = export(&source, None, None).0.manifest();
    let arrival = Arrival::begin(node.store(), CONTAINER, manifest.clone()).unwrap();
    let second = Arrival::begin(node.store(), CONTAINER, manifest.clone());
    assert!(matches!(second, Err(StorageError::BeingMade(CONTAINER))));
    // By a client that fills it, and not by its pipeline's log.
    let new = NewContainer { id: CONTAINER, replica_index: 2, ..NewContainer::default() };
    let made = node.store().create_container(new);
    assert!(matches!(made, Err(StorageError::BeingMade(CONTAINER))));
    arrival.discard();
    Arrival::begin(node.store(), CONTAINER, manifest.clone()).unwrap().discard();
    node.ensure_container();
    let third = Arrival::begin(node.store(), CONTAINER, manifest);
    assert!(matches!(third, Err(StorageError::AlreadyHere(CONTAINER))));
}

/// As releases before this one left it: the folder of a copy whose container is here.
#[test]
fn a_folder_of_a_copy_does_not_cost_the_closed_replica_its_rows() {
    let mut node = closed();
    let arriving = node.store().disks()[0].arrivals_dir().join(CONTAINER.to_string());
    node.store().flush_all().unwrap();
    for from_rows in [true, false] {
        node.options.closed_from_rows = from_rows;
        node.stop();
        fs::create_dir_all(arriving.join("chunks")).unwrap();
        node.open();
        assert_eq!(node.container().state(), ContainerState::Closed);
        assert_eq!(node.read(7).unwrap(), pattern(7, 1_007));
        assert!(!arriving.exists());
    }
}
