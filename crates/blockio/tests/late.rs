//! A disk that hangs: readers that can go elsewhere do not wait for it.

use std::time::Duration;

use blockio::{DiskOptions, Fault, IoErrorKind, Op, Strike, WriteMode, block_on};

use crate::{Fixture, pattern};

/// Longer than any test waits.
const FOR_EVER: Duration = Duration::from_secs(20);

fn options(spare_threads: usize) -> DiskOptions {
    let read_limit = Some(Duration::from_millis(50));
    DiskOptions { threads: 2, spare_threads, read_limit, ..DiskOptions::default() }
}

fn fixture(spare_threads: usize) -> Fixture {
    let fixture = Fixture::new(options(spare_threads));
    for name in ["a", "b"] {
        let path = fixture.path(name);
        block_on(fixture.disk.write(path, 0, pattern(1, 3 << 20), WriteMode::Auto)).unwrap();
    }
    fixture
}

fn hang(path: &str, times: usize) -> Fault {
    Fault { op: Op::Read, path: path.into(), skip: 0, times, strike: Strike::Delay(FOR_EVER) }
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_read_that_hangs_once_is_answered_by_a_fresh_worker() {
    let fixture = fixture(4);
    fixture.faults.add(hang("/a", 1));
    let read = fixture.disk.read_timely(fixture.path("a"), 0, 3 << 20).await.unwrap();
    assert_eq!(read, pattern(1, 3 << 20));
    let metrics = fixture.disk.metrics();
    assert_eq!((metrics.late_reads(), metrics.refused_reads()), (1, 0));
    assert_eq!((metrics.replaced_workers(), fixture.disk.stuck_workers()), (1, 1));
}

#[tokio::test]
async fn a_read_that_hangs_twice_is_refused_and_the_disk_goes_on() {
    let fixture = fixture(16);
    fixture.faults.always(Op::Read, "/a", Strike::Delay(FOR_EVER));
    // More of them than workers: each is refused, none waits for one that hangs.
    for _ in 0..4 {
        let refused = fixture.disk.read_timely(fixture.path("a"), 0, 10).await.unwrap_err();
        assert_eq!(refused.kind, IoErrorKind::Late);
    }
    let metrics = fixture.disk.metrics();
    assert_eq!((metrics.late_reads(), metrics.refused_reads()), (4, 4));
    assert_eq!(fixture.disk.stuck_workers(), 8);
    // The disk has not failed, and its queue is worked on.
    assert!(fixture.disk.failure().is_none());
    fixture.disk.sync(fixture.path("b")).await.unwrap();
    let read = fixture.disk.read_timely(fixture.path("b"), 0, 3 << 20).await.unwrap();
    assert_eq!(read, pattern(1, 3 << 20));
}

#[tokio::test]
async fn workers_that_hang_are_replaced_up_to_a_bound_and_taken_back_when_they_return() {
    let fixture = fixture(3);
    let hangs = Strike::Delay(Duration::from_millis(1_500));
    fixture.faults.always(Op::Read, "/a", hangs);
    let reads: Vec<_> =
        (0..20).map(|_| fixture.disk.read_timely(fixture.path("a"), 0, 10)).collect();
    for read in futures::future::join_all(reads).await {
        assert_eq!(read.unwrap_err().kind, IoErrorKind::Late);
    }
    let metrics = fixture.disk.metrics();
    assert_eq!(metrics.refused_reads(), 20);
    assert!(fixture.disk.stuck_workers() <= 5, "{} hang", fixture.disk.stuck_workers());
    fixture.faults.clear();
    until("the workers to come back", || fixture.disk.stuck_workers() == 0).await;
    until("the queue to be empty", || metrics.queued() == 0).await;
    // What nobody waited for any more was not read.
    assert!(metrics.dropped_reads() > 0);
    let read = fixture.disk.read_timely(fixture.path("a"), 0, 3 << 20).await.unwrap();
    assert_eq!(read, pattern(1, 3 << 20));
}

#[tokio::test]
async fn a_read_that_waits_for_its_turn_at_a_busy_disk_is_not_late() {
    let fixture = fixture(0);
    // Two workers, 20 ms a read: the last of 30 waits six times the limit.
    fixture.faults.always(Op::Read, "/a", Strike::Delay(Duration::from_millis(20)));
    let reads: Vec<_> =
        (0..30).map(|_| fixture.disk.read_timely(fixture.path("a"), 0, 10)).collect();
    for read in futures::future::join_all(reads).await {
        read.unwrap();
    }
    assert_eq!(fixture.disk.metrics().late_reads(), 0);
}

#[tokio::test]
async fn a_long_read_that_gets_on_is_not_late() {
    let fixture = fixture(0);
    // Three pieces of 30 ms each: longer than the limit altogether.
    fixture.faults.always(Op::Read, "/a", Strike::Delay(Duration::from_millis(30)));
    fixture.disk.read_timely(fixture.path("a"), 0, 3 << 20).await.unwrap();
    assert_eq!(fixture.disk.metrics().late_reads(), 0);
}

#[tokio::test]
async fn a_read_whose_reader_has_gone_is_not_begun() {
    let fixture = fixture(0);
    let strike = Strike::Delay(Duration::from_millis(300));
    fixture.faults.add(Fault { op: Op::Read, path: "/a".into(), skip: 0, times: 2, strike });
    let disk = fixture.disk.clone();
    let (first, second) =
        (disk.read(fixture.path("a"), 0, 10), disk.read(fixture.path("a"), 0, 10));
    let gone = disk.read_timely(fixture.path("b"), 0, 3 << 20);
    assert!(tokio::time::timeout(Duration::from_millis(1), gone).await.is_err());
    first.await.unwrap();
    second.await.unwrap();
    until("the read to be dropped", || disk.metrics().dropped_reads() == 1).await;
}

#[tokio::test]
async fn other_work_of_a_disk_that_hangs_is_left_as_well() {
    let fixture = fixture(4);
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = calls.clone();
    let work = move || {
        if counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            std::thread::sleep(FOR_EVER);
        }
        7
    };
    let done = fixture.disk.run_timely("look up", fixture.path("a"), work).await.unwrap();
    assert_eq!((done, calls.load(std::sync::atomic::Ordering::SeqCst)), (7, 2));
}
