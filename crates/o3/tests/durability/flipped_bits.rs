//! Corruption of stored bytes.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use client::{CreateKey, ErrorKind, KeyPath};
use futures::TryStreamExt;
use types::ReplicationConfig;

use super::ledger::content;
use super::{BUCKET, VOLUME, client, make_bucket, runtime};
use crate::process::{Daemon, server};

const SIZE: usize = 3 << 20;

/// Files below `dir` whose name ends with `suffix`.
pub fn files(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            found.extend(files(&path, suffix));
        } else if path.to_string_lossy().ends_with(suffix) {
            found.push(path);
        }
    }
    found
}

pub fn flip(file: &Path, at: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

/// The files of each block, by name, that contain all its bytes.
fn blocks(dir: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut blocks: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let whole = |file: &PathBuf| file.metadata().is_ok_and(|data| data.len() >= SIZE as u64);
    for file in files(dir, ".block").into_iter().filter(whole) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        blocks.entry(name).or_default().push(file);
    }
    blocks
}

/// Number of replicas of each block on disk, in ascending order.
fn replicas_of_blocks(dir: &Path) -> Vec<usize> {
    let mut counts: Vec<usize> = blocks(dir).values().map(Vec::len).collect();
    counts.sort();
    counts
}

pub async fn read(client: &client::Client, path: &KeyPath) -> client::Result<Vec<u8>> {
    let reader = client.open_key(path).await?;
    let pieces: Vec<bytes::Bytes> = reader.stream(0..reader.len()).try_collect().await?;
    Ok(pieces.concat())
}

#[test]
fn a_flipped_bit_is_found_and_another_replica_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let daemon = Daemon::start(server(dir.path(), &[]));
    let (three, one) = (KeyPath::new(VOLUME, BUCKET, "three"), KeyPath::new(VOLUME, BUCKET, "one"));
    let client_before = client(&daemon);
    runtime.block_on(async {
        make_bucket(&client_before).await;
        for (path, replication) in
            [(&three, ReplicationConfig::RATIS_THREE), (&one, ReplicationConfig::RATIS_ONE)]
        {
            let key = CreateKey::new(path.clone()).replication(replication);
            client_before.put_key(key, content(&path.key, 1, SIZE)).await.unwrap();
        }
    });
    // One block with three replicas, one with a single one. A key is committed when two of three
    // have it; the third receives it shortly after.
    testkit::until_blocking("all replicas", || {
        let are_there = replicas_of_blocks(dir.path()) == [1, 3];
        if are_there { Ok(()) } else { Err(blocks(dir.path())) }
    });
    assert_eq!(daemon.terminate().code(), Some(0));
    let blocks = blocks(dir.path());

    // One replica of the block with three, the only one of the other.
    for replicas in blocks.values() {
        flip(&replicas[0], 1_234_567);
    }

    let daemon = Daemon::start(server(dir.path(), &[]));
    let client = client(&daemon);
    runtime.block_on(async {
        assert_eq!(read(&client, &three).await.unwrap(), content("three", 1, SIZE));
        let refused = read(&client, &one).await.expect_err("damaged bytes were handed out");
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
    });
}
