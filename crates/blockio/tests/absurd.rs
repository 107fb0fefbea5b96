//! Ranges beyond any file: each is refused, and the disk continues.

use blockio::{DiskOptions, WriteMode, block_on};

use crate::{Fixture, pattern};

#[test]
fn a_range_that_no_file_has_is_refused_and_the_disk_goes_on() {
    let fixture = Fixture::new(DiskOptions::default());
    let (disk, path) = (&fixture.disk, fixture.path("a"));
    let data = pattern(1, 100_000);
    block_on(disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    let offsets = [0, 1, 99_999, 1 << 50, i64::MAX as u64, u64::MAX - 1, u64::MAX];
    let lengths = [100_001, 1 << 25, (1 << 30) + 1, 1 << 50, isize::MAX as usize, usize::MAX];
    // Many more than there are threads.
    for offset in offsets {
        for len in lengths {
            assert!(disk.try_read(&path, offset, len).is_none());
            block_on(disk.read(path.clone(), offset, len)).unwrap_err();
        }
    }
    for offset in [i64::MAX as u64 - 9, u64::MAX - 5, u64::MAX] {
        for mode in [WriteMode::Auto, WriteMode::Cached] {
            block_on(disk.write(path.clone(), offset, pattern(2, 100), mode)).unwrap_err();
        }
    }
    // Refused writes never began: no sync waits for them.
    block_on(disk.sync(path.clone())).unwrap();
    assert_eq!(block_on(disk.read(path, 0, data.len())).unwrap(), data);
}
