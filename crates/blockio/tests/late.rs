//! A hanging disk: readers with another source do not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use blockio::{Clock, DiskOptions, Fault, IoError, IoErrorKind, Op, Strike, WriteMode, block_on};
use bytes::Bytes;
use testkit::{Gate, until};

use crate::{Fixture, pattern};

/// A worker without progress for that long, by the clock of the test, is late.
const LIMIT: Duration = Duration::from_millis(50);

/// A disk with two files, whose clock advances only when the test advances it.
struct Sick {
    fixture: Fixture,
    millis: Arc<AtomicU64>,
}

impl std::ops::Deref for Sick {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

fn sick(spare_threads: usize) -> Sick {
    // Time 0 means that no worker has begun.
    let millis = Arc::new(AtomicU64::new(1));
    let shown = millis.clone();
    let clock = Clock::from_fn(move || Duration::from_millis(shown.load(Ordering::SeqCst)));
    let read_limit = Some(LIMIT);
    let options =
        DiskOptions { threads: 2, spare_threads, read_limit, clock, ..DiskOptions::default() };
    let fixture = Fixture::new(options);
    for name in ["a", "b"] {
        let path = fixture.path(name);
        block_on(fixture.disk.write(path, 0, pattern(1, 3 << 20), WriteMode::Auto)).unwrap();
    }
    Sick { fixture, millis }
}

impl Sick {
    fn pass(&self, time: Duration) {
        self.millis.fetch_add(time.as_millis() as u64, Ordering::SeqCst);
    }

    /// The next `times` reads of `a` wait at the gate.
    fn hold(&self, gate: &Gate, times: usize) {
        let strike = Strike::hold(gate.blocking());
        self.faults.add(Fault { op: Op::Read, path: "/a".into(), skip: 0, times, strike });
    }

    /// Reads the beginning of `a` while workers hang, and advances the clock until it fails.
    async fn refused(&self) -> IoError {
        let read = self.disk.read_timely(self.path("a"), 0, 10);
        tokio::pin!(read);
        loop {
            tokio::select! {
                outcome = &mut read => return outcome.unwrap_err(),
                () = tokio::time::sleep(Duration::from_millis(1)) => self.pass(LIMIT / 10),
            }
        }
    }
}

async fn whole(sick: &Sick, name: &str) -> Result<Bytes, IoError> {
    sick.disk.read_timely(sick.path(name), 0, 3 << 20).await
}

#[tokio::test]
async fn a_read_that_hangs_once_is_answered_by_a_fresh_worker() {
    let (sick, gate) = (sick(4), Gate::closed());
    sick.hold(&gate, 1);
    let hangs = async {
        until("the read hangs", async || gate.waiting() == 1).await;
        sick.pass(LIMIT);
    };
    let (read, ()) = tokio::join!(whole(&sick, "a"), hangs);
    assert_eq!(read.unwrap(), pattern(1, 3 << 20));
    assert_eq!((gate.waiting(), gate.passed()), (1, 0));
    let metrics = sick.disk.metrics();
    assert_eq!((metrics.late_reads(), metrics.refused_reads()), (1, 0));
    assert_eq!((metrics.replaced_workers(), sick.disk.stuck_workers()), (1, 1));
}

#[tokio::test]
async fn a_read_that_hangs_twice_is_refused_and_the_disk_goes_on() {
    let (sick, gate) = (sick(16), Gate::closed());
    sick.hold(&gate, usize::MAX);
    // More reads than workers: each fails, none waits for a hanging worker.
    for n in 1..=4 {
        let attempts = async {
            for attempt in [2 * n - 1, 2 * n] {
                until("an attempt hangs", async || gate.waiting() == attempt).await;
                sick.pass(LIMIT);
            }
        };
        let read = sick.disk.read_timely(sick.path("a"), 0, 10);
        let (refused, ()) = tokio::join!(read, attempts);
        assert_eq!(refused.unwrap_err().kind, IoErrorKind::Late);
    }
    let metrics = sick.disk.metrics();
    assert_eq!((metrics.late_reads(), metrics.refused_reads()), (4, 4));
    assert_eq!((sick.disk.stuck_workers(), gate.passed()), (8, 0));
    // The disk has not failed, and its queue is processed.
    assert!(sick.disk.failure().is_none());
    sick.disk.sync(sick.path("b")).await.unwrap();
    assert_eq!(whole(&sick, "b").await.unwrap(), pattern(1, 3 << 20));
}

#[tokio::test]
async fn workers_that_hang_are_replaced_up_to_a_bound_and_taken_back_when_they_return() {
    let (sick, gate) = (sick(3), Gate::closed());
    sick.hold(&gate, usize::MAX);
    for refused in futures::future::join_all((0..20).map(|_| sick.refused())).await {
        assert_eq!(refused.kind, IoErrorKind::Late);
    }
    let metrics = sick.disk.metrics();
    assert_eq!(metrics.refused_reads(), 20);
    assert!(sick.disk.stuck_workers() <= 5, "{} hang", sick.disk.stuck_workers());
    sick.faults.clear();
    gate.open();
    until("the workers to come back", async || sick.disk.stuck_workers() == 0).await;
    until("the queue to be empty", async || metrics.queued() == 0).await;
    // Abandoned reads were skipped.
    assert!(metrics.dropped_reads() > 0);
    assert_eq!(whole(&sick, "a").await.unwrap(), pattern(1, 3 << 20));
}

#[tokio::test]
async fn a_read_that_waits_for_its_turn_at_a_busy_disk_is_not_late() {
    let (sick, gate) = (sick(0), Gate::closed());
    sick.hold(&gate, usize::MAX);
    // Two workers, 20 ms per read: the last of 30 waits six times the limit.
    let reads = (0..30).map(|_| sick.disk.read_timely(sick.path("a"), 0, 10));
    let worked = async {
        for round in 0..15 {
            until("both workers read", async || gate.waiting() == 2).await;
            sick.pass(Duration::from_millis(20));
            gate.admit(2);
            until("both have read", async || gate.passed() == 2 * (round + 1)).await;
        }
    };
    let (reads, ()) = tokio::join!(futures::future::join_all(reads), worked);
    for read in reads {
        read.unwrap();
    }
    assert_eq!(sick.disk.metrics().late_reads(), 0);
}

#[tokio::test]
async fn a_long_read_that_gets_on_is_not_late() {
    let (sick, gate) = (sick(0), Gate::closed());
    sick.hold(&gate, usize::MAX);
    // Three pieces of 30 ms each: together longer than the limit.
    let pieces = async {
        for piece in 0..3 {
            until("a piece is read", async || gate.waiting() == 1).await;
            sick.pass(Duration::from_millis(30));
            gate.admit(1);
            until("it has been read", async || gate.passed() == piece + 1).await;
        }
    };
    let (read, ()) = tokio::join!(whole(&sick, "a"), pieces);
    read.unwrap();
    assert_eq!(sick.disk.metrics().late_reads(), 0);
}

#[tokio::test]
async fn a_read_whose_reader_has_gone_is_not_begun() {
    let (sick, gate) = (sick(0), Gate::closed());
    sick.hold(&gate, 2);
    let disk = sick.disk.clone();
    let (first, second) = (disk.read(sick.path("a"), 0, 10), disk.read(sick.path("a"), 0, 10));
    until("both workers to read", async || gate.waiting() == 2).await;
    {
        let gone = std::pin::pin!(whole(&sick, "b"));
        assert!(futures::poll!(gone).is_pending());
    }
    gate.open();
    first.await.unwrap();
    second.await.unwrap();
    until("the read to be dropped", async || disk.metrics().dropped_reads() == 1).await;
}

#[tokio::test]
async fn other_work_of_a_disk_that_hangs_is_left_as_well() {
    let (sick, gate) = (sick(4), Gate::closed());
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, pass) = (calls.clone(), gate.blocking());
    let work = move || {
        if counted.fetch_add(1, Ordering::SeqCst) == 0 {
            pass();
        }
        7
    };
    let done = sick.disk.run_timely("look up", sick.path("a"), work);
    let hangs = async {
        until("the first call hangs", async || gate.waiting() == 1).await;
        sick.pass(LIMIT);
    };
    let (done, ()) = tokio::join!(done, hangs);
    assert_eq!((done.unwrap(), calls.load(Ordering::SeqCst)), (7, 2));
}
