//! Logs torn by a crash, logs with changed bytes, logs that cannot be synced.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use multiraft::{LogError, LogOptions, Proposal, RaftHost};

use crate::support::{Cluster, until};

/// The append files of a log, oldest first.
fn log_files(dir: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir.join("log")).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|p| p.extension().is_some_and(|e| e == "raftlog")).collect();
    files.sort_unstable();
    files
}

fn newest(dir: &Path) -> PathBuf {
    log_files(dir).pop().unwrap()
}

/// Offset of the log's last written byte: files are preallocated with zeros.
fn written(path: &Path) -> usize {
    let data = std::fs::read(path).unwrap();
    data.iter().rposition(|b| *b != 0).unwrap() + 1
}

async fn filled(count: usize) -> Cluster {
    let mut cluster = Cluster::started(1);
    for n in 0..count {
        cluster.put(&[0], &format!("entry number {n:04}")).await;
    }
    cluster.stop(0, true).await;
    cluster
}

async fn refused(cluster: &Cluster) -> LogError {
    let transport = cluster.network.transport(cluster.nodes[0].id);
    let host = RaftHost::start(cluster.options(0), transport).unwrap();
    let dir = cluster.nodes[0].dir.path().join("log");
    let error = host.open_log(&dir, LogOptions::default()).unwrap_err();
    host.shutdown().await;
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_tail_costs_only_the_write_that_was_torn() {
    let mut cluster = filled(49).await;
    // Power fails during the last write: the recorded synced position is from before it.
    let synced = cluster.nodes[0].dir.path().join("log.manifest.synced");
    let before = std::fs::read(&synced).unwrap();
    cluster.start(0);
    cluster.put(&[0], "entry number 0049").await;
    cluster.stop(0, true).await;
    std::fs::write(&synced, before).unwrap();
    let path = newest(cluster.nodes[0].dir.path());
    let end = written(&path);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(end as u64 - 3).unwrap();
    cluster.start(0);
    cluster.put(&[0], "after").await;
    let values: Vec<_> = cluster.entries(0).into_values().collect();
    // The torn write held the last entry alone: entries were proposed one by one.
    assert_eq!(values.len(), 50);
    assert_eq!(values[48], "entry number 0048");
    assert_eq!(values[49], "after");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_to_the_last_write_that_was_synced_is_refused() {
    let cluster = filled(20).await;
    let path = newest(cluster.nodes[0].dir.path());
    let end = written(&path) as u64;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    for at in end - 60..end {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let error = refused(&cluster).await;
        assert!(matches!(error, LogError::Corrupt { .. }), "flip at {at}: {error}");
        file.write_all_at(&byte, at).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_behind_the_last_write_is_dropped() {
    let mut cluster = filled(20).await;
    let path = newest(cluster.nodes[0].dir.path());
    let end = written(&path) as u64;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xA5; 700], end + 1).unwrap();
    cluster.start(0);
    cluster.leader().await;
    assert_eq!(cluster.entries(0).len(), 20);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_a_full_disk_left_empty_is_not_taken_for_the_newest() {
    let mut cluster = filled(20).await;
    let path = newest(cluster.nodes[0].dir.path());
    // As the engine leaves it after a kill: preallocated, and with an unused next file.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(written(&path) as u64 + 5000).unwrap();
    let number: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    std::fs::write(path.with_file_name(format!("{:016}.raftlog", number + 1)), b"").unwrap();
    cluster.start(0);
    cluster.put(&[0], "after").await;
    assert_eq!(cluster.entries(0).len(), 21);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_in_the_middle_is_refused_wherever_it_is() {
    let cluster = filled(50).await;
    let path = newest(cluster.nodes[0].dir.path());
    let end = written(&path) as u64;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // Headers, entries, footers, checksums: all along the file, but for the last write.
    for at in (60..end - 400).step_by(97) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let error = refused(&cluster).await;
        assert!(matches!(error, LogError::Corrupt { .. }), "flip at {at}: {error}");
        file.write_all_at(&byte, at).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_at_the_end_of_an_older_file_is_refused() {
    let mut cluster = Cluster::new(1);
    cluster.log.file_size = 4096;
    cluster.start(0);
    for n in 0..60 {
        cluster.put(&[0], &format!("entry number {n:04} {}", "x".repeat(200))).await;
    }
    cluster.stop(0, true).await;
    let mut files = log_files(cluster.nodes[0].dir.path());
    files.pop();
    let older = files.pop().expect("more than one file");
    let end = std::fs::metadata(&older).unwrap().len();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&older).unwrap();
    // All of the last write, including its entries, at which the engine would truncate silently.
    for at in (end - 250..end).step_by(7) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let error = refused(&cluster).await;
        assert!(matches!(error, LogError::Corrupt { .. }), "flip at {at}: {error}");
        file.write_all_at(&byte, at).unwrap();
    }
    assert_eq!(std::fs::metadata(&older).unwrap().len(), end, "nothing was cut");
    cluster.start(0);
    cluster.put(&[0], "after").await;
    assert_eq!(cluster.entries(0).len(), 61);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_fails_while_a_log_is_opened_costs_nothing_of_it() {
    let mut cluster = filled(20).await;
    let path = newest(cluster.nodes[0].dir.path()).display().to_string();
    let mut struck = 0;
    for before in 0.. {
        let failing = testkit::fail_read(&path, before);
        let transport = cluster.network.transport(cluster.nodes[0].id);
        let host = RaftHost::start(cluster.options(0), transport).unwrap();
        match host.open_log(&cluster.log_dir(0), LogOptions::default()) {
            Ok(log) => log.close(),
            Err(error) => assert!(matches!(error, LogError::Io { .. }), "read {before}: {error}"),
        }
        host.shutdown().await;
        if !failing.struck() {
            break;
        }
        struck += 1;
    }
    assert!(struck > 1, "only {struck} reads of a log that is opened");
    cluster.start(0);
    cluster.put(&[0], "after").await;
    assert_eq!(cluster.entries(0).len(), 21);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_first_files_were_never_begun_opens_every_time() {
    // As left by a process that is killed, or whose write fails, while the log is created.
    for content in [&[][..], &[0; 69], b"RAFT-LOG-FILE-HEADER"] {
        let mut cluster = Cluster::new(1);
        let dir = cluster.log_dir(0);
        std::fs::create_dir_all(&dir).unwrap();
        for name in ["0000000000000001.raftlog", "0000000000000001.rewrite"] {
            std::fs::write(dir.join(name), content).unwrap();
        }
        for n in 1..4 {
            cluster.start(0);
            cluster.put(&[0], &format!("entry number {n}")).await;
            assert_eq!(cluster.entries(0).len(), n);
            cluster.stop(0, true).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_use_is_refused_and_left_as_it_is() {
    let mut cluster = Cluster::started(1);
    cluster.put(&[0], "a").await;
    let path = newest(cluster.nodes[0].dir.path());
    let before = std::fs::read(&path).unwrap();
    let error = refused(&cluster).await;
    assert!(matches!(error, LogError::InUse { .. }), "{error}");
    assert!(std::fs::read(&path).unwrap() == before, "it was changed");
    cluster.put(&[0], "b").await;
    cluster.stop(0, true).await;
    cluster.start(0);
    cluster.put(&[0], "c").await;
    assert_eq!(cluster.entries(0).len(), 3);
    cluster.shutdown().await;
}

/// The files of a node's log, without the manifest next to them: that is rewritten after a failed
/// sync.
fn synced_files(cluster: &Cluster, n: usize) -> String {
    format!("{}/*.raftlog", cluster.log_dir(n).display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_fsync_failed_once_acknowledges_nothing_any_more() {
    let mut cluster = Cluster::started(1);
    let kept = cluster.put(&[0], "before").await;
    let failing = testkit::fail_syncs(&synced_files(&cluster, 0), 1);
    let group = cluster.group(0);
    assert!(group.propose(Proposal::new("struck")).await.is_err());
    assert_eq!(failing.struck(), 1);
    // The disk works from here on.
    for _ in 0..3 {
        assert!(group.propose(Proposal::new("after")).await.is_err());
    }
    let log = cluster.nodes[0].log.clone().unwrap();
    assert_eq!(log.failure(), Some(log.failed().await));
    until("the group to fail", async || {
        cluster.group(0).status().await.is_none_or(|status| status.failed.is_some())
    })
    .await;
    drop(log);
    cluster.stop(0, false).await;
    cluster.start(0);
    cluster.leader().await;
    assert!(cluster.entries(0).contains_key(&kept.index));
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_whose_log_cannot_be_synced_votes_for_nothing() {
    let cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "before").await;
    let leader = cluster.leader().await;
    let [second, third] = [(leader + 1) % 3, (leader + 2) % 3];
    let failing = [second, third].map(|n| testkit::fail_syncs(&synced_files(&cluster, n), 1));
    let proposal = cluster.group(leader).submit(Proposal::new("struck")).unwrap();
    // Neither of the two may confirm the entry, so it is never acknowledged.
    until("both fsyncs to fail", async || failing.iter().all(|f| f.struck() == 1)).await;
    for n in [second, third] {
        let log = cluster.nodes[n].log.as_ref().unwrap();
        until("the log to fail", async || log.failure().is_some()).await;
    }
    let acknowledged = tokio::time::timeout(Duration::from_secs(2), proposal).await;
    assert!(!matches!(acknowledged, Ok(Ok(Ok(_)))), "one of three had it");
    cluster.shutdown().await;
}
