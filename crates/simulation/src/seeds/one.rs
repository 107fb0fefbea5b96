//! One seed, in this process.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::prelude::*;
use tracing_subscriber::reload;

use super::{One, Scenario, Settings};
use crate::scenario::{Outcome, Plan, cluster, erasure, machines, raft, s3, storage};
use crate::script;
use crate::world::clock::SECOND;
use crate::world::{create, place, real, world};

/// Seconds of a processor that a run may use, and more for each simulated second of faults.
const BASE_LIMIT: u64 = 300;
const LIMIT_FACTOR: u64 = 3;
/// A run that uses no processor is ended after this multiple of its limit.
const STANDSTILL_FACTOR: u64 = 10;

/// Panics of any thread, but for those of [`is_of_disk`]: none is ever right.
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

/// Returns `true` for panics by which a library reports a failed disk, for lack of an error:
/// raft-engine when an fsync fails, raft-rs when entries cannot be read. `multiraft` catches both.
fn is_of_disk(info: &std::panic::PanicHookInfo<'_>) -> bool {
    let file = info.location().map_or("", |location| location.file());
    let text = info.payload_as_str().unwrap_or_default();
    let synced = file.contains("raft-engine") && text.contains("fdatasync");
    let read = file.contains("/raft-") && text.contains("Store(Other(Io");
    // A thread that panics for one of them and again while it unwinds: its process aborts.
    synced || read || text.contains("panic in a destructor during cleanup")
}

/// Runs it; false when something was found.
///
/// The world is made by a thread with a stack where each run has it: that of the main thread is
/// below the arguments and the environment.
pub fn run(one: &One) -> anyhow::Result<bool> {
    let one = one.clone();
    let first = std::thread::Builder::new().name("first".to_owned());
    let first = first.spawn(move || live(&one)).context("the first thread cannot be started")?;
    first.join().unwrap_or_else(|_| anyhow::bail!("the first thread panicked"))
}

fn live(one: &One) -> anyhow::Result<bool> {
    let dir = one.dir.clone().context("--dir is needed")?;
    let (level, wanted) = reload::Layer::new(match one.log_from {
        0 => EnvFilter::from_default_env(),
        _ => EnvFilter::new("error"),
    });
    let lines = tracing_subscriber::fmt::layer()
        .with_timer(WorldTime)
        .with_writer(|| Aside)
        .with_ansi(false);
    tracing_subscriber::registry().with(level).with(lines).init();
    std::panic::set_hook(Box::new(|info| {
        if !is_of_disk(info) {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        real::say(&format!("panic in {thread}: {info}\n"));
    }));
    raise_limit();
    end_after(BASE_LIMIT.saturating_add(one.seconds.saturating_mul(LIMIT_FACTOR)));
    let picks = one.picks.as_ref().map(std::fs::File::create).transpose()?;
    create(one.seed, &dir);
    if let Some(file) = &picks {
        world().trace_picks(file.as_raw_fd());
    }
    if one.log_from > 0 {
        world().at(one.log_from.saturating_mul(SECOND), move |_| {
            if let Err(error) = wanted.reload(EnvFilter::from_default_env()) {
                real::say(&format!("RUST_LOG does not count: {error}\n"));
            }
        });
    }
    let draws = one.settings == Settings::Drawn;
    let plan = Plan { seed: one.seed, seconds: one.seconds, faults: one.faults, draws };
    let script = one.script.as_deref().map(script::find).transpose()?;
    let mut outcome = match (script, one.scenario) {
        (Some(script), _) => script::run(script),
        (None, Scenario::Raft) => raft::run(plan)?,
        (None, Scenario::Cluster) => cluster::run(plan)?,
        (None, Scenario::Machines) => machines::run(plan)?,
        (None, Scenario::Erasure) => erasure::run(plan)?,
        (None, Scenario::Storage) => storage::run(plan)?,
        (None, Scenario::S3) => s3::run(plan)?,
    };
    let panics = PANICS.load(Ordering::Relaxed);
    if panics > 0 {
        outcome.violations.push(format!("{panics} panics"));
    }
    Ok(report(one.seed, &outcome))
}

/// Ends a run that does not end by itself, which is a finding, once it has used this many seconds
/// of processor time; the elapsed time depends on the load of the machine.
fn end_after(seconds: u64) {
    let standstill = seconds.saturating_mul(STANDSTILL_FACTOR);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads and sets limits. The signals that come of them end the process, without a dump
    // of its memory.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &limit);
        if libc::getrlimit(libc::RLIMIT_CPU, &mut limit) == 0 {
            limit.rlim_cur = seconds.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_CPU, &limit);
        }
        libc::alarm(u32::try_from(standstill).unwrap_or(u32::MAX));
    }
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

/// Prints the outcome and ends the process: threads of dead processes still exist.
fn report(seed: u64, outcome: &Outcome) -> bool {
    let (switches, trace) = world().trace();
    let mut counts = outcome.counts.clone();
    counts.extend(world().hooks.counts());
    if world().links.damaged > 0 {
        counts.insert("damaged packets", world().links.damaged);
    }
    let mut text = String::new();
    for violation in &outcome.violations {
        text.push_str(&format!("seed {seed}: {violation}\n"));
    }
    if !outcome.settings.is_empty() {
        let drawn = outcome.settings.iter().map(|(key, value)| format!(" {key}={value}"));
        text.push_str(&format!("settings seed={seed}{}\n", drawn.collect::<String>()));
    }
    text.push_str(&format!(
        "result seed={seed} seconds={} answered={} unknown={} undecided={} switches={switches} trace={trace:016x} violations={} faults={:?} counts={counts:?}\n",
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
