//! The check passes a correct machine, and finds each bug.

use std::path::Path;

use multiraft::MachineError;
use replicated::conformance::{Own, Subject, check};

use crate::ledger::{Bug, Ledger, Sums};

struct Ledgers(Option<Bug>);

impl Subject for Ledgers {
    type Machine = Ledger;
    type State = Sums;

    fn open(&self, dir: &Path) -> Result<Ledger, MachineError> {
        Ledger::open(dir, self.0)
    }

    fn commands(&self) -> Vec<Own<Ledger>> {
        (1..=5).map(|n| (n * n, format!("number {n}"))).collect()
    }

    fn state(&self, machine: &Ledger) -> Result<Sums, MachineError> {
        Ok(machine.sums.clone())
    }
}

#[test]
fn a_machine_that_keeps_to_the_rules_passes() {
    let dir = tempfile::tempdir().unwrap();
    check(&Ledgers(None), dir.path()).unwrap();
}

#[test]
fn each_mistake_is_found() {
    for (bug, broken) in [
        (Bug::UsesContext, "a replica that proposed nothing"),
        (Bug::CountsRounds, "rounds of one entry"),
        (Bug::ForgetsPosition, "position after a restart"),
        (Bug::KeepsOldState, "a snapshot and the log after it"),
        (Bug::CountsUnknown, "entries that do not decode"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let violation = check(&Ledgers(Some(bug)), dir.path()).unwrap_err();
        assert!(violation.to_string().contains(broken), "{bug:?}: {violation}");
    }
}
