//! Two replicas of a container on two disks of a node: none that may be needed is removed.

use ::container::ContainerState;

use super::checks::with_two_disks;
use super::transfer::{closed, export, totals};
use super::*;
use crate::transfer::{Arrival, Manifest, Part};

/// The two disks of a node, of which one can be away.
struct Disks {
    node: Node,
    paths: [PathBuf; 2],
}

impl Disks {
    fn new() -> Self {
        let node = with_two_disks();
        let paths = [0, 1].map(|at| node.options.dirs[at].path.clone());
        Self { node, paths }
    }

    /// Runs `act` while one of the disks is away. Both are there again after it.
    fn without(&mut self, away: usize, act: impl FnOnce(&mut Node)) {
        let path = &self.paths[away];
        let aside = path.with_file_name("aside");
        self.node.stop();
        fs::rename(path, &aside).unwrap();
        fs::write(path, b"no directory").unwrap();
        self.node.open();
        act(&mut self.node);
        self.node.stop();
        fs::remove_file(path).unwrap();
        fs::rename(&aside, path).unwrap();
        self.node.open();
    }

    fn reopen(&mut self) {
        self.node.stop();
        self.node.open();
    }

    /// On which disks there is a folder of the container.
    fn folders(&self) -> [bool; 2] {
        let disks = self.node.store().disks();
        let has = |path: &PathBuf| {
            let disk = disks.iter().find(|disk| disk.path().starts_with(path)).unwrap();
            disk.container_dir(CONTAINER).exists()
        };
        [has(&self.paths[0]), has(&self.paths[1])]
    }

    /// Returns the disk of the replica that is served.
    fn served(&self) -> usize {
        let container = self.node.container();
        usize::from(container.path().starts_with(&self.paths[1]))
    }
}

fn copy_of(source: &Node) -> (Manifest, Vec<Part>) {
    let (export, parts) = export(source, None, None);
    (export.manifest(), parts)
}

fn arrive(node: &Node, index: i32, (manifest, parts): &(Manifest, Vec<Part>)) {
    let manifest = Manifest { replica_index: index, ..manifest.clone() };
    let mut arrival = Arrival::begin(node.store(), CONTAINER, manifest).unwrap();
    parts.iter().for_each(|part| arrival.add(part).unwrap());
    let (blocks, bytes) = totals(parts);
    arrival.publish(node.store(), blocks, bytes).unwrap();
}

/// Two indexes of an erasure-coded container, each on a disk of its own.
fn two_indexes() -> Disks {
    let mut disks = Disks::new();
    let copy = copy_of(&closed());
    disks.without(1, |node| arrive(node, 1, &copy));
    disks.without(0, |node| arrive(node, 2, &copy));
    disks
}

#[test]
fn two_indexes_of_a_container_stay_until_scm_has_one_of_them_removed() {
    let mut disks = two_indexes();
    for _ in 0..2 {
        assert_eq!(disks.folders(), [true, true]);
        let others = disks.node.store().second_replicas();
        assert_eq!(others.len(), 1);
        let served = disks.node.container().info().replica_index;
        assert_eq!(others[0].info.replica_index, 3 - served);
        assert!(others[0].reason.contains("replica index"), "{}", others[0].reason);
        assert_eq!(disks.node.store().report().len(), 1, "SCM is told of one");
        assert_eq!(disks.node.read(7).unwrap(), pattern(7, 1_007));
        disks.reopen();
    }
    // Only the replica of the order is removed.
    let other = disks.node.store().second_replicas()[0].info.replica_index;
    let refused = disks.node.store().delete_replica(CONTAINER, 3, true);
    assert!(matches!(refused, Err(StorageError::ReplicaIndex { .. })), "{refused:?}");
    let refused = disks.node.store().delete_replica(CONTAINER, other, false);
    assert!(matches!(refused, Err(StorageError::DeleteOnNonEmpty { .. })), "{refused:?}");
    assert_eq!(disks.folders(), [true, true]);
    disks.node.store().delete_replica(CONTAINER, other, true).unwrap();
    for _ in 0..2 {
        assert_eq!(disks.node.store().second_replicas(), []);
        assert_eq!(disks.folders().into_iter().filter(|there| *there).count(), 1);
        assert_eq!(disks.node.container().info().replica_index, 3 - other);
        assert_eq!(disks.node.read(7).unwrap(), pattern(7, 1_007));
        disks.reopen();
    }
}

#[test]
fn the_second_index_is_served_when_the_disk_of_the_first_one_fails_or_behind_its_removal() {
    let copy = copy_of(&closed());
    for fails in [false, true] {
        let mut disks = two_indexes();
        let (at, served) = (disks.served(), disks.node.container().info().replica_index);
        disks.node.store().take_changed();
        if fails {
            let disk = disks.node.container().disk().clone();
            disks.node.store().leave(&disk);
        } else {
            // SCM's order without an index. The order may come more than once, and refers to the
            // reported replica.
            disks.node.store().delete_replica(CONTAINER, 0, true).unwrap();
            let again = disks.node.store().delete_replica(CONTAINER, 0, true);
            assert!(matches!(again, Err(StorageError::ContainerNotFound(_))), "{again:?}");
            assert_eq!(disks.node.store().second_replicas().len(), 1);
            let new = NewContainer { id: CONTAINER, ..NewContainer::default() };
            let made = disks.node.store().create_container(new);
            assert!(matches!(made, Err(StorageError::ContainerMissing(_))), "{made:?}");
            let refused = Arrival::begin(disks.node.store(), CONTAINER, copy.0.clone()).err();
            assert!(matches!(refused, Some(StorageError::AlreadyHere(_))), "{refused:?}");
            assert_eq!(disks.served(), 1 - at, "what is here is served instead of a copy");
            disks.reopen();
            assert_eq!((disks.served(), disks.folders()[at]), (1 - at, false));
        }
        assert_eq!(disks.node.container().info().replica_index, 3 - served);
        if fails {
            let told = disks.node.store().take_changed();
            assert_eq!(told.iter().map(|r| r.replica_index()).collect::<Vec<_>>(), [3 - served]);
        }
        assert_eq!(disks.node.read(7).unwrap(), pattern(7, 1_007));
        assert_eq!(disks.node.store().second_replicas(), []);
    }
}

#[test]
fn an_order_for_an_index_that_is_not_served_leaves_the_one_that_is() {
    let disks = two_indexes();
    let (store, index) = (disks.node.store(), disks.node.container().replica_index());
    let refused = store.delete_served(CONTAINER, 3 - index, true).unwrap_err();
    assert!(matches!(refused, StorageError::ReplicaIndex { .. }), "{refused}");
    assert_eq!(disks.folders(), [true, true]);
}

/// The next start finds its old state.
#[test]
fn a_second_replica_whose_removal_failed_is_not_served_when_the_first_one_goes() {
    let copy = copy_of(&closed());
    for fails in [false, true] {
        let disks = two_indexes();
        let (store, at) = (disks.node.store(), 1 - disks.served());
        let first = disks.node.container();
        let twin = store.second_replicas()[0].info.replica_index;
        // The folder of removed containers cannot be written.
        let on = |disk: &&Arc<Disk>| disk.path().starts_with(&disks.paths[at]);
        let disk = store.disks().iter().find(on).unwrap();
        fs::remove_dir_all(disk.deleted_dir()).unwrap();
        fs::write(disk.deleted_dir(), b"no directory").unwrap();
        store.delete_replica(CONTAINER, twin, true).unwrap_err();
        assert!(disks.folders()[at], "it is where it was");
        if fails {
            store.leave(first.disk());
        } else {
            store.delete_served(CONTAINER, first.replica_index(), true).unwrap();
            // A copy comes instead.
            Arrival::begin(store, CONTAINER, copy.0.clone()).unwrap();
        }
        assert!(store.find(CONTAINER).is_none(), "half of it may be gone");
        assert_eq!(store.second_replicas().len(), 1);
    }
}

/// A replica that SCM had removed because it was empty everywhere must not come back with its
/// deleted blocks.
#[test]
fn an_older_second_replica_goes_with_the_emptied_one() {
    let source = closed();
    let before = copy_of(&source);
    let all: Vec<u64> = (1..=30).chain(101..=103).collect();
    source.delete(5, &all);
    source.store().reclaim(1_000).unwrap();
    let after = copy_of(&source);
    for force in [false, true] {
        let mut disks = Disks::new();
        disks.without(1, |node| arrive(node, 0, &before));
        disks.without(0, |node| arrive(node, 0, &after));
        assert_eq!((disks.served(), disks.folders()), (1, [true, true]));
        disks.node.store().delete_container(CONTAINER, force).unwrap();
        assert_eq!(disks.folders(), [force, false], "by force only what is meant goes");
        disks.reopen();
        assert_eq!(disks.node.store().find(CONTAINER).is_some(), force);
    }
}

#[test]
fn a_replica_that_has_blocks_that_were_deleted_elsewhere_is_not_served_and_not_removed() {
    let source = closed();
    let before = copy_of(&source);
    source.delete(5, &[3, 101]);
    source.store().reclaim(100).unwrap();
    let after = copy_of(&source);
    for first in [0, 1] {
        let mut disks = Disks::new();
        disks.without(1 - first, |node| arrive(node, 0, &before));
        disks.without(first, |node| arrive(node, 0, &after));
        for _ in 0..2 {
            assert_eq!((disks.served(), disks.folders()), (1 - first, [true, true]));
            assert_eq!(disks.node.store().second_replicas().len(), 1);
            assert!(disks.node.read(3).is_err(), "it was deleted");
            disks.reopen();
        }
    }
}

#[test]
fn a_replica_that_has_nothing_of_its_own_is_removed() {
    let copy = copy_of(&closed());
    let mut disks = Disks::new();
    disks.without(1, |node| arrive(node, 0, &copy));
    disks.without(0, |node| arrive(node, 0, &copy));
    assert_eq!(disks.folders().into_iter().filter(|there| *there).count(), 1);
    assert_eq!(disks.node.store().second_replicas(), []);
    assert_eq!(disks.node.read(7).unwrap(), pattern(7, 1_007));
}

#[test]
fn of_two_replicas_on_two_disks_the_better_one_is_served() {
    for closes in [true, false] {
        let mut disks = Disks::new();
        disks.node.put_small(7, pattern(1, 1000));
        let old = disks.served();
        // The disk is away, and something that has nothing of it is on the other one.
        disks.without(old, |node| {
            let new = NewContainer { id: CONTAINER, ..NewContainer::default() };
            node.store().create_container(new).unwrap();
            if closes {
                node.store().quasi_close(CONTAINER).unwrap();
                node.store().change_state(&node.container(), ContainerState::Closed).unwrap();
            }
        });
        for _ in 0..2 {
            assert_eq!(disks.served() != old, closes);
            assert_eq!(disks.folders(), [true, true], "what may be needed stays");
            assert_eq!(disks.node.store().second_replicas().len(), 1);
            disks.reopen();
        }
    }
}

/// A replica that was left open on a disk that was away, and a whole copy of the container.
#[test]
fn an_older_replica_goes_when_the_newer_one_has_all_of_it() {
    let mut disks = Disks::new();
    for local in 1..=5 {
        disks.node.put_small(local, pattern(local, 1_000 + local as usize));
    }
    let old = disks.served();
    let copy = copy_of(&closed());
    disks.without(old, |node| arrive(node, 0, &copy));
    assert_eq!((disks.served(), disks.folders()[old]), (1 - old, false));
    assert_eq!(disks.node.read(30).unwrap(), pattern(30, 1_030));
}
