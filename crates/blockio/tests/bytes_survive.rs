//! Direct and buffered writes, aligned or not, in any order: the file contains the written bytes.

use blockio::{DiskOptions, IoErrorKind, OpKind, PAGE, WriteMode, block_on};
use bytes::Bytes;
use proptest::prelude::*;

use crate::{Fixture, pattern};

#[test]
fn a_long_write_goes_past_the_cache_and_its_tail_through_it() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 611_392));
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    assert_eq!(fixture.disk.metrics().direct_bytes(), 611_392 / PAGE as u64 * PAGE as u64);
    assert_eq!(block_on(fixture.disk.read(path.clone(), 0, data.len())).unwrap(), data);
    assert_eq!(std::fs::read(&path).unwrap(), data);
    block_on(fixture.disk.sync(path)).unwrap();
}

#[test]
fn memory_off_page_boundaries_is_written_all_the_same() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(2, (9 << 20) + 5));
    let shifted = data.slice(3..);
    block_on(fixture.disk.write(path.clone(), 8192, shifted.clone(), WriteMode::Auto)).unwrap();
    assert!(fixture.disk.metrics().direct_bytes() > 9_000_000);
    assert_eq!(block_on(fixture.disk.read(path, 8192, shifted.len())).unwrap(), shifted);
}

#[test]
fn parts_are_written_one_after_the_other() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    // More parts than one vectored write takes.
    let parts: Vec<Bytes> = (0..3000).map(|i| pattern(i, (i % 7) as usize)).collect();
    let whole: Vec<u8> = parts.concat();
    block_on(fixture.disk.write_parts(path.clone(), 10, parts, WriteMode::Cached)).unwrap();
    assert_eq!(block_on(fixture.disk.read(path, 10, whole.len())).unwrap(), whole);
}

#[test]
fn a_warm_read_needs_no_worker() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(3, 100_000));
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Cached)).unwrap();
    let read = fixture.disk.try_read(&path, 1000, 50_000).unwrap();
    assert_eq!(read, data.slice(1000..51_000));
    assert_eq!(fixture.disk.metrics().of(OpKind::CachedRead).ops, 1);
    assert_eq!(fixture.disk.metrics().of(OpKind::Read).ops, 0);
}

#[test]
fn reads_beyond_the_end_and_of_no_file_say_so() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    let gone = block_on(fixture.disk.read(path.clone(), 0, 10)).unwrap_err();
    assert_eq!(gone.kind, IoErrorKind::NotFound);
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 100), WriteMode::Auto)).unwrap();
    let short = block_on(fixture.disk.read(path, 50, 51)).unwrap_err();
    assert_eq!(short.kind, IoErrorKind::Short);
}

#[test]
fn a_write_is_begun_when_it_is_asked_for() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(4, 300_000));
    let write = fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto);
    // `write` is not polled, yet the sync waits for it.
    block_on(fixture.disk.sync(path.clone())).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), data);
    drop(write);
}

#[test]
fn more_operations_than_the_queue_holds_all_come_through() {
    let fixture = Fixture::new(DiskOptions { queue: 2, threads: 2, ..DiskOptions::default() });
    let path = fixture.path("a");
    let writes: Vec<_> = (0..64)
        .map(|i| fixture.disk.write(path.clone(), i * 5000, pattern(i, 5000), WriteMode::Auto))
        .collect();
    std::thread::scope(|scope| {
        for write in writes {
            scope.spawn(move || block_on(write).unwrap());
        }
    });
    block_on(fixture.disk.sync(path.clone())).unwrap();
    for i in 0..64 {
        let read = block_on(fixture.disk.read(path.clone(), i * 5000, 5000)).unwrap();
        assert_eq!(read, pattern(i, 5000));
    }
    assert_eq!(fixture.disk.metrics().queued(), 0);
}

#[test]
fn files_beyond_the_bound_are_closed_and_opened_again() {
    let fixture = Fixture::new(DiskOptions { open_files: 3, ..DiskOptions::default() });
    for i in 0..20 {
        let path = fixture.path(&i.to_string());
        block_on(fixture.disk.write(path, 0, pattern(i, 100_000), WriteMode::Auto)).unwrap();
        assert!(fixture.disk.open_files() <= 3);
    }
    for i in 0..20 {
        let path = fixture.path(&i.to_string());
        block_on(fixture.disk.sync(path.clone())).unwrap();
        assert_eq!(block_on(fixture.disk.read(path, 0, 100_000)).unwrap(), pattern(i, 100_000));
    }
}

#[derive(Debug, Clone)]
struct Write {
    offset: u64,
    len: usize,
    shift: usize,
    mode: WriteMode,
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let offset = prop_oneof![(0u64..64).prop_map(|p| p * 4096), 0u64..300_000];
    let len = prop_oneof![(1usize..40).prop_map(|p| p * 4096), 1usize..200_000];
    let mode = prop_oneof![3 => Just(WriteMode::Auto), 1 => Just(WriteMode::Cached)];
    let write = (offset, len, 0usize..3, mode).prop_map(|(offset, len, shift, mode)| Write {
        offset,
        len,
        shift,
        mode,
    });
    prop::collection::vec(write, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_mix_of_writes_leaves_what_was_written_last(writes in writes()) {
        let fixture = Fixture::new(DiskOptions { direct_min: 4096, ..DiskOptions::default() });
        let path = fixture.path("a");
        let mut model: Vec<u8> = Vec::new();
        for (i, write) in writes.iter().enumerate() {
            let data = pattern(i as u64 + 1, write.len + write.shift).slice(write.shift..);
            let end = write.offset as usize + write.len;
            model.resize(model.len().max(end), 0);
            model[write.offset as usize..end].copy_from_slice(&data);
            block_on(fixture.disk.write(path.clone(), write.offset, data, write.mode)).unwrap();
            // Readable at once, and through the page cache from now on.
            let read = block_on(fixture.disk.read(path.clone(), 0, model.len())).unwrap();
            prop_assert!(read == model, "after write {}", i);
        }
        block_on(fixture.disk.sync(path.clone())).unwrap();
        prop_assert!(std::fs::read(&path).unwrap() == model);
    }
}
