//! The machine goes on behind every change.

use std::sync::Arc;

use metastore::StoreOptions;
use multiraft::{Committed, LogPosition, StateMachine};
use parking_lot::Mutex;
use placement::{Change, Sequence, Settings, Transaction};
use types::{ContainerId, LocalId};

use super::*;
use crate::tables;

/// The number of a transaction that the rules, with a bug in them, stumble over.
const BUG: u64 = 13;

/// The rules, with a bug: it is met when half of the change is done.
fn rules_with_a_bug(cluster: &mut Cluster, change: &Change) -> Applied {
    let applied = cluster.apply(change);
    if let Change::AddDeletions(transactions) = change {
        assert!(transactions.iter().all(|t| t.id != BUG), "a panic in the rules");
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

fn deletion(id: u64, size: u64) -> Change {
    Change::AddDeletions(vec![Transaction {
        id,
        container: ContainerId(1),
        blocks: vec![LocalId(id)],
        size,
        replicated_size: size,
    }])
}

fn entry(index: u64, header: Bytes) -> Committed {
    Committed { index, term: 1, header, payload: Bytes::new() }
}

fn apply(machine: &mut ScmMachine, index: u64, changes: &[Change]) -> Vec<Option<String>> {
    let outcomes = machine.apply(&[entry(index, encode_changes(changes))]).unwrap();
    decode_outcome(outcomes[0].clone()).unwrap()
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
    let round = [
        entry(2, encode_changes(&[deletion(2, 5), deletion(BUG, 5), reserve.clone()])),
        entry(3, encode_changes(&[Change::RemoveDeletions(vec![1]), deletion(4, 5)])),
    ];
    let outcomes = scm.apply(&round).unwrap();
    let refusals = decode_outcome(outcomes[0].clone()).unwrap();
    assert!(matches!(refusals.as_slice(), [None, Some(_), None]), "{refusals:?}");
    assert_eq!(decode_outcome(outcomes[1].clone()).unwrap(), [None, None]);
    assert_eq!(deletions(&scm), [2, 4], "half of a change is none");
    assert_eq!(scm.cluster.lock().refused.panics, 1);
    assert_eq!(scm.applied(), LogPosition { term: 1, index: 3 });
    drop(scm);

    // What is written is the same.
    let scm = machine(dir.path());
    assert_eq!(deletions(&scm), [2, 4]);
    assert_eq!(scm.cluster.lock().sequences.last(Sequence::LocalId), 100);
}

#[test]
fn an_entry_of_a_later_release_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut scm = machine(dir.path());
    let broken = entry(1, Bytes::from_static(&[0xff, 0xff]));
    let outcomes = scm.apply(&[broken, entry(2, encode_changes(&[deletion(1, 5)]))]).unwrap();
    assert!(decode_outcome(outcomes[0].clone()).unwrap()[0].is_some());
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
