//! Execution of tests: a number of them or for a time, with limited concurrency.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rand::distr::{Alphanumeric, SampleString};
use tokio::task::JoinHandle;

use crate::FreonError;
use crate::args::RunArgs;
use crate::cpu::CpuMeter;
use crate::report::Report;
use crate::timer::Timer;

/// Maximum number of failures shown in full; the rest are counted.
const SHOWN_FAILURES: u64 = 5;

/// Interval of the progress line's status.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// Measurements of one task.
#[derive(Default)]
pub(crate) struct Tally {
    timers: BTreeMap<&'static str, Timer>,
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
}

impl Tally {
    /// Records an operation that started at `began` and has just ended.
    pub(crate) fn timed(&mut self, name: &'static str, began: Instant) {
        self.timers.entry(name).or_default().since(began);
    }

    /// Adds the measurements of another task.
    pub(crate) fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.entries += other.entries;
        for (name, timer) in other.timers {
            self.timers.entry(name).or_default().merge(&timer);
        }
    }
}

/// A generator: its test, and its status in the progress line.
pub(crate) trait Generator: Send + Sync + 'static {
    /// Runs one test; `number` repeats if a run is longer than its number of tests.
    fn test(
        &self,
        number: u64,
        task: usize,
        tally: &mut Tally,
    ) -> impl Future<Output = Result<(), FreonError>> + Send;

    /// Status in the progress line, next to the number of tests; called once per second.
    fn status(&self) -> String {
        String::new()
    }
}

/// Runs a generator as [`run_tests`] does.
pub(crate) async fn run_generator(
    run: &RunArgs,
    prefix: &str,
    generator: impl Generator,
) -> Result<Report, FreonError> {
    let generator = Arc::new(generator);
    let (of_status, of_run) = (generator.clone(), run.clone());
    let status = move || of_status.status();
    run_tests_with_status(run, prefix, status, move |test, task, mut tally| {
        let (generator, number) = (generator.clone(), of_run.number(test));
        async move {
            let result = generator.test(number, task, &mut tally).await;
            (tally, result)
        }
    })
    .await
}

struct Progress {
    next: AtomicU64,
    successes: AtomicU64,
    failures: AtomicU64,
    stopped: AtomicBool,
    bar: ProgressBar,
}

/// The given prefix, or a random one.
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
        Some(_) => {
            (ProgressBar::new_spinner(), "{spinner} {pos} tests, {per_sec}, {elapsed} {msg}")
        }
        None => {
            let form = "{wide_bar} {pos}/{len} tests, {per_sec}, {eta} left {msg}";
            (ProgressBar::new(run.number_of_tests), form)
        }
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style);
    }
    bar
}

/// Refreshes the progress line's status; `None` if there is no line.
fn show(
    progress: Arc<Progress>,
    status: impl Fn() -> String + Send + 'static,
) -> Option<JoinHandle<()>> {
    if progress.bar.is_hidden() {
        return None;
    }
    Some(tokio::spawn(async move {
        loop {
            tokio::time::sleep(STATUS_INTERVAL).await;
            progress.bar.set_message(status());
        }
    }))
}

/// Runs `test` for every number until the tests are done or the time is over, prints the report and
/// returns it. `test` receives its number, the number of its task, and a tally to record in.
pub(crate) async fn run_tests<F, Fut>(
    run: &RunArgs,
    prefix: &str,
    test: F,
) -> Result<Report, FreonError>
where
    F: Fn(u64, usize, Tally) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = (Tally, Result<(), FreonError>)> + Send + 'static,
{
    run_tests_with_status(run, prefix, String::new, test).await
}

/// Runs tests like [`run_tests`], with a `status` in the progress line.
async fn run_tests_with_status<F, Fut>(
    run: &RunArgs,
    prefix: &str,
    status: impl Fn() -> String + Send + 'static,
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
    let shown = show(progress.clone(), status);
    let tallies = join_all(tasks).await;
    let elapsed = began.elapsed();
    if let Some(shown) = shown {
        shown.abort();
    }
    let server_cpu = meter.map(|m| m.elapsed()).transpose()?;
    progress.bar.finish_and_clear();

    let mut total = Tally::default();
    for tally in tallies {
        total.merge(tally.map_err(|e| FreonError::Usage(format!("a task failed: {e}")))?);
    }
    let report = Report {
        prefix: prefix.to_owned(),
        elapsed,
        successes: progress.successes.load(Ordering::Relaxed),
        failures: progress.failures.load(Ordering::Relaxed),
        timers: total.timers,
        bytes: total.bytes,
        entries: total.entries,
        server_cpu,
    };
    if run.json {
        println!("{}", report.json());
    } else {
        print!("{}", report.text());
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
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

    /// Records the numbers of its tests.
    struct Numbers(std::sync::Mutex<Vec<u64>>);

    impl Generator for Arc<Numbers> {
        async fn test(&self, number: u64, _: usize, _: &mut Tally) -> Result<(), FreonError> {
            self.0.lock().unwrap().push(number);
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_generator_that_runs_for_a_time_goes_over_its_numbers_again() {
        let numbers = Arc::new(Numbers(std::sync::Mutex::default()));
        let run = RunArgs { duration: Some(Duration::from_millis(20)), ..args(3, 1) };
        let report = run_generator(&run, "p", numbers.clone()).await.unwrap();
        let seen = numbers.0.lock().unwrap();
        assert_eq!(seen.len() as u64, report.successes);
        assert!(seen.len() > 3 && seen[..4] == [0, 1, 2, 0], "{:?}", &seen[..4]);
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
