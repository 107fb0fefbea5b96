//! Background services.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, BackgroundServices, MetricsRegistry, Progress, Role, Shutdown};
use tokio::sync::mpsc;

/// Reports each of its runs, and returns the configured result.
struct Probe {
    interval: Duration,
    runs: AtomicU64,
    seen: mpsc::UnboundedSender<u64>,
    answer: fn(u64) -> Progress,
}

#[async_trait]
impl BackgroundService for Probe {
    fn name(&self) -> &str {
        "Probe"
    }
    fn interval(&self) -> Duration {
        self.interval
    }
    async fn run_once(&self) -> Progress {
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        self.seen.send(run).unwrap();
        (self.answer)(run)
    }
}

struct Fixture {
    services: BackgroundServices,
    registry: MetricsRegistry,
    shutdown: Shutdown,
    seen: mpsc::UnboundedReceiver<u64>,
}

fn start(interval: Duration, answer: fn(u64) -> Progress) -> Fixture {
    let registry = MetricsRegistry::new(Role::new("om", ""));
    let shutdown = Shutdown::new();
    let services = BackgroundServices::new(&registry, shutdown.clone());
    let (send, seen) = mpsc::unbounded_channel();
    services.spawn(Arc::new(Probe { interval, runs: AtomicU64::new(0), seen: send, answer }));
    Fixture { services, registry, shutdown, seen }
}

const NEVER: Duration = Duration::from_secs(86_400);

/// Waits until the list satisfies `wanted`: a run is entered into it right after it ends.
async fn listed(services: &BackgroundServices, wanted: impl Fn(&service::ServiceStatus) -> bool) {
    testkit::until("the list to show it", async || {
        let status = services.list().remove(0);
        if wanted(&status) { Ok(()) } else { Err(status) }
    })
    .await;
}

#[tokio::test]
async fn a_service_runs_after_each_interval() {
    let mut f = start(Duration::from_millis(1), |_| Progress::idle());
    for run in 1..=3 {
        assert_eq!(f.seen.recv().await, Some(run));
    }
}

#[tokio::test]
async fn a_service_with_more_to_do_goes_on_at_once() {
    let mut f = start(NEVER, |run| if run < 5 { Progress::more(10) } else { Progress::done(1) });
    assert!(f.services.run("Probe"));
    for run in 1..=5 {
        assert_eq!(f.seen.recv().await, Some(run));
    }
    listed(&f.services, |s| s.runs == 5).await;
    assert_eq!(f.services.list()[0].items, 41);
}

#[tokio::test]
async fn a_paused_service_runs_only_when_told_to() {
    let mut f = start(Duration::from_millis(1), |_| Progress::idle());
    assert_eq!(f.seen.recv().await, Some(1));
    assert!(f.services.pause("Probe"));
    listed(&f.services, |s| s.state == "paused").await;
    while f.seen.try_recv().is_ok() {}
    f.services.run("Probe");
    assert!(f.seen.recv().await.is_some());
    assert!(f.services.resume("Probe"));
    assert!(f.seen.recv().await.is_some());
    assert!(
        !f.services.pause("Nobody") && !f.services.run("Nobody") && !f.services.resume("Nobody")
    );
}

/// Lets the loop of the service do its pending work.
async fn let_run() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_paused_service_does_what_it_was_woken_for_once_it_is_resumed() {
    let mut f = start(NEVER, |_| Progress::done(1));
    assert!(f.services.pause("Probe"));
    assert!(f.registry.encode().contains("om_background_paused{service=\"Probe\"} 1"));
    assert!(f.services.wake("Probe"));
    let_run().await;
    assert!(f.seen.try_recv().is_err(), "paused, it ran because it was woken");
    assert!(f.services.resume("Probe"));
    assert_eq!(f.seen.recv().await, Some(1));
    listed(&f.services, |s| s.state == "idle" && !s.paused).await;
    assert!(f.registry.encode().contains("om_background_paused{service=\"Probe\"} 0"));
    assert!(f.services.pause("Probe") && f.services.resume("Probe"));
    let_run().await;
    assert!(f.seen.try_recv().is_err(), "it ran although no run was due");
    // The requested run was all the work there was.
    assert!(f.services.pause("Probe") && f.services.wake("Probe"));
    let_run().await;
    assert!(f.services.run("Probe"));
    assert_eq!(f.seen.recv().await, Some(2));
    listed(&f.services, |s| s.runs == 2 && s.state == "paused").await;
    assert!(f.services.resume("Probe"));
    let_run().await;
    assert!(f.seen.try_recv().is_err(), "it ran again");
}

#[tokio::test]
async fn a_failure_is_listed_and_counted_and_the_service_goes_on() {
    let mut f = start(Duration::from_millis(1), |run| {
        if run == 1 { Progress::failed("disk failed") } else { Progress::idle() }
    });
    assert_eq!(f.seen.recv().await, Some(1));
    listed(&f.services, |s| s.runs == 1).await;
    assert_eq!(f.services.list()[0].last_failure.as_deref(), Some("disk failed"));
    assert_eq!(f.seen.recv().await, Some(2));
    listed(&f.services, |s| s.last_failure.is_none()).await;
    assert!(f.registry.encode().contains("om_background_failures_total{service=\"Probe\"} 1"));
}

#[tokio::test]
async fn a_run_that_panics_has_failed_and_the_service_goes_on() {
    let mut f = start(Duration::from_millis(1), |run| match run {
        1 => panic!("no such row"),
        _ => Progress::done(3).and_skipped(2),
    });
    assert_eq!(f.seen.recv().await, Some(1));
    assert_eq!(f.seen.recv().await, Some(2));
    listed(&f.services, |s| s.skipped == 2).await;
    let metrics = f.registry.encode();
    assert!(metrics.contains("om_background_failures_total{service=\"Probe\"} 1"), "{metrics}");
    assert!(metrics.contains("om_background_skipped_total{service=\"Probe\"} 2"), "{metrics}");
}

#[tokio::test]
async fn services_end_with_the_shutdown() {
    let f = start(NEVER, |_| Progress::idle());
    f.shutdown.trigger();
    f.services.join().await;
    assert!(f.services.list().is_empty());
}
