//! One seed, in this process.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use super::{One, Scenario};
use crate::scenario::{Outcome, cluster, raft};
use crate::world::clock::SECOND;
use crate::world::{create, place, real, world};

/// Real seconds that a run may take.
const PATIENCE: u32 = 300;

/// Panics of any thread: none is ever right.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Logs show the world's time; writing them must not change what happens.
struct WorldTime;

impl FormatTime for WorldTime {
    fn format_time(&self, out: &mut Writer<'_>) -> std::fmt::Result {
        write!(out, "{:>13.6} {}", world().now as f64 / SECOND as f64, place())
    }
}

/// Standard error, past what is simulated.
struct Aside;

impl std::io::Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        real::say(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs it; false when something was found.
pub fn run(one: &One) -> anyhow::Result<bool> {
    let dir = one.dir.clone().context("--dir is needed")?;
    let level = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(level)
        .with_timer(WorldTime)
        .with_writer(|| Aside)
        .with_ansi(false)
        .init();
    std::panic::set_hook(Box::new(|info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        real::say(&format!("panic in {thread}: {info}\n"));
    }));
    raise_limit();
    // A run that comes to no end, in real time, is one that found something.
    // SAFETY: the signal ends the process.
    unsafe { libc::alarm(PATIENCE) };
    create(one.seed, &dir);
    let mut outcome = match one.scenario {
        Scenario::Raft => raft::run(one.seed, one.seconds)?,
        Scenario::Cluster => cluster::run(one.seed, one.seconds)?,
    };
    let panics = PANICS.load(Ordering::Relaxed);
    if panics > 0 {
        outcome.violations.push(format!("{panics} panics"));
    }
    Ok(report(one.seed, &outcome))
}

/// All processes of a run share the descriptors of one.
fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: asks for a limit, and sets it to what is allowed.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Prints what came of it and ends the process: threads of dead processes are still there.
fn report(seed: u64, outcome: &Outcome) -> bool {
    let (switches, trace) = world().trace();
    let mut text = String::new();
    for violation in &outcome.violations {
        text.push_str(&format!("seed {seed}: {violation}\n"));
    }
    text.push_str(&format!(
        "result seed={seed} seconds={} answered={} unknown={} undecided={} switches={switches} trace={trace:016x} violations={} faults={:?}\n",
        world().now / SECOND,
        outcome.answered,
        outcome.unknown,
        outcome.undecided,
        outcome.violations.len(),
        outcome.faults,
    ));
    // SAFETY: the text is valid; the process ends here.
    unsafe {
        real::write(1, text.as_ptr().cast(), text.len());
        libc::_exit(i32::from(!outcome.violations.is_empty()));
    }
}
