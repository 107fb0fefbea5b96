//! Logs that were torn by a crash, and logs whose bytes were changed.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use multiraft::{LogError, LogOptions, RaftHost};

use crate::support::Cluster;

fn newest(dir: &Path) -> PathBuf {
    let files = std::fs::read_dir(dir.join("log")).unwrap().map(|e| e.unwrap().path());
    files.filter(|p| p.extension().is_some_and(|e| e == "raftlog")).max().unwrap()
}

/// Where the log's last written byte is: files are allocated ahead with zeros.
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
    let mut cluster = filled(50).await;
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
    // As the engine leaves it when the process is killed: allocated ahead, and the next file made in vain.
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
async fn a_log_in_use_is_refused() {
    let cluster = Cluster::started(1);
    cluster.put(&[0], "a").await;
    let error = refused(&cluster).await;
    assert!(matches!(error, LogError::InUse { .. }), "{error}");
    cluster.shutdown().await;
}
