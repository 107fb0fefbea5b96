//! A background service that runs at an interval, reports its progress, and stops with the server.
//!
//! ```text
//! cargo run --release --example background_service
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use service::{BackgroundService, BackgroundServices, MetricsRegistry, Progress, Role, Shutdown};

/// Maximum number of entries deleted per run: runs are short, so that a shutdown need not wait
/// long.
const BATCH: u64 = 4;

/// Deletes expired entries; this example only counts them.
struct ExpiryService {
    expired: AtomicU64,
}

#[async_trait]
impl BackgroundService for ExpiryService {
    fn name(&self) -> &str {
        "ExpiryService"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(3_600)
    }

    async fn run_once(&self) -> Progress {
        let left = self.expired.load(Ordering::Relaxed);
        let deleted = left.min(BATCH);
        self.expired.fetch_sub(deleted, Ordering::Relaxed);
        println!("deleted {deleted} entries, {} left", left - deleted);
        match left > BATCH {
            // The next run starts at once, without the interval.
            true => Progress::more(deleted),
            false => Progress::done(deleted),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A server has one registry and one shutdown, shared by all its services.
    let registry = MetricsRegistry::new(Role::new("om", "om1"));
    let shutdown = Shutdown::new();
    let services = BackgroundServices::new(&registry, shutdown.clone());

    let expiry = Arc::new(ExpiryService { expired: AtomicU64::new(10) });
    services.spawn(expiry.clone());
    // As `o3 admin` does: run now instead of after the interval.
    services.run("ExpiryService");
    while expiry.expired.load(Ordering::Relaxed) > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    shutdown.trigger();
    services.join().await;
    for status in services.list() {
        println!("{}", serde_json::to_string_pretty(&status)?);
    }
    Ok(())
}
