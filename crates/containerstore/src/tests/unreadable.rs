//! An unreadable file is not treated as a missing one.

use std::os::unix::fs::symlink;

use ::container::ContainerState;

use super::*;
use crate::transfer::Arrival;

/// The name leads to itself, so its file cannot be read.
fn hide(path: &Path) -> PathBuf {
    let aside = path.with_extension("aside");
    fs::rename(path, &aside).unwrap();
    symlink(path, path).unwrap();
    aside
}

fn show(path: &Path, aside: &Path) {
    fs::remove_file(path).unwrap();
    fs::rename(aside, path).unwrap();
}

#[test]
fn a_container_whose_folder_cannot_be_read_is_not_removed_and_not_made_anew() {
    for part in ["chunks", "metadata/1.container"] {
        let mut node = Node::new();
        node.ensure_container();
        let hidden = node.container().path().join(part);
        node.stop();
        let aside = hide(&hidden);
        node.open();
        assert!(aside.exists(), "{part}: it has no rows, and is removed");
        let made = node.store().create_container(NewContainer {
            id: CONTAINER,
            pipeline: Some(node.pipeline),
            ..NewContainer::default()
        });
        let refused = matches!(made, Err(StorageError::ContainerMissing(_)));
        // One that lacks only its chunks exists, and is damaged.
        assert!(refused || part == "chunks", "{part}: {made:?}");
        node.stop();
        show(&hidden, &aside);
        node.open();
        assert_eq!(node.container().id(), CONTAINER);
    }
}

#[test]
fn a_damaged_container_that_cannot_be_marked_keeps_no_other_one_from_being_served() {
    let mut node = Node::new();
    node.put_large(7, &[pattern(1, 50_000)]);
    node.store().flush_all().unwrap();
    let (block, dir) = (node.chunks_dir().join("7.block"), node.container().path().to_owned());
    node.stop();
    fs::write(&block, b"cut").unwrap();
    // As on a disk that is full: no new file can be written.
    fs::create_dir(dir.join("metadata/1.container.tmp")).unwrap();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Unhealthy);
    let told = node.store().replica_report(CONTAINER).unwrap();
    let unhealthy = proto::scm_datanode::container_replica_proto::State::Unhealthy;
    assert_eq!(told.state, unhealthy as i32);
}

#[test]
fn a_folder_that_was_set_aside_does_not_cost_what_came_in_its_place_its_rows() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 1_000));
    node.close();
    node.store().flush_all().unwrap();
    let aside = node.store().disks()[0].deleted_dir().join(CONTAINER.to_string());
    node.stop();
    fs::create_dir_all(aside.join("chunks")).unwrap();
    node.open();
    assert_eq!(node.container().state(), ContainerState::Closed);
    assert_eq!(node.read(1).unwrap(), pattern(1, 1_000));
    assert!(!aside.exists());
}

#[test]
fn rows_of_what_was_removed_go_unless_it_cannot_be_told_what_is_in_its_place() {
    let mut node = Node::new();
    node.put_small(1, pattern(1, 1_000));
    node.close();
    node.store().flush_all().unwrap();
    let place = node.container().path().to_owned();
    let aside = node.store().disks()[0].deleted_dir().join(CONTAINER.to_string());
    node.stop();
    fs::create_dir_all(&aside).unwrap();
    let hidden = hide(&place);
    node.open_unseen();
    assert!(aside.exists(), "the next start decides");
    node.stop();
    show(&place, &hidden);
    node.open();
    assert_eq!(node.read(1).unwrap(), pattern(1, 1_000));
}

/// The rows of the copy would be those of the replica.
#[test]
fn a_copy_does_not_take_the_place_of_a_replica_that_cannot_be_read() {
    let source = super::transfer::closed();
    let (export, _) = super::transfer::export(&source, None, None);
    let mut node = Node::new();
    // From its rows it would be served.
    node.options.closed_from_rows = false;
    node.put_small(7, pattern(1, 1_000));
    node.close();
    node.store().flush_all().unwrap();
    let file = node.container().path().join("metadata/1.container");
    node.stop();
    let aside = hide(&file);
    node.open();
    for readable_by_now in [false, true] {
        if readable_by_now {
            show(&file, &aside);
        }
        let refused = Arrival::begin(node.store(), CONTAINER, export.manifest()).err().unwrap();
        assert!(refused.to_string().contains("start the DataNode again"), "{refused}");
    }
    node.stop();
    node.open();
    assert_eq!(node.read(7).unwrap(), pattern(1, 1_000));
    // A file of which a byte has changed, too: its blocks may be whole.
    node.stop();
    let sound = fs::read(&file).unwrap();
    fs::write(&file, "nothing of a container").unwrap();
    node.open();
    assert!(Arrival::begin(node.store(), CONTAINER, export.manifest()).is_err());
    node.stop();
    fs::write(&file, sound).unwrap();
    node.open();
    assert_eq!(node.read(7).unwrap(), pattern(1, 1_000));
    // A folder without that file is removed.
    let node = Node::new();
    let place = node.store().disks()[0].container_dir(CONTAINER);
    fs::create_dir_all(place.join("chunks")).unwrap();
    Arrival::begin(node.store(), CONTAINER, export.manifest()).unwrap();
}

#[test]
fn a_copy_goes_to_a_disk_that_has_no_replica_of_it() {
    let source = super::transfer::closed();
    let (export, _) = super::transfer::export(&source, None, None);
    let mut node = super::checks::with_two_disks();
    node.options.closed_from_rows = false;
    node.put_small(7, pattern(1, 1_000));
    node.close();
    node.store().flush_all().unwrap();
    let place = node.container().path().to_owned();
    node.stop();
    fs::write(place.join("metadata/1.container"), "nothing of a container").unwrap();
    node.open();
    for _ in 0..4 {
        let arrival = Arrival::begin(node.store(), CONTAINER, export.manifest()).unwrap();
        for disk in node.store().disks() {
            let arrives = disk.arrivals_dir().join(CONTAINER.to_string()).exists();
            assert_eq!(arrives, !place.starts_with(disk.path()));
        }
        arrival.discard();
    }
    assert!(place.exists());
}
