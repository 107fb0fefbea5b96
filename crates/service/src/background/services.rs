//! The background services of one role: spawn, list, run, pause.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::BackgroundService;
use super::run;
use crate::metrics::{CounterFamily, Gauge, GaugeFamily, HistogramFamily, MetricsRegistry};
use crate::shutdown::Shutdown;

/// The background services of one role; cheap to clone.
#[derive(Clone)]
pub struct BackgroundServices {
    inner: Arc<Inner>,
}

struct Inner {
    shutdown: Shutdown,
    metrics: Metrics,
    services: Mutex<BTreeMap<String, Running>>,
}

pub(super) struct Metrics {
    pub paused: GaugeFamily,
    pub runs: CounterFamily,
    pub failures: CounterFamily,
    pub items: CounterFamily,
    pub skipped: CounterFamily,
    pub time: HistogramFamily,
}

/// State shared by a service's loop and its list entry.
#[derive(Debug)]
pub(super) struct Control {
    pub paused: AtomicBool,
    /// The next run takes place even while the service is paused.
    pub asked: AtomicBool,
    /// A scheduled run was skipped because of the pause, and none has run since.
    pub missed: AtomicBool,
    pub wake: Notify,
    pub history: Mutex<History>,
}

/// The history of a service's runs.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub runs: u64,
    pub items: u64,
    pub skipped: u64,
    pub running: bool,
    pub last_run: Option<SystemTime>,
    pub last_failure: Option<String>,
}

struct Running {
    control: Arc<Control>,
    paused: Gauge,
    interval_ms: u64,
    service: Arc<dyn BackgroundService>,
    task: JoinHandle<()>,
}

/// A line of the list of services.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ServiceStatus {
    /// The service's name.
    pub name: String,
    /// `idle`, `running` or `paused`.
    pub state: &'static str,
    /// The service does not run by itself; a run in progress continues.
    pub paused: bool,
    /// Milliseconds between two runs.
    pub interval_ms: u64,
    /// Runs since the start of the process.
    pub runs: u64,
    /// Number of items processed in them.
    pub items: u64,
    /// Number of invalid items that the last run skipped.
    pub skipped: u64,
    /// Start of the last run, in milliseconds since 1970.
    pub last_run_ms: Option<u64>,
    /// The reason, if the last run failed.
    pub last_failure: Option<String>,
}

impl BackgroundServices {
    /// An empty set of services, all of which end with `shutdown`.
    pub fn new(registry: &MetricsRegistry, shutdown: Shutdown) -> Self {
        let metrics = Metrics {
            paused: registry.gauges(
                "background_paused",
                "1 if a background service is paused",
                "service",
            ),
            runs: registry.counters("background_runs", "Runs of a background service", "service"),
            failures: registry.counters(
                "background_failures",
                "Failed runs of a background service",
                "service",
            ),
            items: registry.counters(
                "background_items",
                "Items processed by a background service",
                "service",
            ),
            skipped: registry.counters(
                "background_skipped",
                "Invalid items skipped by each run of a background service",
                "service",
            ),
            time: registry.histograms(
                "background_run_seconds",
                "Time of a run of a background service",
                "service",
            ),
        };
        BackgroundServices {
            inner: Arc::new(Inner { shutdown, metrics, services: Mutex::default() }),
        }
    }

    /// Starts a service, replacing one of the same name: its first run follows after the interval,
    /// or when it is woken.
    pub fn spawn(&self, service: Arc<dyn BackgroundService>) {
        let name = service.name().to_string();
        let interval_ms = u64::try_from(service.interval().as_millis()).unwrap_or(u64::MAX);
        let control = Arc::new(Control {
            paused: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            missed: AtomicBool::new(false),
            wake: Notify::new(),
            history: Mutex::default(),
        });
        let metrics = run::ServiceMetrics::of(&self.inner.metrics, &name);
        let paused = self.inner.metrics.paused.with(&name);
        paused.set(0);
        let task = tokio::spawn(run::forever(
            Arc::clone(&service),
            Arc::clone(&control),
            metrics,
            self.inner.shutdown.clone(),
        ));
        let running = Running { control, paused, interval_ms, service, task };
        let replaced = self.inner.services.lock().insert(name, running);
        if let Some(old) = replaced {
            old.task.abort();
        }
    }

    /// All services by name.
    pub fn list(&self) -> Vec<ServiceStatus> {
        let services = self.inner.services.lock();
        services
            .iter()
            .map(|(name, running)| {
                let history = running.control.history.lock().clone();
                let paused = running.control.paused.load(Ordering::SeqCst);
                let state = match (history.running, paused) {
                    (true, _) => "running",
                    (false, true) => "paused",
                    (false, false) => "idle",
                };
                let since_epoch = |t: SystemTime| t.duration_since(SystemTime::UNIX_EPOCH).ok();
                ServiceStatus {
                    name: name.clone(),
                    state,
                    paused,
                    interval_ms: running.interval_ms,
                    runs: history.runs,
                    items: history.items,
                    skipped: history.skipped,
                    last_run_ms: history
                        .last_run
                        .and_then(since_epoch)
                        .and_then(|d| u64::try_from(d.as_millis()).ok()),
                    last_failure: history.last_failure,
                }
            })
            .collect()
    }

    /// Runs a service now, or again right after the current run, because it has work. A paused one
    /// runs when it is resumed. Returns `false` if there is none of that name.
    pub fn wake(&self, name: &str) -> bool {
        self.with(name, |service| service.control.wake.notify_one())
    }

    /// As [`wake`](Self::wake), but also while it is paused: for explicit requests.
    pub fn run(&self, name: &str) -> bool {
        self.with(name, |service| {
            service.control.asked.store(true, Ordering::SeqCst);
            service.control.wake.notify_one();
        })
    }

    /// Pauses a service until it is resumed or the process ends. A run in progress continues.
    /// Returns `false` if there is none of that name.
    pub fn pause(&self, name: &str) -> bool {
        self.with(name, |service| {
            service.control.paused.store(true, Ordering::SeqCst);
            service.paused.set(1);
        })
    }

    /// Resumes a paused service, which runs at once if a scheduled run was skipped. Returns `false`
    /// if there is none of that name.
    pub fn resume(&self, name: &str) -> bool {
        self.with(name, |service| {
            service.control.paused.store(false, Ordering::SeqCst);
            service.paused.set(0);
            if service.control.missed.swap(false, Ordering::SeqCst) {
                service.control.wake.notify_one();
            }
        })
    }

    /// The services that match `wanted`: the one of that name, or all whose name continues with a
    /// hyphen, such as those of the disks.
    pub(super) fn names(&self, wanted: &str) -> Vec<String> {
        let is_meant = |name: &&String| {
            let rest = name.strip_prefix(wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.inner.services.lock().keys().filter(is_meant).cloned().collect()
    }

    /// Describes what the work of a service waits for, for people.
    pub fn waits_for(&self, name: &str) -> String {
        let Some(service) = self.list().into_iter().find(|service| service.name == name) else {
            return format!("{name}, which does not exist here");
        };
        match (service.paused, service.state, service.last_failure) {
            (true, ..) => format!("{name}, which is paused"),
            (false, "running", _) if self.makes_way(name) => {
                format!("{name}, which is running, throttled for clients")
            }
            (false, "running", _) => format!("{name}, which is running"),
            (false, _, Some(failure)) => format!("{name}, which failed: {failure}"),
            (false, _, None) => {
                format!("the next run of {name}, in {} ms at most", service.interval_ms)
            }
        }
    }

    /// Returns `true` if a service is throttled in favour of clients at present, `false` if there
    /// is none of that name.
    fn makes_way(&self, name: &str) -> bool {
        let service = self.inner.services.lock().get(name).map(|s| Arc::clone(&s.service));
        service.is_some_and(|service| service.makes_way())
    }

    /// Returns `true` if a service is paused, `false` if there is none of that name.
    pub fn is_paused(&self, name: &str) -> bool {
        let services = self.inner.services.lock();
        services.get(name).is_some_and(|service| service.control.paused.load(Ordering::SeqCst))
    }

    fn with(&self, name: &str, change: impl FnOnce(&Running)) -> bool {
        match self.inner.services.lock().get(name) {
            Some(service) => {
                change(service);
                true
            }
            None => false,
        }
    }

    /// Waits until all services have ended, after the shutdown was triggered.
    pub fn join(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let services = std::mem::take(&mut *self.inner.services.lock());
            for running in services.into_values() {
                // A panic inside was logged when it happened.
                let _ = running.task.await;
            }
        })
    }
}

impl fmt::Debug for BackgroundServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}
