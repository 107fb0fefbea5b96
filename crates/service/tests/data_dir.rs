//! Directories that belong to one process, one cluster and one layout.

use std::fs;
use std::path::Path;

use service::{DataDir, DataDirError, Expected, VersionFile};

const VERSION: &str = "current/VERSION";

fn expected(cluster: Option<&str>, layout_version: u32) -> Expected {
    Expected { node_type: Some("OM"), cluster_id: cluster.map(str::to_string), layout_version }
}

fn open(dir: &Path, expected: &Expected) -> Result<(DataDir, VersionFile, bool), DataDirError> {
    DataDir::open_or_format(dir, VERSION, expected, || {
        VersionFile::new("OM", "CID-1", 1_700_000_000_000, 9).with("omUuid", "u=1:x")
    })
}

#[test]
fn a_fresh_directory_is_formatted_and_keeps_what_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let (_lock, version, formatted) = open(&dir.path().join("new/om"), &expected(None, 9)).unwrap();
    assert!(formatted);
    drop(_lock);
    let (_lock, again, formatted) =
        open(&dir.path().join("new/om"), &expected(Some("CID-1"), 9)).unwrap();
    assert!(!formatted);
    assert_eq!(again, version);
    assert_eq!(
        (again.cluster_id(), again.get("omUuid"), again.layout_version()),
        (Some("CID-1"), Some("u=1:x"), Some(9))
    );
}

#[test]
fn a_directory_in_use_is_refused_with_the_process_that_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let _first = DataDir::lock(dir.path()).unwrap();
    let error = DataDir::lock(dir.path()).unwrap_err();
    assert!(
        matches!(error, DataDirError::InUse { holder: Some(pid), .. } if pid == std::process::id()),
        "{error}"
    );
    drop(_first);
    DataDir::lock(dir.path()).unwrap();
}

#[test]
fn foreign_or_newer_data_is_refused_and_older_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), &expected(None, 9)).unwrap());
    assert!(
        matches!(open(dir.path(), &expected(Some("CID-2"), 9)), Err(DataDirError::ForeignCluster { found, .. }) if found == "CID-1")
    );
    assert!(matches!(
        open(dir.path(), &expected(None, 8)),
        Err(DataDirError::NewerLayout { found: 9, known: 8, .. })
    ));
    let scm = Expected { node_type: Some("SCM"), ..expected(None, 9) };
    assert!(matches!(open(dir.path(), &scm), Err(DataDirError::ForeignRole { .. })));
    assert!(open(dir.path(), &expected(Some("CID-1"), 10)).is_ok());
}

#[test]
fn a_refused_directory_is_not_left_locked() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), &expected(None, 9)).unwrap());
    open(dir.path(), &expected(Some("CID-2"), 9)).unwrap_err();
    open(dir.path(), &expected(Some("CID-1"), 9)).unwrap();
}

#[test]
fn a_file_written_by_ozone_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("VERSION");
    fs::write(&path, "#Fri Nov 21 10:00:00 UTC 2025\nnodeType=OM\nclusterID=6e0a\\:1\ncTime=1763719200000\nlayoutVersion=9\n\n").unwrap();
    let version = VersionFile::read(&path).unwrap().unwrap();
    assert_eq!(
        (version.node_type(), version.cluster_id(), version.layout_version()),
        (Some("OM"), Some("6e0a:1"), Some(9))
    );
    fs::write(&path, "clusterID=c\nlayOutVersion=1\n").unwrap();
    let volume = VersionFile::read(&path).unwrap().unwrap();
    volume
        .verify(
            &path,
            &Expected { node_type: None, cluster_id: Some("c".into()), layout_version: 1 },
        )
        .unwrap();
}

#[test]
fn a_damaged_file_is_refused_rather_than_formatted_anew() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("current")).unwrap();
    for damaged in [
        "",
        "nodeType=OM\nclusterID=c\n",
        "no separator\n",
        "layoutVersion=many\nclusterID=c\nnodeType=OM\n",
    ] {
        fs::write(dir.path().join(VERSION), damaged).unwrap();
        assert!(
            matches!(open(dir.path(), &expected(None, 9)), Err(DataDirError::Malformed { .. })),
            "{damaged:?}"
        );
    }
}
