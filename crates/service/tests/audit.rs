//! The audit log.

use std::fs;
use std::path::Path;

use service::{AuditEvent, AuditLog, AuditOptions};

const CREATED: AuditEvent<'static> = AuditEvent {
    user: "ann",
    ip: "10.0.0.7",
    op: "CREATE_KEY",
    params: &[("volume", "v"), ("bucket", "b"), ("key", "a/b")],
    result: Ok(()),
};

fn options(dir: &Path) -> AuditOptions {
    AuditOptions::new("OMAudit", dir.join("logs/om-audit.log"))
}

#[test]
fn a_line_has_ozones_shape() {
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(options(dir.path())).unwrap();
    log.log(&CREATED);
    log.log(&AuditEvent {
        result: Err("KEY_NOT_FOUND no such key"),
        op: "READ_KEY",
        params: &[],
        ..CREATED
    });
    drop(log);
    let text = fs::read_to_string(dir.path().join("logs/om-audit.log")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        &lines[0][23..],
        " | INFO  | OMAudit | user=ann | ip=10.0.0.7 | op=CREATE_KEY {volume=v, bucket=b, key=a/b} | ret=SUCCESS |"
    );
    assert_eq!(
        &lines[1][23..],
        " | ERROR | OMAudit | user=ann | ip=10.0.0.7 | op=READ_KEY {} | ret=FAILURE | KEY_NOT_FOUND no such key |"
    );
    assert_eq!(lines[0].as_bytes()[19], b',');
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_name_cannot_forge_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(options(dir.path())).unwrap();
    log.log(&AuditEvent { params: &[("key", "x\n2026-01-01 fake | é")], ..CREATED });
    drop(log);
    let text = fs::read_to_string(dir.path().join("logs/om-audit.log")).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("key=x\\n2026-01-01 fake | é"), "{text}");
}

#[test]
fn full_files_are_put_aside_and_the_oldest_goes() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..4 {
        let log = AuditLog::open(AuditOptions { rotate_at: 100, keep: 2, ..options(dir.path()) })
            .unwrap();
        log.log(&CREATED);
    }
    let mut names: Vec<String> = fs::read_dir(dir.path().join("logs"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["om-audit.log", "om-audit.log.1", "om-audit.log.2"]);
}

#[test]
fn every_line_of_many_threads_is_kept() {
    const THREADS: usize = 4;
    const LINES: usize = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(options(dir.path())).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..LINES).for_each(|_| log.log(&CREATED)));
        }
    });
    assert_eq!(log.dropped(), 0);
    drop(log);
    let text = fs::read_to_string(dir.path().join("logs/om-audit.log")).unwrap();
    assert_eq!(text.lines().count(), THREADS * LINES);
}

#[test]
fn a_disabled_log_keeps_nothing() {
    let log = AuditLog::disabled();
    log.log(&CREATED);
    assert!(!log.is_enabled());
}
