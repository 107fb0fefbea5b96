//! Maintenance concurrent with the load, by variant.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metastore::Store;
use metastore::compaction::{Cut, Limits, PATIENCE, RangeCompactor, TablePlan};

use crate::Compaction;
use crate::load::{TABLE, bucket_starts};
use crate::variant::{Maintenance, Variant};

/// Interval of checks for work.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval at which new tombstones are stepped through.
const GAP_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of checks for walls.
const WALL_INTERVAL: Duration = Duration::from_secs(1);

/// Maintains the table until `done`.
pub(crate) fn maintain(
    args: &Compaction,
    variant: &Variant,
    store: &Store,
    done: &AtomicBool,
) -> metastore::Result<()> {
    match variant.maintenance {
        Maintenance::None => {
            while variant.gaps && !done.load(Ordering::Relaxed) {
                store.look_for_gaps()?;
                std::thread::sleep(GAP_INTERVAL);
            }
            Ok(())
        }
        Maintenance::Full => full(args.full_interval(), store, done),
        Maintenance::Service => std::thread::scope(|scope| {
            let gaps = scope.spawn(|| -> metastore::Result<()> {
                // As in OM, concurrent with a long compaction.
                while variant.gaps && !done.load(Ordering::Relaxed) {
                    store.look_for_gaps()?;
                    std::thread::sleep(GAP_INTERVAL);
                }
                Ok(())
            });
            ranges(args.interval(), variant.gaps, store, done)?;
            gaps.join().unwrap_or(Ok(()))
        }),
    }
}

fn full(interval: Duration, store: &Store, done: &AtomicBool) -> metastore::Result<()> {
    let mut last = Instant::now();
    loop {
        // Also if this thread is late: the run may have ended by then.
        if last.elapsed() >= interval {
            store.compact_table(TABLE)?;
            last = Instant::now();
        }
        if done.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// As OM's RangeCompactionService, under load: after a range it sleeps for as long as that took.
fn ranges(
    interval: Duration,
    patient: bool,
    store: &Store,
    done: &AtomicBool,
) -> metastore::Result<()> {
    let compactor = RangeCompactor::new(Limits::default(), None);
    // As in OM: lists skip rows deleted in the meantime.
    let compactor = compactor.patient(if patient { PATIENCE } else { 0 });
    let cut = Cut { merge: true, align: <[u8]>::len };
    let (mut last, mut walls) = (Instant::now(), Instant::now());
    while !done.load(Ordering::Relaxed) {
        if walls.elapsed() >= WALL_INTERVAL {
            compactor.look_at_walls(store, store.take_walls())?;
            walls = Instant::now();
        }
        if last.elapsed() >= interval {
            let groups = Box::new(bucket_starts());
            compactor.look(store, std::iter::once(TablePlan { table: TABLE, cut, groups }))?;
            last = Instant::now();
        }
        match compactor.compact_next(store) {
            Some(finished) => {
                let compacted = finished.outcome?;
                let rested = Instant::now();
                while rested.elapsed() < compacted.took && !done.load(Ordering::Relaxed) {
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
    Ok(())
}
