//! The directory of a server.

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

#[test]
fn the_oms_and_scms_that_lived_here_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let directory = Directory::open(dir.path()).unwrap();
    let known = || (directory.known_oms().unwrap(), directory.known_scms().unwrap());
    assert_eq!(known(), (0, 0));
    std::fs::create_dir(directory.om(1)).unwrap();
    assert_eq!(known(), (1, 0));
    std::fs::create_dir(directory.om(3)).unwrap();
    std::fs::create_dir(directory.scm(2)).unwrap();
    assert_eq!(known(), (3, 2));
}
