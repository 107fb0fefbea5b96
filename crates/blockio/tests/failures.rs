//! Failing disks: no data is reported as written that is not.

use std::sync::Arc;
use std::time::Duration;

use blockio::{DiskOptions, Fault, IoErrorKind, Op, OpKind, Strike, Trouble, WriteMode, block_on};
use parking_lot::Mutex;
use testkit::until_blocking;

use crate::{Fixture, pattern};

#[test]
fn a_sync_fails_when_the_device_refused_an_earlier_write_also_when_it_is_repeated() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 200_000));
    fixture.faults.once(Op::Write, "a", Strike::Torn(5000));
    let torn = block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto));
    assert_eq!(torn.unwrap_err().kind, IoErrorKind::Device);
    for _ in 0..2 {
        let refused = block_on(fixture.disk.sync(path.clone())).unwrap_err();
        assert_eq!(refused.kind, IoErrorKind::WriteLost);
    }
    let again = block_on(fixture.disk.write(path.clone(), 0, data, WriteMode::Auto));
    assert_eq!(again.unwrap_err().kind, IoErrorKind::Failed);
    assert!(block_on(fixture.disk.sync(path)).is_err());
}

#[test]
fn a_write_lost_for_want_of_room_is_made_up_for_by_the_same_write_only() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 200_000));
    fixture.faults.once(Op::Write, "a", Strike::NoSpace);
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap_err();
    // A write elsewhere in the file does not repair it.
    block_on(fixture.disk.write(path.clone(), 300_000, pattern(2, 10), WriteMode::Auto)).unwrap();
    assert!(block_on(fixture.disk.sync(path.clone())).is_err());
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    block_on(fixture.disk.sync(path.clone())).unwrap();
    assert_eq!(block_on(fixture.disk.read(path, 0, data.len())).unwrap(), data);
}

#[test]
fn a_request_that_cannot_be_is_no_failure_of_the_disk() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    let far = fixture.disk.write(path.clone(), 1 << 62, pattern(1, 10), WriteMode::Auto);
    assert_eq!(block_on(far).unwrap_err().kind, IoErrorKind::Refused);
    assert_eq!(fixture.disk.failure(), None);
}

#[test]
fn a_full_disk_is_told_apart_and_recovers() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 100_000));
    fixture.faults.always(Op::Write, "a", Strike::NoSpace);
    let full = block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto));
    assert_eq!(full.unwrap_err().kind, IoErrorKind::NoSpace);
    assert_eq!(block_on(fixture.disk.sync(path.clone())).unwrap_err().kind, IoErrorKind::NoSpace);
    fixture.faults.clear();
    block_on(fixture.disk.write(path.clone(), 0, data, WriteMode::Auto)).unwrap();
    block_on(fixture.disk.sync(path)).unwrap();
}

#[test]
fn a_failed_sync_is_told_and_counted() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    fixture.faults.once(Op::Sync, "a", Strike::Eio);
    assert_eq!(block_on(fixture.disk.sync(path.clone())).unwrap_err().kind, IoErrorKind::Device);
    let syncs = fixture.disk.metrics().of(OpKind::Sync);
    assert_eq!((syncs.ops, syncs.errors), (1, 1));
}

#[test]
fn a_sync_that_failed_once_never_succeeds_again() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 10));
    block_on(fixture.disk.write(path.clone(), 0, data, WriteMode::Auto)).unwrap();
    fixture.faults.once(Op::Sync, "a", Strike::Eio);
    block_on(fixture.disk.sync(path.clone())).unwrap_err();
    // The kernel reports success from now on, but the bytes are lost.
    assert_eq!(block_on(fixture.disk.sync(path.clone())).unwrap_err().kind, IoErrorKind::Failed);
    assert_eq!(block_on(fixture.disk.length(path)).unwrap(), 0);
}

#[test]
fn a_sync_beside_one_that_fails_does_not_succeed() {
    let fixture = Fixture::new(DiskOptions { threads: 2, ..DiskOptions::default() });
    let path = fixture.path("a");
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    // The bytes are lost; the kernel reports it to the first sync alone, whose thread is slow.
    fixture.faults.once(Op::Sync, "a", Strike::LateEio(Duration::from_millis(200)));
    fixture.disk.sync_soon(path.clone());
    until_blocking("the bytes to be lost", || std::fs::metadata(&path).unwrap().len() == 0);
    assert!(block_on(fixture.disk.sync(path)).is_err());
}

#[test]
fn one_failed_sync_fails_the_disk() {
    let fixture = Fixture::new(DiskOptions::default());
    let (struck, other) = (fixture.path("a"), fixture.path("b"));
    for path in [&struck, &other] {
        block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    }
    assert_eq!(fixture.disk.failure(), None);
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    fixture.disk.watch(Arc::new(move |trouble| hears.lock().push(trouble.clone())));
    fixture.faults.once(Op::Sync, "/a", Strike::Eio);
    let first = block_on(fixture.disk.sync(struck)).unwrap_err();
    assert_eq!(fixture.disk.failure().as_ref(), Some(&first));
    let write = fixture.disk.write(other.clone(), 10, pattern(2, 10), WriteMode::Auto);
    assert_eq!(block_on(write).unwrap_err().kind, IoErrorKind::Failed);
    assert_eq!(
        block_on(fixture.disk.sync(other.clone())).unwrap_err().kind,
        IoErrorKind::WriteLost
    );
    let names = fixture.dir.path().to_path_buf();
    let refused = block_on(fixture.disk.sync_directory(names)).unwrap_err();
    assert_eq!(refused.kind, IoErrorKind::Failed);
    assert_eq!(
        block_on(fixture.disk.unlink(vec![other.to_path_buf()])).unwrap_err().kind,
        IoErrorKind::Failed
    );
    // Existing data is still readable.
    assert_eq!(block_on(fixture.disk.read(other, 0, 10)).unwrap(), pattern(1, 10));
    assert_eq!(*told.lock(), [Trouble::Failed(first)], "reported once");
}

#[test]
fn a_failed_sync_that_nobody_waits_for_is_final_too() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    fixture.faults.once(Op::Sync, "a", Strike::Eio);
    fixture.disk.sync_soon(path.clone());
    // A sync before the failure may be batched with it.
    until_blocking("the disk has failed", || fixture.disk.failure().is_some());
    assert_eq!(block_on(fixture.disk.sync(path)).unwrap_err().kind, IoErrorKind::Failed);
}

#[test]
fn a_failed_sync_of_names_fails_the_disk() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    let names = fixture.dir.path();
    fixture.faults.once(Op::Sync, &names.display().to_string(), Strike::Eio);
    assert_eq!(fixture.disk.sync_names(names).unwrap_err().kind, IoErrorKind::Device);
    assert_eq!(fixture.disk.sync_names(names).unwrap_err().kind, IoErrorKind::Failed);
    assert_eq!(block_on(fixture.disk.sync(path)).unwrap_err().kind, IoErrorKind::Failed);
}

#[test]
fn a_file_that_is_closed_to_make_room_is_synced_first_and_its_failure_is_final() {
    let fixture = Fixture::new(DiskOptions { open_files: 1, ..DiskOptions::default() });
    let (path, other) = (fixture.path("a"), fixture.path("b"));
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    fixture.faults.once(Op::Sync, "/a", Strike::Eio);
    // Its error of write-back is reported to the handle that is closed now, and to no later one.
    let _ = block_on(fixture.disk.write(other, 0, pattern(2, 10), WriteMode::Auto));
    assert_eq!(block_on(fixture.disk.sync(path)).unwrap_err().kind, IoErrorKind::Failed);
}

#[test]
fn errors_of_the_device_are_told_and_fail_nothing() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 100_000));
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    fixture.disk.watch(Arc::new(move |trouble| hears.lock().push(trouble.clone())));
    fixture.faults.always(Op::Read, "a", Strike::Eio);
    let error = block_on(fixture.disk.read(path.clone(), 0, 100_000)).unwrap_err();
    assert_eq!(*told.lock(), [Trouble::Error(error)]);
    fixture.faults.clear();
    // The caller's own errors do not fail the disk.
    block_on(fixture.disk.read(path.clone(), 0, 200_000)).unwrap_err();
    block_on(fixture.disk.read(fixture.path("never"), 0, 1)).unwrap_err();
    assert_eq!(told.lock().len(), 1);
    assert_eq!(fixture.disk.failure(), None);
    block_on(fixture.disk.sync(path)).unwrap();
}

#[test]
fn a_flipped_bit_reaches_the_reader() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 100));
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    fixture.faults.once(Op::Read, "a", Strike::FlipBit(7));
    let read = block_on(fixture.disk.read(path.clone(), 0, 100)).unwrap();
    assert_eq!(read[7], data[7] ^ 1);
    assert_eq!(block_on(fixture.disk.read(path, 0, 100)).unwrap(), data);
}

#[test]
fn a_sync_waits_for_a_slow_write() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 100_000));
    let slow = Strike::Delay(Duration::from_millis(30));
    fixture.faults.add(Fault { op: Op::Write, path: "a".into(), skip: 0, times: 1, strike: slow });
    let write = fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto);
    block_on(fixture.disk.sync(path.clone())).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), data);
    block_on(write).unwrap();
}

#[test]
fn a_stopped_disk_says_so() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    fixture.disk.stop();
    let refused = block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto));
    assert_eq!(refused.unwrap_err().kind, IoErrorKind::Stopped);
    let unsynced = block_on(fixture.disk.sync(path)).unwrap_err();
    assert_eq!(unsynced.kind, IoErrorKind::WriteLost);
}
