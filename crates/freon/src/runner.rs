//! Running tests: so many, so many at once, until done or out of time.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use futures::future::join_all;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rand::distr::{Alphanumeric, SampleString};

use crate::FreonError;
use crate::args::RunArgs;
use crate::cpu::CpuMeter;
use crate::report::Report;
use crate::timer::Timer;

/// Failures shown in full; the rest are counted.
const SHOWN_FAILURES: u64 = 5;

/// What one task has measured.
#[derive(Default)]
pub(crate) struct Tally {
    timers: BTreeMap<&'static str, Timer>,
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
}

impl Tally {
    /// Records an operation that began at `began` and has just ended.
    pub(crate) fn timed(&mut self, name: &'static str, began: Instant) {
        self.timers.entry(name).or_default().since(began);
    }
}

struct Progress {
    next: AtomicU64,
    successes: AtomicU64,
    failures: AtomicU64,
    stopped: AtomicBool,
    bar: ProgressBar,
}

/// The prefix asked for, or a random one.
pub(crate) fn prefix(wanted: &str) -> String {
    if wanted.is_empty() {
        Alphanumeric.sample_string(&mut rand::rng(), 10).to_lowercase()
    } else {
        wanted.to_owned()
    }
}

fn progress_bar(run: &RunArgs) -> ProgressBar {
    if run.json || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, form) = match run.duration {
        Some(_) => (ProgressBar::new_spinner(), "{spinner} {pos} tests, {per_sec}, {elapsed}"),
        None => {
            let form = "{wide_bar} {pos}/{len} tests, {per_sec}, {eta} left";
            (ProgressBar::new(run.number_of_tests), form)
        }
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style);
    }
    bar
}

/// Runs `test` for every number until the tests or the time are used up, prints the report and
/// returns it. `test` gets its number, the number of its task, and a tally to record in.
pub(crate) async fn run_tests<F, Fut>(
    run: &RunArgs,
    prefix: &str,
    test: F,
) -> Result<Report, FreonError>
where
    F: Fn(u64, usize, Tally) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = (Tally, Result<(), FreonError>)> + Send + 'static,
{
    if run.threads == 0 {
        return Err(FreonError::Usage("--threads must be at least 1".into()));
    }
    let limit = if run.duration.is_some() { u64::MAX } else { run.number_of_tests };
    let progress = Arc::new(Progress {
        next: AtomicU64::new(0),
        successes: AtomicU64::new(0),
        failures: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
        bar: progress_bar(run),
    });
    if !run.json {
        println!("Executing test with prefix {prefix} and number-of-tests {}", run.number_of_tests);
    }
    let meter = CpuMeter::start(&run.server_pids)?;
    let began = Instant::now();
    let end = run.duration.and_then(|d| began.checked_add(d));
    let fail_at_end = run.fail_at_end;
    let tasks = (0..run.threads).map(|task| {
        let (progress, test) = (progress.clone(), test.clone());
        tokio::spawn(async move {
            let mut tally = Tally::default();
            while !progress.stopped.load(Ordering::Relaxed)
                && end.is_none_or(|e| Instant::now() < e)
            {
                let number = progress.next.fetch_add(1, Ordering::Relaxed);
                if number >= limit {
                    break;
                }
                let performed = telemetry::root("freon test", test(number, task, tally));
                let (back, result) = performed.await;
                tally = back;
                progress.bar.inc(1);
                match result {
                    Ok(()) => progress.successes.fetch_add(1, Ordering::Relaxed),
                    Err(e) => {
                        let before = progress.failures.fetch_add(1, Ordering::Relaxed);
                        if before < SHOWN_FAILURES {
                            progress.bar.suspend(|| eprintln!("test {number} failed: {e}"));
                        }
                        progress.stopped.fetch_or(!fail_at_end, Ordering::Relaxed);
                        before
                    }
                };
            }
            tally
        })
    });
    let tallies = join_all(tasks).await;
    let elapsed = began.elapsed();
    let server_cpu = meter.map(|m| m.elapsed()).transpose()?;
    progress.bar.finish_and_clear();

    let mut report = Report {
        prefix: prefix.to_owned(),
        elapsed,
        successes: progress.successes.load(Ordering::Relaxed),
        failures: progress.failures.load(Ordering::Relaxed),
        timers: BTreeMap::new(),
        bytes: 0,
        entries: 0,
        server_cpu,
    };
    for tally in tallies {
        let tally = tally.map_err(|e| FreonError::Usage(format!("a task died: {e}")))?;
        report.bytes += tally.bytes;
        report.entries += tally.entries;
        for (name, timer) in tally.timers {
            report.timers.entry(name).or_default().merge(&timer);
        }
    }
    if run.json {
        println!("{}", report.json());
    } else {
        print!("{}", report.text());
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn args(tests: u64, threads: usize) -> RunArgs {
        RunArgs {
            number_of_tests: tests,
            threads,
            duration: None,
            prefix: String::new(),
            fail_at_end: true,
            clients: 1,
            server_pids: vec![std::process::id()],
            json: true,
        }
    }

    async fn run_counting(run: &RunArgs) -> Report {
        run_tests(run, "p", |number, _, mut tally| async move {
            tally.timed("op", Instant::now());
            tally.bytes += 2;
            let fails = number % 10 == 3;
            (tally, if fails { Err(FreonError::Usage("three".into())) } else { Ok(()) })
        })
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn every_test_runs_once_and_failures_are_counted() {
        let report = run_counting(&args(100, 7)).await;
        assert_eq!((report.successes, report.failures, report.bytes), (90, 10, 200));
        assert_eq!(report.timers["op"].count(), 100);
        assert!(report.server_cpu.is_some());
    }

    #[tokio::test]
    async fn without_fail_at_end_the_first_failure_ends_the_run() {
        let run = RunArgs { fail_at_end: false, ..args(1_000_000, 1) };
        let report = run_counting(&run).await;
        assert_eq!((report.successes, report.failures), (3, 1));
    }

    #[tokio::test]
    async fn a_duration_bounds_the_run() {
        let run = RunArgs { duration: Some(Duration::from_millis(20)), ..args(1, 2) };
        let report = run_counting(&run).await;
        assert!(report.elapsed >= Duration::from_millis(20) && report.successes > 1);
    }
}
