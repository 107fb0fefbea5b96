//! Freed space.

use std::os::unix::fs::MetadataExt;

use blockio::{DiskOptions, IoErrorKind, Op, Strike, WriteMode, block_on};

use crate::{Fixture, pattern};

#[test]
fn a_punched_hole_frees_its_blocks_and_spares_its_neighbours() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 1 << 20));
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    block_on(fixture.disk.sync(path.clone())).unwrap();
    let before = std::fs::metadata(&path).unwrap().blocks();
    block_on(fixture.disk.punch(path.clone(), vec![4096..12_288, 65_536..524_288])).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.len(), before - after.blocks()), (1 << 20, (8192 + 458_752) / 512));
    let read = block_on(fixture.disk.read(path, 0, 1 << 20)).unwrap();
    assert_eq!(read[..4096], data[..4096]);
    assert_eq!(read[12_288..65_536], data[12_288..65_536]);
    assert!(read[65_536..524_288].iter().all(|b| *b == 0));
    assert_eq!(read[524_288..], data[524_288..]);
}

#[test]
fn removed_files_are_gone_and_missing_ones_count_as_removed() {
    let fixture = Fixture::new(DiskOptions::default());
    let path = fixture.path("a");
    block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    let never = fixture.path("never").to_path_buf();
    block_on(fixture.disk.unlink(vec![path.to_path_buf(), never])).unwrap();
    assert!(!path.exists());
    assert_eq!(fixture.disk.open_files(), 0);
    // A new file of that name is a new file.
    block_on(fixture.disk.write(path.clone(), 0, pattern(2, 20), WriteMode::Auto)).unwrap();
    assert_eq!(block_on(fixture.disk.length(path)).unwrap(), 20);
}

#[test]
fn of_many_files_only_those_that_are_there_are_removed_one_by_one() {
    let fixture = Fixture::new(DiskOptions::default());
    let (there, stays) = (fixture.path("there"), fixture.path("stays"));
    for path in [&there, &stays] {
        block_on(fixture.disk.write(path.clone(), 0, pattern(1, 10), WriteMode::Auto)).unwrap();
    }
    let mut paths: Vec<_> =
        (0..100).map(|n| fixture.path(&format!("never{n}")).to_path_buf()).collect();
    paths.insert(50, there.to_path_buf());
    // A directory that cannot be read fails it, and leaves the files for a retry.
    let directory = fixture.dir.path().file_name().unwrap().to_str().unwrap();
    fixture.faults.once(Op::Remove, directory, Strike::Eio);
    let unread = fixture.disk.unlink(paths.clone());
    assert_eq!(block_on(unread).unwrap_err().kind, IoErrorKind::Device);
    assert!(there.exists());
    // A call for one of those would fail.
    fixture.faults.always(Op::Remove, "never", Strike::Eio);
    block_on(fixture.disk.unlink(paths.clone())).unwrap();
    assert!(!there.exists() && stays.exists());
    // A few files are not looked up in the directory.
    let few = fixture.disk.unlink(paths.split_off(95));
    assert_eq!(block_on(few).unwrap_err().kind, IoErrorKind::Device);
}

#[test]
fn many_files_of_a_directory_with_more_are_removed() {
    let fixture = Fixture::new(DiskOptions::default());
    let made: Vec<_> = (0..200).map(|n| fixture.path(&n.to_string())).collect();
    for path in &made {
        std::fs::write(path, b"x").unwrap();
    }
    let (gone, stay) = made.split_at(100);
    let paths = gone.iter().map(|path| path.to_path_buf());
    block_on(fixture.disk.unlink(paths.collect())).unwrap();
    assert!(gone.iter().all(|path| !path.exists()) && stay.iter().all(|path| path.exists()));
    // Without the directory there are no files.
    let nowhere = (0..100).map(|n| fixture.path("nowhere").join(n.to_string()));
    block_on(fixture.disk.unlink(nowhere.collect())).unwrap();
}

#[test]
fn a_file_is_cut() {
    let fixture = Fixture::new(DiskOptions::default());
    let (path, data) = (fixture.path("a"), pattern(1, 100_000));
    block_on(fixture.disk.write(path.clone(), 0, data.clone(), WriteMode::Auto)).unwrap();
    block_on(fixture.disk.truncate(path.clone(), 70_001)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), data[..70_001]);
}
