//! Durable files and names without a disk's executor.

use std::fs;

use blockio::durable;
use tempfile::TempDir;

#[test]
fn a_file_is_replaced_as_a_whole() {
    let dir = TempDir::new().unwrap();
    let (path, temporary) = (dir.path().join("VERSION"), dir.path().join("VERSION.tmp"));
    for content in ["a long first content", "short"] {
        durable::replace(&path, &temporary, content.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert!(!temporary.exists());
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one() {
    let dir = TempDir::new().unwrap();
    let (path, temporary) = (dir.path().join("VERSION"), dir.path().join("none").join("tmp"));
    fs::write(&path, "old").unwrap();
    durable::replace(&path, &temporary, b"new").unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn files_stay_what_they_are_when_they_are_read_from_the_device() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("below")).unwrap();
    fs::write(dir.path().join("file"), "content").unwrap();
    fs::write(dir.path().join("below").join("file"), "more").unwrap();
    durable::sync_names_above(&dir.path().join("below")).unwrap();
    durable::sync_tree(dir.path()).unwrap();
    durable::read_from_device(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("file")).unwrap(), "content");
    durable::read_from_device(&dir.path().join("none")).unwrap_err();
    durable::sync_tree(&dir.path().join("none")).unwrap_err();
    durable::sync_names_above(&dir.path().join("none")).unwrap_err();
}

#[test]
fn a_name_in_no_named_directory_has_nothing_to_sync() {
    durable::sync_name("file".as_ref()).unwrap();
}
