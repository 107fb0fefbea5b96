//! Lifecycle of a role: runtime, logs, signals, and graceful shutdown.

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

/// A role between start and stop.
pub trait Daemon {
    /// The running role.
    type Running;
    /// Service name in traces.
    const SERVICE: &'static str;
    /// Starts the role; returns when it serves requests.
    async fn start(self, conf: Configuration) -> anyhow::Result<Self::Running>;
    /// Reports readiness and addresses to the user.
    fn announce(running: &Self::Running, took: Duration) -> anyhow::Result<()>;
    /// Waits until the role fails; forever if it cannot.
    async fn failed(running: &Self::Running) -> anyhow::Error;
    /// Shuts the role down gracefully.
    async fn stop(running: Self::Running);
}

/// Runs a daemon until SIGTERM or SIGINT, and exits the process. A second signal exits at once.
///
/// `began` is the start of the process, from which the time to readiness is measured.
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
        // The exporter sends from the runtime.
        let _entered = runtime.enter();
        start_exporter(&conf, D::SERVICE)?
    };
    logging::init(&conf.get(&trioxide::TRIOXIDE_LOG_FILTER), format, exporter.as_ref())?;
    let outcome = runtime.block_on(serve(daemon, conf, began));
    if let Some(exporter) = exporter {
        exporter.shutdown();
    }
    // Tasks that still block after the graceful shutdown are abandoned.
    runtime.shutdown_timeout(Duration::from_secs(1));
    leave(match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("o3: {error:#}");
            1
        }
    })
}

/// Starts the export of spans, if enabled.
pub fn start_exporter(conf: &Configuration, service: &str) -> anyhow::Result<Option<Exporter>> {
    let settings = TracingSettings::of(conf)?;
    Ok(settings.map(|settings| Exporter::start(&settings, service)).transpose()?)
}

/// Exits the process at once. A regular exit destroys RocksDB's global state while abandoned
/// threads may still flush or close a database, which aborts.
fn leave(status: i32) -> ! {
    // There is no reader if it cannot be written.
    let _ = std::io::stdout().flush();
    // SAFETY: takes a number, touches no memory of ours and does not return.
    unsafe { libc::_exit(status) }
}

/// Raises the limit of open files to the maximum: tables, block files and connections all need one.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it fails the old limit applies, and opening further files returns errors.
    let _ = setrlimit(Resource::Nofile, limit);
}

async fn serve<D: Daemon>(daemon: D, conf: Configuration, began: Instant) -> anyhow::Result<()> {
    let stop = stop_on_signals()?;
    let timeout = conf.get(&trioxide::TRIOXIDE_SHUTDOWN_TIMEOUT);
    let Some(started) = stop.until(daemon.start(conf)).await else {
        info!("stopped during start");
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
        // No acknowledged write is lost: they are durable.
        warn!(?timeout, "graceful shutdown timed out, exiting");
    }
    failure.map_or(Ok(()), Err)
}

/// Triggered by the first SIGTERM or SIGINT; the second exits the process.
fn stop_on_signals() -> anyhow::Result<Shutdown> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
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
