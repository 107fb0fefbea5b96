//! The machine continues after every change.

use std::sync::Arc;

use metastore::{StoreOptions, Table};
use multiraft::LogPosition;
use parking_lot::Mutex;
use placement::{Change, Sequence, Settings};
use replicated::conformance::check;
use types::DatanodeId;

use super::*;
use crate::conformance::{FAULTY_TRANSACTION, Subject, deletion};
use crate::state::{resume_restore, tables};

/// The rules, with a bug: it is met when half of the change is done.
fn rules_with_a_bug(cluster: &mut Cluster, change: &Change) -> Applied {
    let applied = cluster.apply(change);
    if let Change::AddDeletions(transactions) = change {
        assert!(transactions.iter().all(|t| t.id != FAULTY_TRANSACTION), "a panic in the rules");
    }
    applied
}

fn machine(dir: &std::path::Path) -> ScmMachine {
    let store = Store::open(dir, &tables::ALL, &StoreOptions::default()).unwrap();
    let mut cluster = Cluster::new(Settings::default());
    let applied = load(&store, &mut cluster).unwrap();
    let mut machine = ScmMachine::new(Arc::new(Mutex::new(cluster)), store, applied);
    machine.rules = rules_with_a_bug;
    machine
}

fn entry(index: u64, command: Bytes) -> Entry<ScmMachine> {
    Entry { at: LogPosition { term: 1, index }, command, own: None }
}

fn encode_changes(changes: &[Change]) -> Bytes {
    ScmMachine::encode(&changes.into())
}

fn apply(machine: &mut ScmMachine, index: u64, changes: &[Change]) -> Refusals {
    machine.apply(vec![entry(index, encode_changes(changes))]).unwrap().remove(0)
}

fn deletions(machine: &ScmMachine) -> Vec<u64> {
    machine.cluster.lock().deletions.from(0).map(|t| t.id).collect()
}

#[test]
fn a_change_that_panics_is_refused_and_the_others_of_its_round_are_applied() {
    let dir = tempfile::tempdir().unwrap();
    let mut scm = machine(dir.path());
    assert_eq!(apply(&mut scm, 1, &[deletion(1, 5)]), [None]);
    let reserve = Change::ReserveIds { sequence: Sequence::LocalId, expected: 0, last: 100 };
    let round = vec![
        entry(
            2,
            encode_changes(&[deletion(2, 5), deletion(FAULTY_TRANSACTION, 5), reserve.clone()]),
        ),
        entry(3, encode_changes(&[Change::RemoveDeletions(vec![1]), deletion(4, 5)])),
    ];
    let refusals = scm.apply(round).unwrap();
    assert!(matches!(refusals[0].as_slice(), [None, Some(_), None]), "{refusals:?}");
    assert_eq!(refusals[1], [None, None]);
    assert_eq!(deletions(&scm), [2, 4], "half of a change is none");
    assert_eq!(scm.cluster.lock().refused.panics, 1);
    assert_eq!(scm.applied(), LogPosition { term: 1, index: 3 });
    drop(scm);

    // The writes are the same.
    let scm = machine(dir.path());
    assert_eq!(deletions(&scm), [2, 4]);
    assert_eq!(scm.cluster.lock().sequences.last(Sequence::LocalId), 100);
}

#[test]
fn a_restore_that_ended_halfway_is_finished_at_the_next_start() {
    let dirs = tempfile::tempdir().unwrap();
    let [mut ahead, mut behind] = ["ahead", "behind"].map(|name| {
        let dir = dirs.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        machine(&dir.join("scm.db"))
    });
    for id in 1..=5 {
        apply(&mut ahead, id, &[deletion(id, 5)]);
    }
    apply(&mut behind, 1, &[deletion(1, 5)]);
    let SnapshotSource::Dir(checkpoint) = ahead.snapshot().unwrap() else { panic!() };
    let at = LogPosition { term: 1, index: 5 };
    snapshot::keep(&checkpoint, behind.store.path(), at).unwrap();
    // The process ends when some of the old rows are durably deleted and no new row is written.
    let (store, path) = (behind.store.clone(), behind.store.path().to_owned());
    let mut batch = Batch::new();
    let gone = Table::named(tables::ALL.iter().find(|t| t.name.contains("deleted")).unwrap().name);
    batch.delete_range(gone, [0_u8; 1], [0xff_u8; 20]);
    store.write(batch, Durability::NoWal).unwrap();
    store.flush().unwrap();
    drop((store, behind));
    // What of the next start is before the tables are loaded.
    let store = Store::open(&path, &tables::ALL, &StoreOptions::default()).unwrap();
    resume_restore(&store).unwrap();
    // It ended once more, when half of the checkpoint was removed.
    let done = path.with_extension("restore.done");
    std::fs::create_dir(&done).unwrap();
    std::fs::write(done.join("IDENTITY"), "half of it").unwrap();
    resume_restore(&store).unwrap();
    assert!(!done.exists());
    drop(store);
    let scm = machine(&path);
    assert_eq!((deletions(&scm), scm.applied()), (vec![1, 2, 3, 4, 5], at));
    assert!(!path.with_extension("restore").exists());
}

/// As when the disk is full in the middle of it: the group begins again in the same process.
#[test]
fn a_restore_that_failed_halfway_is_finished_before_another_entry_is_applied() {
    let dirs = tempfile::tempdir().unwrap();
    let [mut ahead, mut behind] = ["ahead", "behind"].map(|name| {
        let dir = dirs.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        machine(&dir.join("scm.db"))
    });
    for id in 1..=5 {
        apply(&mut ahead, id, &[deletion(id, 5)]);
    }
    apply(&mut behind, 1, &[deletion(1, 5)]);
    let SnapshotSource::Dir(checkpoint) = ahead.snapshot().unwrap() else { panic!() };
    let path = behind.store.path().to_owned();
    snapshot::keep(&checkpoint, &path, LogPosition { term: 1, index: 5 }).unwrap();
    let mut batch = Batch::new();
    batch.delete_range(DELETED_BLOCKS.raw(), [0_u8; 1], [0xff_u8; 20]);
    behind.store.write(batch, Durability::NoWal).unwrap();

    let (cluster, store) = (behind.cluster.clone(), behind.store.clone());
    drop(behind);
    let mut again = ScmMachine::reload(cluster, store).unwrap();
    assert_eq!(deletions(&again), [1, 2, 3, 4, 5]);
    assert_eq!(again.applied().index, 5);
    apply(&mut again, 6, &[deletion(6, 5)]);
    again.flush().unwrap();
    drop(again);

    // The next start has no restore to continue.
    let store = Store::open(&path, &tables::ALL, &StoreOptions::default()).unwrap();
    resume_restore(&store).unwrap();
    drop(store);
    let scm = machine(&path);
    assert_eq!((deletions(&scm), scm.applied().index), (vec![1, 2, 3, 4, 5, 6], 6));
}

#[test]
fn an_entry_of_a_later_release_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut scm = machine(dir.path());
    let broken = entry(1, Bytes::from_static(&[0xff, 0xff]));
    let round = vec![broken, entry(2, encode_changes(&[deletion(1, 5)]))];
    assert!(scm.apply(round).unwrap()[0][0].is_some());
    assert_eq!(deletions(&scm), [1]);
    assert_eq!(scm.cluster.lock().refused.unknown, 1);
}

#[test]
fn sizes_of_deleted_blocks_at_their_limits_stop_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut scm = machine(dir.path());
    for (id, size) in [(1, u64::MAX), (2, u64::MAX), (3, 7)] {
        assert_eq!(apply(&mut scm, id, &[deletion(id, size)]), [None]);
    }
    assert_eq!(scm.cluster.lock().deletions.summary().size, u64::MAX);
    assert_eq!(apply(&mut scm, 4, &[Change::RemoveDeletions(vec![1, 2])]), [None]);
    assert_eq!(
        scm.cluster.lock().deletions.summary().size,
        7,
        "what was added is taken away again"
    );
}

#[test]
fn the_machine_conforms() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject { rules: rules_with_a_bug }, dir.path()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    crate::conformance::check(dir.path()).unwrap();
}

#[test]
fn the_balancer_is_as_it_was_asked_for_after_a_start_and_off_when_its_row_makes_no_sense() {
    let dir = tempfile::tempdir().unwrap();
    let wire = proto::hdds::ContainerBalancerConfigurationProto {
        utilization_threshold: Some("7.5".into()),
        next_iteration_index: Some(3),
        should_run: true,
        ..Default::default()
    };
    let balancer = placement::Balancer::from_wire(&wire).unwrap();
    let mut scm = machine(dir.path());
    assert_eq!(apply(&mut scm, 1, &[Change::SetBalancer(balancer.clone())]), [None]);
    drop(scm);
    let scm = machine(dir.path());
    assert_eq!(scm.cluster.lock().balancer.as_ref(), Some(&balancer));

    // As Apache Ozone's SCM takes it: `start --include-containers x`.
    let wire = proto::hdds::ContainerBalancerConfigurationProto {
        include_containers: Some("x".into()),
        ..wire
    };
    let mut batch = Batch::new();
    batch.put(SERVICE_CONFIG.raw(), BALANCER_KEY, prost::Message::encode_to_vec(&wire));
    scm.store.write(batch, Durability::Sync).unwrap();
    drop(scm);
    assert_eq!(machine(dir.path()).cluster.lock().balancer, None);
}

#[test]
fn where_the_replicas_of_a_node_go_is_known_after_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let (node, to, other) = (DatanodeId::random(), DatanodeId::random(), DatanodeId::random());
    let set = |node, destination| Change::SetDestination { node, destination };
    let mut scm = machine(dir.path());
    assert_eq!(apply(&mut scm, 1, &[set(node, Some(to)), set(other, Some(to))]), [None, None]);
    assert_eq!(apply(&mut scm, 2, &[set(other, None)]), [None]);
    drop(scm);
    let scm = machine(dir.path());
    assert_eq!(scm.cluster.lock().destinations, [(node, to)].into());
}
