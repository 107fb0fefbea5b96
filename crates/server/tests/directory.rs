//! The one directory.

use server::Directory;
use service::DataDirError;

#[test]
fn a_directory_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Directory::open(dir.path()).unwrap();
    assert!(matches!(Directory::open(dir.path()), Err(DataDirError::InUse { .. })));
}

#[test]
fn the_datanodes_that_lived_here_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let directory = Directory::open(dir.path()).unwrap();
    assert_eq!(directory.known_datanodes().unwrap(), 0);
    for number in [1, 2, 10] {
        std::fs::create_dir(directory.datanode(number)).unwrap();
    }
    std::fs::create_dir(dir.path().join("datanodes")).unwrap();
    assert_eq!(directory.known_datanodes().unwrap(), 10);
}
