//! A snapshot of the leader replaces the tables, or it does not: at once and as a whole.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metastore::{Batch, Durability, StoreOptions};
use multiraft::{LogPosition, SnapshotSource};
use namespace::tables::{TRANSACTION_INFO_KEY, transaction_info};
use namespace::{Table, View};
use replicated::{Entry, Machine};

use super::super::machine::OmStateMachine;
use super::super::places::{Places, position};
use super::super::{CacheSizes, CurrentTables, MachineEvents};
use crate::conformance::create_volume;
use crate::error::Error;
use crate::state::column_families::stored;

const SIZES: CacheSizes = CacheSizes { directories: 1 << 20, updates: 1 << 20 };

fn open(dir: &Path) -> Result<CurrentTables, Error> {
    std::fs::create_dir_all(dir).unwrap();
    CurrentTables::open(dir, StoreOptions::default(), SIZES)
}

fn at(index: u64) -> LogPosition {
    LogPosition { term: 1, index }
}

struct Replica {
    machine: OmStateMachine,
    current: Arc<CurrentTables>,
}

impl Replica {
    fn open(dir: &Path) -> Self {
        let mut current = open(dir).unwrap();
        current.readers_timeout = Duration::from_millis(100);
        let current = Arc::new(current);
        let (events, snapshots) = (Arc::<MachineEvents>::default(), dir.join("snapshots"));
        let om = "om1".to_owned();
        let machine = OmStateMachine::new(current.clone(), events, snapshots, om).unwrap();
        Self { machine, current }
    }

    /// Applies an entry each, which makes a volume that is named after it, and makes them durable.
    fn apply(&mut self, entries: std::ops::RangeInclusive<u64>) {
        for index in entries {
            let request = create_volume(&format!("volume{index}"));
            let command = OmStateMachine::encode(&request);
            self.machine.apply(vec![Entry { at: at(index), command, own: None }]).unwrap();
        }
        self.machine.flush().unwrap();
    }

    fn volumes(&self) -> Vec<u64> {
        let tables = self.current.get().unwrap();
        let there = |index: &u64| {
            tables.exists(Table::VolumeTable, format!("/volume{index}").as_bytes()).unwrap()
        };
        (1..20).filter(there).collect()
    }

    fn snapshot(&mut self) -> SnapshotSource {
        self.machine.snapshot().unwrap()
    }
}

/// Names in the directory after a finished replacement.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("om.db"));
    names.sort();
    names
}

#[test]
fn a_snapshot_that_readers_kept_out_is_never_put_in_place_later() {
    let dirs = tempfile::tempdir().unwrap();
    let mut leader = Replica::open(&dirs.path().join("leader"));
    leader.apply(1..=3);
    let home = dirs.path().join("follower");
    let mut follower = Replica::open(&home);
    follower.apply(1..=1);
    let reader = follower.current.get().unwrap();
    let refused = follower.machine.restore(leader.snapshot(), at(3)).unwrap_err();
    assert!(refused.to_string().contains("readers"), "{refused}");
    drop(reader);
    // It has caught up by the log meanwhile.
    follower.apply(2..=5);
    assert_eq!(follower.volumes(), [1, 2, 3, 4, 5]);
    drop(follower);

    let mut follower = Replica::open(&home);
    assert_eq!(follower.machine.applied(), at(5), "set back by a snapshot of before");
    assert_eq!(follower.volumes(), [1, 2, 3, 4, 5]);
    assert_eq!(names(&home), ["om.db"]);
    // One that readers let in takes their place.
    leader.apply(4..=8);
    follower.machine.restore(leader.snapshot(), at(9)).unwrap();
    assert_eq!(follower.machine.applied(), at(9));
    assert_eq!(follower.volumes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    drop(follower);
    let follower = Replica::open(&home);
    assert_eq!(follower.machine.applied(), at(9));
    assert_eq!(names(&home), ["om.db"]);
}

#[test]
fn a_snapshot_that_is_older_or_no_database_leaves_the_tables_as_they_are() {
    let dirs = tempfile::tempdir().unwrap();
    let mut leader = Replica::open(&dirs.path().join("leader"));
    leader.apply(1..=3);
    let home = dirs.path().join("follower");
    let mut follower = Replica::open(&home);
    follower.apply(1..=5);
    let older = follower.machine.restore(leader.snapshot(), at(3)).unwrap_err();
    assert!(older.to_string().contains("1#3"), "{older}");

    leader.apply(4..=9);
    let beyond = follower.machine.restore(leader.snapshot(), at(8)).unwrap_err();
    assert!(beyond.to_string().contains("1#9"), "{beyond}");

    for file in ["CURRENT", "MANIFEST"] {
        let SnapshotSource::Dir(snapshot) = leader.snapshot() else { panic!() };
        for entry in std::fs::read_dir(&snapshot).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with(file) {
                std::fs::remove_file(path).unwrap();
            }
        }
        follower.machine.restore(SnapshotSource::Dir(snapshot), at(9)).unwrap_err();
    }
    assert_eq!(follower.volumes(), [1, 2, 3, 4, 5]);
    follower.apply(6..=6);
    drop(follower);
    let follower = Replica::open(&home);
    assert_eq!((follower.machine.applied(), follower.volumes().len()), (at(6), 6));
    assert_eq!(names(&home), ["om.db"]);
}

/// A database at a position, in a directory of its own.
fn database(dir: &Path, index: u64) {
    let current = open(dir).unwrap();
    let store = current.get().unwrap();
    let mut batch = Batch::new();
    let row = transaction_info(1, index);
    batch.put(stored(Table::TransactionInfoTable), TRANSACTION_INFO_KEY, row);
    store.store().write(batch, Durability::Sync).unwrap();
    store.store().flush().unwrap();
}

/// An OM's directory with the tables up to 5, and a snapshot up to 9 that the leader sent.
fn before_a_replacement(dir: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let (home, sent) = (dir.join("om"), dir.join("sent"));
    database(&home, 5);
    database(&sent, 9);
    (home, sent.join("om.db"))
}

fn opened_at(home: &Path) -> u64 {
    let current = open(home).unwrap();
    position(current.get().unwrap().store()).unwrap().index
}

#[test]
fn wherever_a_replacement_ends_there_is_one_whole_database() {
    type Step = fn(&Places, &Path) -> Result<(), Error>;
    let steps: [Step; 5] = [
        |places, sent| places.stage(sent, at(10), &StoreOptions::default()),
        |places, _| places.set_aside(),
        |places, _| places.put_in_place(),
        |places, _| places.retire(),
        |places, _| places.clear(),
    ];
    for (done, expected) in [(0, 5), (1, 5), (2, 5), (3, 10), (4, 10), (5, 10)] {
        let dir = tempfile::tempdir().unwrap();
        let (home, sent) = before_a_replacement(dir.path());
        let places = Places::new(&home);
        for step in &steps[..done] {
            step(&places, &sent).unwrap();
        }
        assert_eq!(opened_at(&home), expected, "after {done} steps");
        assert_eq!(names(&home), ["om.db"], "after {done} steps");
        // The snapshot that comes next is installed.
        database(&dir.path().join("next"), 12);
        open(&home).unwrap().replace(&dir.path().join("next/om.db"), at(12)).unwrap();
        assert_eq!(opened_at(&home), 12, "after {done} steps");
    }
}

/// Half of a snapshot is next to the tables, and half of a database that was being removed.
#[test]
fn what_a_crash_cut_short_counts_for_nothing() {
    for (name, whole) in
        [("om.db.partial", false), ("om.db.incoming", true), ("om.db.retired", false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let (home, sent) = before_a_replacement(dir.path());
        if !whole {
            std::fs::remove_file(sent.join("CURRENT")).unwrap();
        }
        std::fs::rename(sent, home.join(name)).unwrap();
        assert_eq!(opened_at(&home), 5, "{name}");
        assert_eq!(names(&home), ["om.db"], "{name}");
    }
    // As releases before left it that ended in the middle of the two renames.
    let dir = tempfile::tempdir().unwrap();
    let (home, sent) = before_a_replacement(dir.path());
    std::fs::rename(home.join("om.db"), home.join("om.db.outgoing")).unwrap();
    std::fs::rename(sent, home.join("om.db.incoming")).unwrap();
    assert_eq!(opened_at(&home), 5);
    assert_eq!(names(&home), ["om.db"]);
}

/// Files with these names that cannot be removed do not keep an OM from starting, or a snapshot
/// from its place.
#[test]
fn what_cannot_be_removed_keeps_no_snapshot_out() {
    let dir = tempfile::tempdir().unwrap();
    let (home, sent) = before_a_replacement(dir.path());
    let stuck = ["om.db.retired", "om.db.unopened"];
    for name in stuck {
        std::fs::write(home.join(name), "no directory").unwrap();
    }
    open(&home).unwrap().replace(&sent, at(10)).unwrap();
    assert_eq!(
        (opened_at(&home), names(&home)),
        (10, ["om.db", stuck[0], stuck[1]].map(str::to_owned).to_vec())
    );
    // One that does not open is kept under another name.
    database(&dir.path().join("next"), 12);
    let places = Places::new(&home);
    places.stage(&dir.path().join("next/om.db"), at(12), &StoreOptions::default()).unwrap();
    places.set_aside().unwrap();
    places.put_in_place().unwrap();
    std::fs::write(home.join("om.db/CURRENT"), "MANIFEST-999999\n").unwrap();
    assert_eq!(opened_at(&home), 10);
    assert!(home.join("om.db.unopened-1").is_dir());
}

#[test]
fn the_old_database_is_back_when_the_new_one_does_not_open_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (home, sent) = before_a_replacement(dir.path());
    let places = Places::new(&home);
    places.stage(&sent, at(10), &StoreOptions::default()).unwrap();
    places.set_aside().unwrap();
    places.put_in_place().unwrap();
    let current = home.join("om.db/CURRENT");
    std::fs::write(&current, "MANIFEST-999999\n").unwrap();
    assert_eq!(opened_at(&home), 5);
    assert_eq!(names(&home), ["om.db", "om.db.unopened"], "kept for a look at it");
    // Without an old one a start reports the error, and creates nothing new.
    std::fs::write(&current, "MANIFEST-999999\n").unwrap();
    assert!(open(&home).is_err());
    assert_eq!(names(&home), ["om.db", "om.db.unopened"]);
}
