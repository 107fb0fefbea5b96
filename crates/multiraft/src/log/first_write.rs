//! Tests of a failed first write of a log, and of a power loss during it: `synced.rs`.

use tokio::sync::oneshot;

use super::engine_files::FILE_HEADER;
use super::task::{Done, WriteTask};
use super::write::tests::{entry_of, newest, write};
use super::{LogHandle, power_loss};
use crate::options::LogOptions;

/// Creates a log with one write; returns its directory as it was before that write, and the file as
/// a failed sync and a power loss may leave it: the write without the header's.
fn first_write(options: LogOptions) -> (tempfile::TempDir, tempfile::TempDir, Vec<u8>) {
    let (root, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dir = root.path().join("log");
    let log = LogHandle::open(&dir, options).unwrap();
    log.adopt().unwrap();
    power_loss::copy(root.path(), before.path());
    write(&log, vec![entry_of(1, 1), entry_of(2, 1)]);
    log.close();
    drop(log);
    let mut torn = std::fs::read(newest(&dir)).unwrap();
    torn[..FILE_HEADER].fill(0);
    (root, before, torn)
}

#[test]
fn what_power_left_of_a_first_write_goes_unless_it_was_acknowledged() {
    let (root, before, torn) = first_write(LogOptions::default());
    // Its sync failed, and then the power.
    let copied = before.path().join("log");
    std::fs::write(newest(&copied), &torn).unwrap();
    let log = LogHandle::open(&copied, LogOptions::default()).unwrap();
    assert_eq!(log.core.engine.last_index(1), None);
    // The next first write is acknowledged.
    write(&log, vec![entry_of(1, 1)]);
    log.close();
    drop(log);
    for dir in [copied, root.path().join("log")] {
        std::fs::write(newest(&dir), &torn).unwrap();
        let refused = LogHandle::open(&dir, LogOptions::default()).unwrap_err();
        assert!(refused.to_string().contains("is corrupt"), "{refused}");
    }
}

#[test]
fn a_first_write_that_a_process_found_whole_may_not_go_any_more() {
    let (root, before, torn) = first_write(LogOptions::default());
    // The process was killed before it acknowledged the write, and started again.
    let copied = before.path().join("log");
    let whole = newest(&root.path().join("log"));
    std::fs::copy(&whole, newest(&copied)).unwrap();
    let log = LogHandle::open(&copied, LogOptions::default()).unwrap();
    assert_eq!(log.core.engine.last_index(1), Some(1));
    log.close();
    drop(log);
    std::fs::write(newest(&copied), &torn).unwrap();
    LogHandle::open(&copied, LogOptions::default()).unwrap_err();
}

#[test]
fn a_log_without_syncs_never_says_that_nothing_was_acknowledged() {
    let without = LogOptions { fsync: false, ..LogOptions::default() };
    let (root, before, torn) = first_write(without.clone());
    let dir = root.path().join("log");
    std::fs::write(newest(&dir), &torn).unwrap();
    LogHandle::open(&dir, LogOptions::default()).unwrap_err();
    // It begins with syncs, and continues without.
    let copied = before.path().join("log");
    let log = LogHandle::open(&copied, LogOptions::default()).unwrap();
    log.core.identity.synced.begin().unwrap();
    log.close();
    drop(log);
    let log = LogHandle::open(&copied, without).unwrap();
    write(&log, vec![entry_of(1, 1)]);
    log.close();
    drop(log);
    std::fs::write(newest(&copied), &torn).unwrap();
    LogHandle::open(&copied, LogOptions::default()).unwrap_err();
}

#[test]
fn a_first_write_is_not_acknowledged_before_that_is_noted() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("log");
    let log = LogHandle::open(&dir, LogOptions::default()).unwrap();
    log.adopt().unwrap();
    std::fs::create_dir(root.path().join("log.manifest.synced.new")).unwrap();
    let (sender, written) = oneshot::channel();
    log.write([WriteTask { done: Done::Waiter(sender), ..entry_of(1, 1) }]);
    written.blocking_recv().unwrap_err();
    assert!(log.failure().is_some_and(|why| why.contains("synced position")));
}
