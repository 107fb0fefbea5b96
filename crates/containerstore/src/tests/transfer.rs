//! Copies of containers: whole or not at all.

use ::container::ContainerState;

use super::*;
use crate::transfer::{Arrival, Export, Part};

/// A closed container of packed blocks 1 to 30 and large ones 101 to 103.
pub(super) fn closed() -> Node {
    let mut node = Node::with(|options| options.segment_size = 20_000);
    for local in 1..=30 {
        node.put_small(local, pattern(local, 1_000 + local as usize));
    }
    for local in 101..=103 {
        node.put_large(local, &[pattern(local, 50_000), pattern(local + 1, 20_001)]);
    }
    node.apply(vec![Entry::Close]).pop().unwrap().unwrap();
    node
}

pub(super) fn export(
    node: &Node,
    after: Option<LocalId>,
    within: Option<(LocalId, usize)>,
) -> (Export, Vec<Part>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut export = Export::begin(node.store(), CONTAINER).unwrap();
        export.skip_to(after, within);
        let mut parts = Vec::new();
        loop {
            let more = export.next(10_000).await.unwrap();
            if more.is_empty() {
                return (export, parts);
            }
            parts.extend(more);
        }
    })
}

/// Blocks and bytes of parts.
pub(super) fn totals(parts: &[Part]) -> (u64, u64) {
    let blocks = parts.iter().filter(|p| p.row.is_some()).count() as u64;
    (blocks, parts.iter().map(|p| p.data.len() as u64).sum())
}

pub(super) fn copy(from: &Node, to: &Node) {
    let (export, parts) = export(from, None, None);
    let mut arrival = Arrival::begin(to.store(), CONTAINER, export.manifest()).unwrap();
    parts.iter().for_each(|part| arrival.add(part).unwrap());
    assert!(to.store().container(CONTAINER).is_err(), "invisible until it is published");
    let (blocks, bytes) = totals(&parts);
    arrival.publish(to.store(), blocks, bytes).unwrap();
}

pub(super) fn assert_equal(a: &Node, b: &Node) {
    let (ours, theirs) = (a.container().info(), b.container().info());
    assert_eq!((ours.state, ours.bcsid), (theirs.state, theirs.bcsid));
    assert_eq!((ours.blocks, ours.used), (theirs.blocks, theirs.used));
    for local in (1..=30).chain(101..=103) {
        let (ours, theirs) = (a.read(local), b.read(local));
        assert_eq!(ours.is_ok(), theirs.is_ok(), "block {local}: {ours:?}, {theirs:?}");
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            assert_eq!(ours, theirs, "block {local}");
            let block = id(local);
            let rows = (a.store().get_block(block).unwrap(), b.store().get_block(block).unwrap());
            assert_eq!(rows.0, rows.1);
        }
    }
}

#[test]
fn a_copy_has_every_block_and_outlives_a_crash() {
    let (source, mut target) = (closed(), Node::new());
    copy(&source, &target);
    assert_equal(&source, &target);
    let reported = target.store().replica_report(CONTAINER).unwrap();
    let original = source.store().replica_report(CONTAINER).unwrap();
    assert_eq!(reported.origin_node_id, original.origin_node_id, "not a witness of its own");
    assert!(target.store().take_changed().iter().any(|r| r.container_id == CONTAINER.to_wire()));
    target.kill();
    target.open();
    assert_equal(&source, &target);
    assert_eq!(target.container().state(), ContainerState::Closed);
}

#[test]
fn a_copy_of_a_copy_is_the_same() {
    let (source, middle, target) = (closed(), Node::new(), Node::new());
    copy(&source, &middle);
    copy(&middle, &target);
    assert_equal(&source, &target);
}

#[test]
fn a_copy_that_was_cut_off_goes_on_behind_the_last_chunk() {
    let source = closed();
    let (manifest, all) = export(&source, None, None);
    // In the middle of a large block: its first chunk has come.
    let cut = all.iter().position(|p| p.chunk.is_some() && p.row.is_none()).unwrap() + 1;
    for forgets in [false, true] {
        let target = Node::new();
        let mut arrival = Arrival::begin(target.store(), CONTAINER, manifest.manifest()).unwrap();
        all[..cut].iter().for_each(|part| arrival.add(part).unwrap());
        assert_eq!(arrival.partial(), Some((all[cut - 1].local, 1)));
        // A sender that has no position within a block sends the block again.
        let within = arrival.partial().filter(|_| !forgets);
        let (_, rest) = export(&source, arrival.last(), within);
        assert_eq!(rest.len(), all.len() - cut + usize::from(forgets));
        rest.iter().for_each(|part| arrival.add(part).unwrap());
        let (blocks, bytes) = totals(&all);
        arrival.publish(target.store(), blocks, bytes).unwrap();
        assert_equal(&source, &target);
    }
}

#[test]
fn a_block_that_is_deleted_while_its_copy_is_cut_off_leaves_nothing_behind() {
    let (source, target) = (closed(), Node::new());
    let (manifest, all) = export(&source, None, None);
    let cut = all.iter().position(|p| p.chunk.is_some() && p.row.is_none()).unwrap() + 1;
    let mut arrival = Arrival::begin(target.store(), CONTAINER, manifest.manifest()).unwrap();
    all[..cut].iter().for_each(|part| arrival.add(part).unwrap());
    let (gone, _) = arrival.partial().unwrap();
    source.delete(1, &[gone.0]);
    let (_, rest) = export(&source, arrival.last(), arrival.partial());
    assert!(rest.iter().all(|part| part.local != gone));
    rest.iter().for_each(|part| arrival.add(part).unwrap());
    let whole: Vec<_> = all.iter().filter(|part| part.local != gone).cloned().collect();
    let (blocks, bytes) = totals(&whole);
    arrival.publish(target.store(), blocks, bytes).unwrap();
    let chunks = target.container().path().join("chunks");
    assert!(!chunks.join(format!("{gone}.block")).exists(), "nothing would ever remove it");
    assert!(target.read(gone.0).is_err());
}

#[test]
fn chunks_of_another_version_of_a_block_do_not_make_a_block() {
    let (source, target) = (closed(), Node::new());
    let (manifest, all) = export(&source, None, None);
    let cut = all.iter().position(|p| p.chunk.is_some() && p.row.is_none()).unwrap();
    let mut arrival = Arrival::begin(target.store(), CONTAINER, manifest.manifest()).unwrap();
    all[..cut].iter().for_each(|part| arrival.add(part).unwrap());
    let error = arrival.add(&all[cut + 1]).unwrap_err();
    assert!(error.to_string().contains("other chunks"), "the first one never came: {error}");
}

#[test]
fn what_did_not_arrive_whole_is_gone_after_a_restart() {
    let (source, mut target) = (closed(), Node::new());
    let (export, parts) = export(&source, None, None);
    let mut arrival = Arrival::begin(target.store(), CONTAINER, export.manifest()).unwrap();
    parts[..20].iter().for_each(|part| arrival.add(part).unwrap());
    target.kill();
    drop(arrival);
    target.open();
    assert!(matches!(target.store().container(CONTAINER), Err(StorageError::ContainerNotFound(_))));
    assert!(target.store().report().is_empty());
    copy(&source, &target);
    assert_equal(&source, &target);
}

#[test]
fn a_container_that_was_being_moved_in_is_gone_after_a_restart() {
    let (source, mut target) = (closed(), Node::new());
    copy(&source, &target);
    // As if the marker had not been removed before the crash.
    let marker = target.container().path().join("metadata/arriving");
    target.kill();
    std::fs::write(marker, "").unwrap();
    target.open();
    assert!(target.store().container(CONTAINER).is_err());
    copy(&source, &target);
    assert_equal(&source, &target);
}

#[test]
fn parts_that_are_wrong_are_refused() {
    let (source, target) = (closed(), Node::new());
    let (export, parts) = export(&source, None, None);
    let begin = || Arrival::begin(target.store(), CONTAINER, export.manifest()).unwrap();
    let damaged = |part: &Part| {
        let mut data = part.data.to_vec();
        data[7] ^= 1;
        Part { data: data.into(), ..part.clone() }
    };
    for which in [true, false] {
        let part = parts.iter().find(|p| p.packed == which).unwrap();
        assert!(matches!(begin().add(&damaged(part)), Err(StorageError::Checksum { .. })));
        let cut = Part { data: part.data.slice(1..), ..part.clone() };
        assert!(begin().add(&cut).is_err());
        let other = Part { local: LocalId(9_999), ..part.clone() };
        assert!(part.row.is_none() || begin().add(&other).is_err());
    }
    // The end of a block without its beginning.
    let last = parts.iter().rfind(|p| !p.packed && p.row.is_some()).unwrap();
    assert!(matches!(begin().add(last), Err(StorageError::NotArrived { .. })));
    let (blocks, bytes) = totals(&parts);
    let mut short = begin();
    parts[..10].iter().for_each(|part| short.add(part).unwrap());
    assert!(matches!(
        short.publish(target.store(), blocks, bytes),
        Err(StorageError::NotArrived { .. })
    ));
    assert!(target.store().container(CONTAINER).is_err());
}

#[test]
fn deleted_blocks_are_not_copied() {
    let (source, target) = (closed(), Node::new());
    source.delete(5, &[3, 101]);
    let (export, parts) = export(&source, None, None);
    assert!(parts.iter().all(|p| p.local != LocalId(3) && p.local != LocalId(101)));
    let mut arrival = Arrival::begin(target.store(), CONTAINER, export.manifest()).unwrap();
    parts.iter().for_each(|part| arrival.add(part).unwrap());
    let (blocks, bytes) = totals(&parts);
    arrival.publish(target.store(), blocks, bytes).unwrap();
    source.store().reclaim(100).unwrap();
    assert_equal(&source, &target);
    assert_eq!(target.container().info().delete_tx, 5);
}

#[test]
fn a_damaged_replica_is_not_copied_and_known_as_such() {
    let source = closed();
    let path = source.chunks_dir().join("102.block");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let failed = runtime.block_on(async {
        let mut export = Export::begin(source.store(), CONTAINER).unwrap();
        loop {
            match export.next(1 << 20).await {
                Ok(parts) if parts.is_empty() => return None,
                Ok(_) => {}
                Err(error) => return Some(error),
            }
        }
    });
    assert!(matches!(failed, Some(StorageError::Checksum { .. })), "{failed:?}");
    assert_eq!(source.container().state(), ContainerState::Unhealthy);
}

#[test]
fn only_closed_containers_are_copied_and_only_to_where_they_are_not() {
    let mut open = Node::new();
    open.put_small(1, pattern(1, 10));
    assert!(matches!(Export::begin(open.store(), CONTAINER), Err(StorageError::NotClosed { .. })));
    let source = closed();
    let manifest = Export::begin(source.store(), CONTAINER).unwrap().manifest();
    assert!(matches!(
        Arrival::begin(open.store(), CONTAINER, manifest),
        Err(StorageError::AlreadyHere(_))
    ));
}
