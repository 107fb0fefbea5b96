//! SCM's state machine as a subject of [`replicated::conformance`], for its tests and for the
//! simulation, which adds losses of power.

use std::path::Path;
use std::sync::Arc;

use metastore::{IterRange, Store, StoreOptions, Table};
use multiraft::{LogPosition, MachineError};
use parking_lot::Mutex;
use placement::{Change, Cluster, Sequence, Settings, Transaction};
use replicated::conformance::{self, Own, Violation};
use types::{ContainerId, LocalId};

use crate::state::tables::{self, TRANSACTION_INFO};
use crate::state::{Rules, ScmMachine, load};

/// The transaction that the rules of a test fail on.
pub(crate) const FAULTY_TRANSACTION: u64 = 13;

/// The machine on a store of a directory.
pub(crate) struct Subject {
    /// The rules that it applies.
    pub(crate) rules: Rules,
}

impl conformance::Subject for Subject {
    type Machine = ScmMachine;
    type State = (Vec<u64>, u64, Vec<(&'static str, Vec<u8>, Vec<u8>)>);

    fn open(&self, dir: &Path) -> Result<ScmMachine, MachineError> {
        let store = Store::open(dir, &tables::ALL, &StoreOptions::default())?;
        let mut cluster = Cluster::new(Settings::default());
        let applied = load(&store, &mut cluster)?;
        let mut machine = ScmMachine::new(Arc::new(Mutex::new(cluster)), store, applied);
        machine.rules = self.rules;
        Ok(machine)
    }

    fn commands(&self) -> Vec<Own<ScmMachine>> {
        let reserve =
            |expected, last| Change::ReserveIds { sequence: Sequence::LocalId, expected, last };
        let entries = [
            vec![deletion(1, 5), deletion(2, 6)],
            vec![reserve(0, 100), deletion(FAULTY_TRANSACTION, 5)],
            vec![Change::RemoveDeletions(vec![1])],
            vec![reserve(100, 200), reserve(100, 300), deletion(3, 7)],
        ];
        entries.into_iter().map(|changes| (changes.into(), ())).collect()
    }

    fn state(&self, machine: &ScmMachine) -> Result<Self::State, MachineError> {
        let mut rows = Vec::new();
        // The machine's position is compared separately.
        let position = TRANSACTION_INFO.raw().name();
        for table in tables::ALL.iter().filter(|table| table.name != position) {
            let mut all = machine.store.iter(Table::named(table.name), IterRange::all())?;
            all.first();
            all.for_each(|key, value| {
                rows.push((table.name, key.to_vec(), value.to_vec()));
                true
            })?;
        }
        let cluster = machine.cluster.lock();
        let deletions = cluster.deletions.from(0).map(|t| t.id).collect();
        Ok((deletions, cluster.sequences.last(Sequence::LocalId), rows))
    }
}

/// A transaction of the deletion log, with one block of container 1.
pub(crate) fn deletion(id: u64, size: u64) -> Change {
    Change::AddDeletions(vec![Transaction {
        id,
        container: ContainerId(1),
        blocks: vec![LocalId(id)],
        size,
        replicated_size: size,
    }])
}

const SUBJECT: Subject = Subject { rules: Cluster::apply };

/// Checks SCM's state machine in directories below `dir`.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(dir: &Path) -> Result<(), Violation> {
    conformance::check(&SUBJECT, dir)
}

/// Operations of an SCM before a crash ([`conformance::write`]). The result holds its tables open.
///
/// # Errors
/// When the machine fails.
pub fn write(dir: &Path, flushed: &dyn Fn(LogPosition)) -> Result<Box<dyn Send>, Violation> {
    Ok(Box::new(conformance::write(&SUBJECT, dir, flushed)?))
}

/// Operations of an SCM after a crash ([`conformance::recover`]).
///
/// # Errors
/// When it lacks flushed entries, or has another state.
pub fn recover(dir: &Path, flushed: Option<LogPosition>) -> Result<(), Violation> {
    conformance::recover(&SUBJECT, dir, flushed)
}
