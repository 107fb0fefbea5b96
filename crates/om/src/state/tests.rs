//! The machine goes on behind every entry.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use metastore::{IterRange, StoreOptions};
use multiraft::LogPosition;
use namespace::{Applied, Table, TransactionPosition, View, ViewError};
use prost::Message;
use proto::ozone::{CreateVolumeRequest, OmRequest, OmResponse, Status, Type, VolumeInfo};
use replicated::conformance::{Own, Subject, check};
use replicated::{Entry, Machine};

use super::machine::OmStateMachine;
use super::{CacheSizes, CurrentTables, MachineEvents};
use crate::tables::stored;

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
        let sizes = CacheSizes { directories: 1 << 20 };
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

fn create(volume: &str) -> OmRequest {
    let volume_info = VolumeInfo {
        admin_name: "ann".to_owned(),
        owner_name: "ann".to_owned(),
        volume: volume.to_owned(),
        ..VolumeInfo::default()
    };
    OmRequest {
        cmd_type: Type::CreateVolume as i32,
        client_id: "test".to_owned(),
        create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info })),
        ..OmRequest::default()
    }
}

/// The request as the client's call of that number.
fn call(number: i32, request: OmRequest) -> OmRequest {
    let client = Some(Bytes::from_static(&[1; 16]));
    OmRequest { rpc_client_id: client, rpc_call_id: Some(number), ..request }
}

fn status(response: &OmResponse) -> Status {
    Status::try_from(response.status).unwrap()
}

#[test]
fn a_command_that_panics_is_refused_and_the_others_of_its_round_are_applied() {
    let dir = tempfile::tempdir().unwrap();
    let mut leader = Replica::open(dir.path());
    let answers = leader
        .lead(1, vec![call(1, create("one")), call(2, create(BUG)), call(3, create("three"))]);
    let statuses: Vec<_> = answers.iter().map(status).collect();
    assert_eq!(statuses, [Status::Ok, Status::InternalError, Status::Ok]);
    assert_eq!(leader.volumes(), ["one", "three"]);
    assert_eq!(leader.events.panics.load(Ordering::Relaxed), 1);
    assert_eq!(leader.machine.applied().index, 3);

    // A replica that gets the entries one by one, and out of the log, comes to the same.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut follower = Replica::open(elsewhere.path());
    for (index, volume) in [(1, "one"), (2, BUG), (3, "three")] {
        let header = Bytes::from(create(volume).encode_to_vec());
        follower.machine.apply(entries(index, vec![header])).unwrap();
    }
    assert_eq!(follower.volumes(), leader.volumes());

    // The call that comes again gets its answer again, also when the bug is gone by then: it was
    // refused.
    leader.machine.rules = namespace::apply;
    let answers = leader.lead(4, vec![call(2, create(BUG)), call(9, create("two"))]);
    assert_eq!(status(&answers[0]), Status::InternalError);
    assert_eq!(status(&answers[1]), Status::Ok);
    assert_eq!(leader.volumes(), ["one", "two", "three"]);
}

#[test]
fn an_entry_that_no_release_or_a_later_one_made_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut replica = Replica::open(dir.path());
    let later = OmRequest { cmd_type: 4_711, ..create("two") };
    let headers = vec![
        Bytes::from_static(&[0xff, 0xff, 0xff]),
        Bytes::from(later.encode_to_vec()),
        Bytes::from(create("three").encode_to_vec()),
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
    let answers = replica.lead(3, vec![create("one")]);
    assert_eq!(status(&answers[0]), Status::NotSupportedOperationWhenPrepared);
}

/// The machine on tables of a directory, for the rules of [`replicated::conformance`].
struct Conforming;

impl Subject for Conforming {
    type Machine = OmStateMachine;
    type State = Vec<(&'static str, Vec<u8>, Vec<u8>)>;

    fn open(&self, dir: &std::path::Path) -> Result<OmStateMachine, multiraft::MachineError> {
        std::fs::create_dir_all(dir)?;
        Ok(Replica::open(dir).machine)
    }

    fn commands(&self) -> Vec<Own<OmStateMachine>> {
        let bug = call(4, create(BUG));
        // The call comes again: it gets the same answer and changes nothing.
        let again = call(1, create("one"));
        let calls = [call(1, create("one")), create("two"), bug, again, call(5, create("three"))];
        calls.into_iter().map(|request| (request, Vec::new())).collect()
    }

    fn state(&self, machine: &OmStateMachine) -> Result<Self::State, multiraft::MachineError> {
        let tables = machine.tables()?;
        let mut rows = Vec::new();
        // Where the machine is, is compared by itself.
        for table in Table::ALL.iter().filter(|table| **table != Table::TransactionInfoTable) {
            let mut all = tables.store().iter(stored(*table), IterRange::all())?;
            all.first();
            all.for_each(|key, value| {
                rows.push((table.name(), key.to_vec(), value.to_vec()));
                true
            })?;
        }
        Ok(rows)
    }
}

#[test]
fn the_machine_conforms() {
    let dir = tempfile::tempdir().unwrap();
    check(&Conforming, dir.path()).unwrap();
}
