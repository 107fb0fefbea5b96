//! Conformance checks of a [`Machine`], for its tests.
//!
//! Replicas apply the same entries in batches of different lengths, one of them as the proposer;
//! they stop anywhere and replay; they exchange snapshots. They must have the same state
//! afterwards.
//!
//! A crash needs a process that ends, or a disk that loses unsynced data: [`write()`] is a
//! replica's work before it, [`recover`] its work after it. The simulation runs them with a power
//! loss at any moment.

use std::fmt::Debug;
use std::path::Path;

use bytes::Bytes;
use multiraft::{LogPosition, MachineError};

use crate::machine::{Entry, Machine};

/// A machine to be checked.
pub trait Subject {
    /// Its type.
    type Machine: Machine;
    /// All of its state, for comparison.
    type State: PartialEq + Debug;

    /// Opens a machine with the tables in `dir`, which is empty or contains those of an earlier
    /// one.
    ///
    /// # Errors
    /// If the tables cannot be opened.
    fn open(&self, dir: &Path) -> Result<Self::Machine, MachineError>;

    /// Commands that change the state in different ways, the same on each call.
    fn commands(&self) -> Vec<Own<Self::Machine>>;

    /// Reads the state of a machine.
    ///
    /// # Errors
    /// If it cannot be read.
    fn state(&self, machine: &Self::Machine) -> Result<Self::State, MachineError>;
}

/// A command and its context.
pub type Own<M> = (<M as Machine>::Command, <M as Machine>::Context);

/// A violated rule.
#[derive(Debug, thiserror::Error)]
pub enum Violation {
    /// The machine failed.
    #[error("{what}: {source}")]
    Failed {
        /// The operation.
        what: &'static str,
        /// The error.
        source: MachineError,
    },
    /// States or positions differ that must be equal.
    #[error("{what}: {found} instead of {expected}")]
    Differs {
        /// The operation.
        what: &'static str,
        /// The actual value.
        found: String,
        /// The expected value.
        expected: String,
    },
}

const TERM: u64 = 3;

/// Directory of the tables that survive a restart.
const TABLES: &str = "restarted";

/// Checks a machine, in directories below `dir`.
///
/// # Errors
/// The first violated rule.
pub fn check<S: Subject>(subject: &S, dir: &Path) -> Result<(), Violation> {
    let check = Check { subject, dir };
    let expected = check.whole_log_at_once("whole")?;
    check.rounds_of_one(&expected)?;
    check.from_the_log(&expected)?;
    let mut flushed = None;
    drop(write(subject, dir, |position| flushed = Some(position))?);
    recover(subject, dir, flushed)?;
    check.snapshot_in_the_middle(&expected)?;
    check.unknown_entries(&expected)
}

/// Applies all entries to the tables in `dir`, with a flush in the middle, whose position is passed
/// to `flushed`. Returns the machine, which the caller loses with its process or computer, possibly
/// before this returns.
///
/// # Errors
/// If the machine fails, or reports a wrong position.
pub fn write<S: Subject>(
    subject: &S,
    dir: &Path,
    flushed: impl FnOnce(LogPosition),
) -> Result<S::Machine, Violation> {
    let check = Check { subject, dir };
    let mut machine = check.open(TABLES)?;
    let mut entries = check.entries(false);
    let rest = entries.split_off(entries.len() / 2);
    let half = entries.len();
    check.apply(&mut machine, entries)?;
    let position = machine.flush().map_err(failed("flushing"))?;
    same("position of a flush", &position, &at(half))?;
    flushed(position);
    check.apply(&mut machine, rest)?;
    Ok(machine)
}

/// Opens the tables left by [`write()`] in `dir` and applies the entries that they lack, as a
/// replica does from its log. `flushed` is the position of the flush, if it was done.
///
/// # Errors
/// If flushed entries are missing, or the resulting state differs from that of all entries on empty
/// tables.
pub fn recover<S: Subject>(
    subject: &S,
    dir: &Path,
    flushed: Option<LogPosition>,
) -> Result<(), Violation> {
    let check = Check { subject, dir };
    let expected = check.whole_log_at_once("expected")?;
    let mut machine = check.open(TABLES)?;
    let held = machine.applied();
    if let Some(flushed) = flushed.filter(|flushed| held < *flushed) {
        return same("position after a restart", &held, &flushed);
    }
    let missing: Vec<_> = check.entries(false).into_iter().filter(|e| e.at > held).collect();
    if !missing.is_empty() {
        check.apply(&mut machine, missing)?;
    }
    check.compare("replay after a restart", &machine, &expected)
}

struct Check<'a, S: Subject> {
    subject: &'a S,
    dir: &'a Path,
}

fn failed(what: &'static str) -> impl FnOnce(MachineError) -> Violation {
    move |source| Violation::Failed { what, source }
}

fn same<T: PartialEq + Debug>(
    what: &'static str,
    found: &T,
    expected: &T,
) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
    Err(Violation::Differs { what, found, expected })
}

fn at(index: usize) -> LogPosition {
    LogPosition { term: TERM, index: index as u64 }
}

impl<S: Subject> Check<'_, S> {
    fn open(&self, name: &str) -> Result<S::Machine, Violation> {
        self.subject.open(&self.dir.join(name)).map_err(failed("opening the tables"))
    }

    /// All commands as entries from index 1; `own` as on the proposing replica.
    fn entries(&self, own: bool) -> Vec<Entry<S::Machine>> {
        let entry = |(n, command): (usize, Own<S::Machine>)| Entry {
            at: at(n + 1),
            command: S::Machine::encode(&command.0),
            own: own.then_some(command),
        };
        self.subject.commands().into_iter().enumerate().map(entry).collect()
    }

    fn apply(
        &self,
        machine: &mut S::Machine,
        entries: Vec<Entry<S::Machine>>,
    ) -> Result<(), Violation> {
        let (count, last) = (entries.len(), entries.last().map(|entry| entry.at));
        let answers = machine.apply(entries).map_err(failed("applying entries"))?;
        same("answers to a round", &answers.len(), &count)?;
        same("position after a round", &Some(machine.applied()), &last)
    }

    fn compare(
        &self,
        what: &'static str,
        machine: &S::Machine,
        expected: &S::State,
    ) -> Result<(), Violation> {
        same(what, &self.subject.state(machine).map_err(failed("reading the state"))?, expected)
    }

    /// The state after all entries, in a new directory of that name.
    fn whole_log_at_once(&self, name: &str) -> Result<S::State, Violation> {
        let mut machine = self.open(name)?;
        same("position of an empty machine", &machine.applied(), &LogPosition::default())?;
        self.apply(&mut machine, self.entries(true))?;
        self.subject.state(&machine).map_err(failed("reading the state"))
    }

    fn rounds_of_one(&self, expected: &S::State) -> Result<(), Violation> {
        let mut machine = self.open("rounds")?;
        for entry in self.entries(true) {
            self.apply(&mut machine, vec![entry])?;
        }
        self.compare("rounds of one entry", &machine, expected)
    }

    fn from_the_log(&self, expected: &S::State) -> Result<(), Violation> {
        let mut machine = self.open("follower")?;
        self.apply(&mut machine, self.entries(false))?;
        self.compare("a replica that proposed nothing", &machine, expected)
    }

    /// A snapshot replaces any state of a replica.
    fn snapshot_in_the_middle(&self, expected: &S::State) -> Result<(), Violation> {
        for name in ["lagging", "empty"] {
            let mut source = self.open(&format!("{name}-source"))?;
            let mut entries = self.entries(false);
            let rest = entries.split_off(entries.len() / 2 + 1);
            let taken_at = at(entries.len());
            self.apply(&mut source, entries)?;
            let snapshot = source.snapshot().map_err(failed("taking a snapshot"))?;
            let mut target = self.open(name)?;
            if name == "lagging" {
                self.apply(&mut target, self.entries(false).into_iter().take(1).collect())?;
            }
            target.restore(snapshot, taken_at).map_err(failed("restoring a snapshot"))?;
            same("position of a restored snapshot", &target.applied(), &taken_at)?;
            if !rest.is_empty() {
                self.apply(&mut target, rest)?;
            }
            self.compare("a snapshot and the log after it", &target, expected)?;
        }
        Ok(())
    }

    /// A malformed entry changes nothing and stops nothing.
    fn unknown_entries(&self, expected: &S::State) -> Result<(), Violation> {
        let mut machine = self.open("unknown")?;
        let mut entries = self.entries(true);
        for garbage in [&[0xff_u8, 0xff, 0xff][..], &[0x0a, 0x7f], b"no command"] {
            let command = Bytes::copy_from_slice(garbage);
            entries.push(Entry { at: at(entries.len() + 1), command, own: None });
        }
        self.apply(&mut machine, entries)?;
        self.compare("entries that do not decode", &machine, expected)
    }
}
