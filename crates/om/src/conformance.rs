//! OM's state machine as a subject of [`replicated::conformance`], for its tests and for the
//! simulation, which takes its power away.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use metastore::{IterRange, StoreOptions};
use multiraft::{LogPosition, MachineError};
use namespace::Table;
use proto::ozone::{CreateVolumeRequest, OmRequest, Type, VolumeInfo};
use replicated::conformance::{self, Own, Violation};

use crate::state::column_families::stored;
use crate::state::{CacheSizes, CurrentTables, MachineEvents, OmStateMachine, Rules};

/// The machine on tables of a directory.
pub(crate) struct Subject {
    /// The rules that it applies.
    pub(crate) rules: Rules,
}

impl conformance::Subject for Subject {
    type Machine = OmStateMachine;
    type State = Vec<(&'static str, Vec<u8>, Vec<u8>)>;

    fn open(&self, dir: &Path) -> Result<OmStateMachine, MachineError> {
        std::fs::create_dir_all(dir)?;
        let sizes = CacheSizes { directories: 1 << 20, updates: 1 << 20 };
        let current = CurrentTables::open(dir, StoreOptions::default(), sizes)?;
        let (events, snapshots) = (Arc::<MachineEvents>::default(), dir.join("snapshots"));
        let om = "om1".to_owned();
        let mut machine = OmStateMachine::new(Arc::new(current), events, snapshots, om)?;
        machine.rules = self.rules;
        Ok(machine)
    }

    fn commands(&self) -> Vec<Own<OmStateMachine>> {
        // A retried call gets the same answer and changes nothing.
        let one = || call(1, create_volume("one"));
        let others = [create_volume("two"), call(4, create_volume("bug"))];
        let [two, bug] = others;
        let calls = [one(), two, bug, one(), call(5, create_volume("three"))];
        calls.into_iter().map(|request| (request, Vec::new())).collect()
    }

    fn state(&self, machine: &OmStateMachine) -> Result<Self::State, MachineError> {
        let tables = machine.tables()?;
        let mut rows = Vec::new();
        // The machine's position is compared by itself.
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

/// A request that makes a volume.
pub(crate) fn create_volume(volume: &str) -> OmRequest {
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
pub(crate) fn call(number: i32, request: OmRequest) -> OmRequest {
    let client = Some(Bytes::from_static(&[1; 16]));
    OmRequest { rpc_client_id: client, rpc_call_id: Some(number), ..request }
}

const SUBJECT: Subject = Subject { rules: namespace::apply };

/// Checks OM's state machine in directories below `dir`.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(dir: &Path) -> Result<(), Violation> {
    conformance::check(&SUBJECT, dir)
}

/// Runs an OM up to a crash ([`conformance::write`]). The result holds its tables open.
///
/// # Errors
/// When the machine fails.
pub fn write(dir: &Path, flushed: &dyn Fn(LogPosition)) -> Result<Box<dyn Send>, Violation> {
    Ok(Box::new(conformance::write(&SUBJECT, dir, flushed)?))
}

/// Recovers an OM after a crash ([`conformance::recover`]).
///
/// # Errors
/// When it lacks flushed entries, or reaches another state.
pub fn recover(dir: &Path, flushed: Option<LogPosition>) -> Result<(), Violation> {
    conformance::recover(&SUBJECT, dir, flushed)
}
