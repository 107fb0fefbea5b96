//! Disks that fail: nothing is said to be written that is not.

use std::time::Duration;

use blockio::{DiskOptions, Fault, IoErrorKind, Op, OpKind, Strike, WriteMode, block_on};

use crate::{Fixture, pattern};

#[test]
fn a_sync_fails_when_an_earlier_write_was_lost_and_succeeds_once_it_is_repeated() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 200_000));
    fixture.faults.once(Op::Write, "a", Strike::Torn(5000));
    let torn = block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto));
    assert_eq!(torn.unwrap_err().kind, IoErrorKind::Device);
    for _ in 0..2 {
        let refused = block_on(fixture.disk.sync(path.clone())).unwrap_err();
        assert_eq!(refused.kind, IoErrorKind::WriteLost);
    }
    // A write elsewhere in the file does not make up for it.
    block_on(fixture.disk.write(path.clone(), 300_000, pattern(2, 10), WriteMode::Auto)).unwrap();
    assert!(block_on(fixture.disk.sync(path.clone())).is_err());
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    block_on(fixture.disk.sync(path.clone())).unwrap();
    assert_eq!(block_on(fixture.disk.read(path, 0, data.len())).unwrap(), data);
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
    block_on(fixture.disk.sync(path)).unwrap();
    let syncs = fixture.disk.metrics().of(OpKind::Sync);
    assert_eq!((syncs.ops, syncs.errors), (2, 1));
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
