//! The machine continues after every entry.

mod replacement;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use metastore::StoreOptions;
use multiraft::LogPosition;
use namespace::{Applied, Table, TransactionPosition, View, ViewError};
use prost::Message;
use proto::ozone::{OmRequest, OmResponse, Status, Type};
use replicated::conformance::check;
use replicated::{Entry, Machine};

use super::machine::OmStateMachine;
use super::retries::{ENTRIES, SPAN};
use super::{CacheSizes, CurrentTables, MachineEvents};
use crate::conformance::{Subject, call, create_volume};

const BUG: &str = "bug";

/// The rules, with a bug in them: a volume of that name makes them panic when they have read and
/// written.
fn rules_with_a_bug(
    request: OmRequest,
    at: TransactionPosition,
    view: &dyn View,
) -> Result<Applied, ViewError> {
    let name = request.create_volume_request.as_ref().map(|r| r.volume_info.volume.clone());
    let applied = namespace::apply(request, at, view)?;
    assert_ne!(name.as_deref(), Some(BUG), "a panic in the rules");
    Ok(applied)
}

struct Replica {
    machine: OmStateMachine,
    current: Arc<CurrentTables>,
    events: Arc<MachineEvents>,
}

impl Replica {
    fn open(dir: &std::path::Path) -> Self {
        let sizes = CacheSizes { directories: 1 << 20, updates: 1 << 20 };
        let current = CurrentTables::open(dir, StoreOptions::default(), sizes).unwrap();
        let current = Arc::new(current);
        let events = Arc::new(MachineEvents::default());
        let mut machine = OmStateMachine::new(
            current.clone(),
            events.clone(),
            dir.join("snapshots"),
            "om1".to_owned(),
        )
        .unwrap();
        machine.rules = rules_with_a_bug;
        Self { machine, current, events }
    }

    /// Applies a round as the leader, which waits for the answers.
    fn lead(&mut self, first: u64, requests: Vec<OmRequest>) -> Vec<OmResponse> {
        let entries = (first..).zip(requests).map(|(index, request)| Entry {
            at: LogPosition { term: 1, index },
            command: OmStateMachine::encode(&request),
            own: Some((request, Vec::new())),
        });
        let answers = self.machine.apply(entries.collect()).unwrap();
        answers.into_iter().map(|a| OmResponse::decode(a.response).unwrap()).collect()
    }

    fn volumes(&self) -> Vec<&'static str> {
        let tables = self.current.get().unwrap();
        let there = |name: &&str| tables.exists(Table::VolumeTable, format!("/{name}").as_bytes());
        ["one", BUG, "two", "three"].into_iter().filter(|name| there(name).unwrap()).collect()
    }
}

/// A round out of the log.
fn entries(first: u64, commands: Vec<Bytes>) -> Vec<Entry<OmStateMachine>> {
    let entry = |(index, command)| Entry { at: LogPosition { term: 1, index }, command, own: None };
    (first..).zip(commands).map(entry).collect()
}

fn status(response: &OmResponse) -> Status {
    Status::try_from(response.status).unwrap()
}

#[test]
fn a_command_that_panics_is_refused_and_the_others_of_its_round_are_applied() {
    let dir = tempfile::tempdir().unwrap();
    let mut leader = Replica::open(dir.path());
    let answers = leader.lead(
        1,
        vec![
            call(1, create_volume("one")),
            call(2, create_volume(BUG)),
            call(3, create_volume("three")),
        ],
    );
    let statuses: Vec<_> = answers.iter().map(status).collect();
    assert_eq!(statuses, [Status::Ok, Status::InternalError, Status::Ok]);
    assert_eq!(leader.volumes(), ["one", "three"]);
    assert_eq!(leader.events.panics.load(Ordering::Relaxed), 1);
    assert_eq!(leader.machine.applied().index, 3);

    // A replica that gets the entries one by one, and from the log, reaches the same state.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut follower = Replica::open(elsewhere.path());
    for (index, volume) in [(1, "one"), (2, BUG), (3, "three")] {
        let header = Bytes::from(create_volume(volume).encode_to_vec());
        follower.machine.apply(entries(index, vec![header])).unwrap();
    }
    assert_eq!(follower.volumes(), leader.volumes());

    // The retried call gets its answer again, even if the bug is fixed by then: it was refused.
    leader.machine.rules = namespace::apply;
    let answers = leader.lead(4, vec![call(2, create_volume(BUG)), call(9, create_volume("two"))]);
    assert_eq!(status(&answers[0]), Status::InternalError);
    assert_eq!(status(&answers[1]), Status::Ok);
    assert_eq!(leader.volumes(), ["one", "two", "three"]);
}

#[test]
fn an_entry_that_no_release_or_a_later_one_made_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut replica = Replica::open(dir.path());
    let later = OmRequest { cmd_type: 4_711, ..create_volume("two") };
    let headers = vec![
        Bytes::from_static(&[0xff, 0xff, 0xff]),
        Bytes::from(later.encode_to_vec()),
        Bytes::from(create_volume("three").encode_to_vec()),
    ];
    replica.machine.apply(entries(1, headers)).unwrap();
    assert_eq!(replica.volumes(), ["three"]);
    assert_eq!(replica.events.unknown.load(Ordering::Relaxed), 2);
    assert_eq!(replica.machine.applied().index, 3);
}

#[test]
fn a_prepare_that_is_refused_leaves_the_machine_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut replica = Replica::open(dir.path());
    let prepare = |request| OmRequest {
        cmd_type: Type::Prepare as i32,
        prepare_request: request,
        ..OmRequest::default()
    };
    let whole = proto::ozone::PrepareRequest::default();
    let answers = replica.lead(1, vec![prepare(Some(Box::new(whole))), prepare(None)]);
    assert_eq!(status(&answers[0]), Status::Ok);
    assert_eq!(status(&answers[1]), Status::InvalidRequest);
    // As a replica that starts now has it.
    assert_eq!(*replica.events.prepared.borrow(), Some(1));
    let answers = replica.lead(3, vec![create_volume("one")]);
    assert_eq!(status(&answers[0]), Status::NotSupportedOperationWhenPrepared);
}

/// Replicas take the same entries in rounds of their own.
#[test]
fn a_call_that_comes_again_much_later_is_the_same_to_all_replicas_whatever_their_rounds_were() {
    let first = || vec![call(1, create_volume("one")), call(2, create_volume("two"))];
    let created = || call(1, create_volume("one"));
    // The last entry at which the answer counts, and the next one.
    let end = ENTRIES + SPAN;
    for (again, expected) in [
        (10 + ENTRIES, Status::Ok),
        (11 + ENTRIES, Status::Ok),
        (end - 1, Status::Ok),
        (end, Status::VolumeAlreadyExists),
    ] {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [mut one, mut other] = dirs.each_ref().map(|dir| Replica::open(dir.path()));
        for (index, request) in (10..).zip(first()) {
            one.lead(index, vec![request]);
        }
        other.lead(10, first());
        // Expired answers are deleted with a round that has answers, and not in the middle of one.
        let before = call(3, create_volume("three"));
        one.lead(again - 1, vec![before.clone()]);
        let here = one.lead(again, vec![created()]);
        let there = other.lead(again - 1, vec![before, created()]);
        assert_eq!((status(&here[0]), status(&there[1])), (expected, expected), "at {again}");
    }
}

#[test]
fn the_machine_conforms() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject { rules: rules_with_a_bug }, dir.path()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    crate::conformance::check(dir.path()).unwrap();
}
