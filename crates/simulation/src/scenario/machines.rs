//! The state machines of OM and SCM against the rules of `replicated::conformance`: on a system
//! whose hooks do what it may, and with a loss of power at any moment.
//!
//! A machine loses power as its process applies entries and flushes, or right after. A second
//! process then opens the disk and applies the missing entries. It must find at least the flushed
//! state, and reach the same state as a machine that lost nothing.

use std::path::Path;
use std::sync::Arc;

use multiraft::LogPosition;
use parking_lot::Mutex;
use replicated::conformance::Violation;

use super::{Outcome, Plan, now, sleep, within};
use crate::world::clock::{Clock, SECOND};
use crate::world::node::{self, End};
use crate::world::random::Random;
use crate::world::world;

/// Time limit of a process, in seconds.
const PROCESS_TIMEOUT: u64 = 1_800;
/// Maximum time until the loss of power, in nanoseconds.
const MAX_UPTIME: u64 = SECOND;

/// A state machine.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    check: fn(&Path) -> Result<(), Violation>,
    write: fn(&Path, &dyn Fn(LogPosition)) -> Result<Box<dyn Send>, Violation>,
    recover: fn(&Path, Option<LogPosition>) -> Result<(), Violation>,
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "om",
        check: om::conformance::check,
        write: om::conformance::write,
        recover: om::conformance::recover,
    },
    Subject {
        name: "scm",
        check: scm::conformance::check,
        write: scm::conformance::write,
        recover: scm::conformance::recover,
    },
];

/// Result of a process; `None` while it runs.
type EndedWith = Arc<Mutex<Option<Result<(), Violation>>>>;

/// Runs the scenario.
pub fn run(plan: Plan) -> std::io::Result<Outcome> {
    let Plan { seed, seconds, faults, draws: _ } = plan;
    let mut random = Random::new(seed);
    let mut choices = random.clone();
    world().contract = faults.of_seed(&mut choices).1;
    world().hooks = faults.hooks(&mut choices);
    world().preempt_once_in(*random.pick(&[0, 16, 64]));
    let mut outcome = Outcome::default();
    for subject in SUBJECTS {
        let machine = node::add_machine(Clock::default());
        let violation = finish(machine, subject.name, subject.check);
        outcome.violations.extend(violation.map(|v| format!("{}: {v}", subject.name)));
    }
    let end = now() + seconds * SECOND;
    while now() < end && outcome.violations.is_empty() {
        let subject = *random.pick(&SUBJECTS);
        if let Some(violation) = crash(subject, &mut random, &mut outcome) {
            outcome.violations.push(format!("{} after a loss of power: {violation}", subject.name));
        }
    }
    Ok(outcome)
}

/// Crashes a machine, and returns the defects afterwards.
fn crash(subject: Subject, random: &mut Random, outcome: &mut Outcome) -> Option<String> {
    let machine = node::add_machine(Clock::default());
    let dir = node::home(machine);
    let (flushed, failed) = (Arc::<Mutex<_>>::default(), Arc::<Mutex<_>>::default());
    let (position, failure) = (Arc::clone(&flushed), Arc::clone(&failed));
    let (process, _) = node::start(machine, subject.name, move || {
        let note = |at| *position.lock() = Some(at);
        match (subject.write)(&dir, &note) {
            // It has its tables open until the loss of power.
            Ok(_tables) => sleep(PROCESS_TIMEOUT * SECOND),
            Err(violation) => *failure.lock() = Some(violation.to_string()),
        }
    });
    sleep(1 + random.below(MAX_UPTIME));
    node::kill(process, End::PowerLost);
    if let Some(violation) = failed.lock().take() {
        return Some(violation);
    }
    let flushed = *flushed.lock();
    let kind = if flushed.is_some() { "losses of power after a flush" } else { "before it" };
    *outcome.counts.entry(kind).or_default() += 1;
    outcome.answered += 1;
    finish(machine, subject.name, move |dir| (subject.recover)(dir, flushed))
}

/// Runs a process to its end; returns the defect.
fn finish(
    machine: usize,
    name: &str,
    work: impl FnOnce(&Path) -> Result<(), Violation> + Send + 'static,
) -> Option<String> {
    let dir = node::home(machine);
    let result: EndedWith = Arc::default();
    let told = Arc::clone(&result);
    node::start(machine, name, move || *told.lock() = Some(work(&dir)));
    if !within(PROCESS_TIMEOUT, || result.lock().is_some()) {
        return Some(format!("no end within {PROCESS_TIMEOUT} s"));
    }
    let result = result.lock().take();
    result.and_then(Result::err).map(|violation| violation.to_string())
}
