//! The trash of file systems: clients move deleted files to `.Trash/<user>/Current` of their
//! bucket; the emptier makes of that a checkpoint, named after the time, and deletes expired
//! checkpoints.

mod checkpoint;
mod empty;
mod files;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use service::{MetricsRegistry, Progress};

use crate::background::BackgroundError;
use crate::background::while_leading::LeaderWork;
use crate::dispatch::Dispatcher;

/// Settings of the emptier.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrashOptions {
    /// Time for which a checkpoint is kept.
    keep: Duration,
    /// Interval of checkpoints.
    every: Duration,
}

impl TrashOptions {
    /// From minutes, as Hadoop has them; `None` if checkpoints are not kept, and the trash not
    /// emptied. The interval of checkpoints is at most the time for which they are kept.
    pub(crate) fn of(keep: f64, every: f64) -> Option<Self> {
        let duration = |minutes: f64| Duration::try_from_secs_f64(minutes * 60.0).ok();
        let some = |duration: &Duration| *duration >= Duration::from_millis(1);
        let keep = duration(keep).filter(some)?;
        let every = duration(every).filter(some).unwrap_or(keep).min(keep);
        Some(Self { keep, every })
    }
}

/// Counts since the start.
#[derive(Debug, Default)]
struct Counts {
    roots: AtomicU64,
    made: AtomicU64,
    deleted: AtomicU64,
}

/// Makes and deletes checkpoints.
pub(crate) struct TrashEmptier {
    dispatcher: Arc<Dispatcher>,
    options: TrashOptions,
    counts: Arc<Counts>,
}

impl TrashEmptier {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        options: TrashOptions,
        registry: &MetricsRegistry,
    ) -> Arc<Self> {
        let counts = Arc::<Counts>::default();
        let of = |count: fn(&Counts) -> &AtomicU64| {
            let counts = Arc::clone(&counts);
            move || count(&counts).load(Ordering::Relaxed)
        };
        let roots = of(|counts| &counts.roots);
        registry.counter_fn("trash_roots_processed", "Users' trash looked at, in all runs", roots);
        let made = of(|counts| &counts.made);
        registry.counter_fn("trash_checkpoints_made", "Checkpoints of trash made", made);
        let deleted = of(|counts| &counts.deleted);
        registry.counter_fn("trash_checkpoints_deleted", "Checkpoints of trash deleted", deleted);
        Arc::new(Self { dispatcher, options, counts })
    }

    /// Deletes expired checkpoints, then makes a checkpoint of new contents. A failure in one trash
    /// does not keep others full.
    async fn empty_all(&self) -> Result<Progress, BackgroundError> {
        let mut progress = Progress::idle();
        let (buckets, skipped) = files::buckets(&self.dispatcher)?;
        progress.skipped = skipped;
        for bucket in buckets {
            let roots = files::trash_roots(&self.dispatcher, &bucket).unwrap_or_else(|e| {
                progress.failure.get_or_insert(e.to_string());
                Vec::new()
            });
            for root in roots {
                self.counts.roots.fetch_add(1, Ordering::Relaxed);
                let now = chrono::Utc::now();
                let emptied = empty::empty(&self.dispatcher, &root, &self.options, now).await;
                self.counts.made.fetch_add(emptied.made, Ordering::Relaxed);
                self.counts.deleted.fetch_add(emptied.deleted, Ordering::Relaxed);
                progress.items += emptied.made + emptied.deleted;
                progress.failure = progress.failure.or(emptied.failure.map(|e| e.to_string()));
            }
        }
        Ok(progress)
    }
}

#[async_trait::async_trait]
impl LeaderWork for TrashEmptier {
    fn name(&self) -> &'static str {
        empty::NAME
    }

    /// Until the clock shows a multiple of the interval: a restart changes nothing.
    fn interval(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let past = now.as_nanos() % self.options.every.as_nanos();
        self.options.every - Duration::from_nanos(u64::try_from(past).unwrap_or_default())
    }

    async fn run(&self) -> Result<Progress, BackgroundError> {
        self.empty_all().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_no_farther_apart_than_they_are_kept() {
        let minutes = |n: u64| Duration::from_secs(60 * n);
        let options =
            |keep, every| Some(TrashOptions { keep: minutes(keep), every: minutes(every) });
        assert_eq!(TrashOptions::of(60.0, 10.0), options(60, 10));
        assert_eq!(TrashOptions::of(60.0, 0.0), options(60, 60));
        assert_eq!(TrashOptions::of(60.0, 90.0), options(60, 60));
        assert_eq!(TrashOptions::of(60.0, -1.0), options(60, 60));
        for keep in [0.0, -1.0, f64::MAX] {
            assert_eq!(TrashOptions::of(keep, 10.0), None);
        }
    }
}
