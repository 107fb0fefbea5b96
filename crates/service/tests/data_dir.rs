//! Directories that belong to one process, one cluster and one layout.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use config::keys::hdds::OZONE_METADATA_DIRS_PERMISSIONS;
use config::{Configuration, DirPermissions};
use service::{DataDir, DataDirError, Expected, VersionFile, data_dir};

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

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn permissions(value: &str) -> DirPermissions {
    let conf = Configuration::default().with("ozone.metadata.dirs.permissions", value);
    conf.get(&OZONE_METADATA_DIRS_PERMISSIONS)
}

#[test]
fn a_directory_gets_its_permissions_whether_or_not_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("above/om");
    // The given bits include some that any umask clears.
    for value in ["777", "700", "rwxr-x---", "500"] {
        data_dir::make(&path, permissions(value)).unwrap();
        assert_eq!(mode(&path), permissions(value).mode(), "{value}");
    }
    let fresh = dir.path().join("fresh");
    data_dir::make(&fresh, permissions("777")).unwrap();
    assert_eq!(mode(&fresh), 0o777);
}

#[test]
fn what_else_a_directory_is_it_stays() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o2755)).unwrap();
    data_dir::make(dir.path(), permissions("700")).unwrap();
    assert_eq!(mode(dir.path()), 0o2700);
}

#[test]
fn a_link_to_a_directory_is_followed_and_a_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (disk, link, file) =
        (dir.path().join("disk"), dir.path().join("link"), dir.path().join("file"));
    fs::create_dir(&disk).unwrap();
    std::os::unix::fs::symlink(&disk, &link).unwrap();
    data_dir::make(&link, permissions("750")).unwrap();
    assert_eq!(mode(&disk), 0o750);
    fs::write(&file, "").unwrap();
    let refused = data_dir::make(&file, permissions("700"));
    assert!(matches!(refused, Err(DataDirError::Io { .. })), "{refused:?}");
}
