//! Running a role until it is told to stop: runtime, logs, signals, and an orderly end.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use config::Configuration;
use config::keys::trioxide;
use rustix::process::{Resource, getrlimit, setrlimit};
use service::{Shutdown, logging};
use telemetry::{Exporter, TracingSettings};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

/// What a daemon does between start and stop.
pub trait Daemon {
    /// It, running.
    type Running;
    /// What it is called among the services of a trace.
    const SERVICE: &'static str;
    /// Starts it; returns when it serves.
    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running>;
    /// Tells the user that it is ready, and how to reach it.
    fn announce(running: &Self::Running, took: Duration) -> anyhow::Result<()>;
    /// Waits until it fails by itself; forever if it cannot.
    async fn failed(running: &Self::Running) -> anyhow::Error;
    /// Stops it in good order.
    async fn stop(running: Self::Running);
}

/// Runs a daemon until SIGTERM or SIGINT, and ends the process. A second signal ends it at once.
///
/// `began` is when the process did: being ready is counted from there.
pub fn run<D: Daemon>(daemon: D, conf: Configuration, began: Instant) -> anyhow::Result<ExitCode> {
    let format = match conf.get(&trioxide::TRIOXIDE_LOG_FORMAT).as_str() {
        "json" => logging::Format::Json,
        _ => logging::Format::Text,
    };
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("o3")
        .on_thread_start(scheduling::in_foreground)
        .build()
        .context("cannot start the threads of the runtime")?;
    let exporter = {
        // It sends from the runtime.
        let _entered = runtime.enter();
        start_exporter(&conf, D::SERVICE)?
    };
    logging::init(&conf.get(&trioxide::TRIOXIDE_LOG_FILTER), format, exporter.as_ref())?;
    let outcome = runtime.block_on(serve(daemon, conf, began));
    if let Some(exporter) = exporter {
        exporter.shutdown();
    }
    // Whatever still blocks after the orderly end is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    leave(match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("o3: {error:#}");
            1
        }
    })
}

/// Starts the export of spans, where it is on.
pub fn start_exporter(conf: &Configuration, service: &str) -> anyhow::Result<Option<Exporter>> {
    let settings = TracingSettings::of(conf)?;
    Ok(settings.map(|settings| Exporter::start(&settings, service)).transpose()?)
}

/// Ends the process as it is. The usual way out takes apart what RocksDB shares among its
/// databases, while threads that were not waited for may still flush or close one: it aborts then.
fn leave(status: i32) -> ! {
    // No reader is left when it cannot be written.
    let _ = std::io::stdout().flush();
    // SAFETY: takes a number, touches no memory of ours and does not return.
    unsafe { libc::_exit(status) }
}

/// Takes as many open files as the system allows: tables, block files and connections all need one.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused the old limit holds; what then cannot be opened says so.
    let _ = setrlimit(Resource::Nofile, limit);
}

async fn serve<D: Daemon>(daemon: D, conf: Configuration, began: Instant) -> anyhow::Result<()> {
    let stop = stop_on_signals()?;
    let timeout = conf.get(&trioxide::TRIOXIDE_SHUTDOWN_TIMEOUT);
    let Some(started) = stop.until(daemon.start(conf)).await else {
        info!("stopped while starting");
        return Ok(());
    };
    let running = started?;
    D::announce(&running, began.elapsed())?;
    let failure = tokio::select! {
        () = stop.cancelled() => None,
        error = D::failed(&running) => Some(error),
    };
    info!("stopping");
    if tokio::time::timeout(timeout, D::stop(running)).await.is_err() {
        // Nothing acknowledged is lost by it: what is acknowledged is durable.
        warn!(?timeout, "did not stop in time, leaving as it is");
    }
    failure.map_or(Ok(()), Err)
}

/// Triggered by the first SIGTERM or SIGINT; the second leaves the process.
fn stop_on_signals() -> anyhow::Result<Shutdown> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
    let stop = Shutdown::new();
    let triggered = stop.clone();
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = terminate.recv() => SignalKind::terminate(),
                _ = interrupt.recv() => SignalKind::interrupt(),
            }
        };
        next().await;
        triggered.trigger();
        let second = next().await;
        leave(128 + second.as_raw_value());
    });
    Ok(stop)
}
