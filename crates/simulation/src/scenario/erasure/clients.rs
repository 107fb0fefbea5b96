//! Clients: they write keys and leave some of them half written, delete keys, and read them at any
//! moment. They are killed like servers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{BucketSpec, Client, CreateKey, ErrorKind, FinishOptions};
use types::{BlockId, StoragePolicy};

use super::board::{BUCKET, Board, Kept, VOLUME, bytes_of, connect, path};
use super::layout::Layout;
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// Maximum of keys at a time.
const KEYS: usize = 48;
/// Stripes of a key at most.
const STRIPES: u64 = 5;
/// Between two parts of a key at most, in milliseconds.
const PAUSE: u64 = 1_500;

/// Makes the volume and the bucket, and writes a first key.
pub fn prepare(layout: &Layout, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        let exists = |result: client::Result<()>| match result {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::AlreadyExists,
        };
        let pause = || tokio::time::sleep(Duration::from_secs(1));
        while !exists(client.create_volume(VOLUME, None, -1, -1).await) {
            pause().await;
        }
        let replication = Some(board.replication);
        let spec = BucketSpec { replication, ..BucketSpec::default() };
        while !exists(client.create_bucket(VOLUME, BUCKET, spec.clone()).await) {
            pause().await;
        }
        while board.kept.lock().is_empty() {
            put(&client, board, 1, &mut Random::new(0)).await;
            pause().await;
        }
        board.is_ready.store(true, Ordering::Release);
    });
}

/// A client that writes and deletes.
pub fn write(layout: &Layout, board: &Board, seed: u64) {
    let mut random = Random::new(seed ^ board.number().rotate_left(32));
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        loop {
            board.while_quiet().await;
            let kept = board.kept.lock().len();
            let few = (kept as u64) < board.least.load(Ordering::Relaxed);
            if board.has_policies.load(Ordering::Relaxed) && !few && random.one_in(4) {
                rewrite(&client, board, &mut random).await;
            }
            match (random.one_in(6) && !few) || kept >= KEYS {
                true => delete(&client, board, &mut random).await,
                false => {
                    let stripe = board.unit();
                    let length = match random.below(6) {
                        0 => random.range(1, 200),
                        1 => random.range(1, board.cell()),
                        2 => stripe * random.range(1, STRIPES),
                        _ => random.range(1, stripe * STRIPES),
                    };
                    put(&client, board, length as usize, &mut random).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(random.below(board.think()))).await;
        }
    });
}

/// Writes a key in parts, or leaves it in the middle.
async fn put(client: &Client, board: &Board, length: usize, random: &mut Random) {
    let number = board.number();
    let bytes = bytes_of(number, length);
    let leaves = length > 1 && random.one_in(5);
    let parts = random.range(1, 6) as usize;
    let write = async {
        let create = CreateKey::new(path(number)).size_hint(length as u64);
        let mut writer = client.create_key(with_policy(create, board, random)).await?;
        let step = length.div_ceil(parts);
        for at in (0..length).step_by(step) {
            writer.write(bytes.slice(at..(at + step).min(length))).await?;
            if random.one_in(2) {
                tokio::time::sleep(Duration::from_millis(random.below(PAUSE))).await;
            }
            if leaves && random.one_in(parts as u64) {
                return Ok(false);
            }
        }
        writer.finish(FinishOptions::default()).await.map(|_| true)
    };
    match write.await {
        Ok(true) => {
            board.answered.fetch_add(1, Ordering::Relaxed);
            board.kept.lock().insert(number, Kept::new(number, length));
        }
        Ok(false) => {}
        Err(error) => {
            board.failed.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%error, number, "a key was not written");
        }
    }
}

/// A key with a storage policy of its own, at times.
fn with_policy(create: CreateKey, board: &Board, random: &mut Random) -> CreateKey {
    if !board.has_policies.load(Ordering::Relaxed) || !random.one_in(3) {
        return create;
    }
    let policy = random.pick(&StoragePolicy::ALL).name().to_owned();
    create.metadata(vec![(StoragePolicy::METADATA_KEY.to_owned(), policy)])
}

/// Writes a key again, with other bytes. One whose outcome is not known is not checked any more.
async fn rewrite(client: &Client, board: &Board, random: &mut Random) {
    let Some((number, _)) = board.any_key(random) else { return };
    match board.kept.lock().get_mut(&number) {
        Some(kept) if !kept.is_leaving && !kept.is_changing => kept.is_changing = true,
        _ => return,
    }
    let (content, length) = (board.number(), random.range(1, board.unit() * STRIPES) as usize);
    let write = async {
        let create = CreateKey::new(path(number)).size_hint(length as u64);
        let mut writer = client.create_key(with_policy(create, board, random)).await?;
        writer.write(bytes_of(content, length)).await?;
        tokio::time::sleep(Duration::from_millis(random.below(PAUSE))).await;
        writer.finish(FinishOptions::default()).await.map(drop)
    };
    match write.await {
        Ok(()) => {
            board.answered.fetch_add(1, Ordering::Relaxed);
            board.count("keys written again", 1);
            board.kept.lock().insert(number, Kept::new(content, length));
        }
        Err(error) => {
            board.failed.fetch_add(1, Ordering::Relaxed);
            board.kept.lock().remove(&number);
            tracing::debug!(%error, number, "a key was not written again");
        }
    }
}

/// Deletes a key; one whose deletion gets no response is not checked any more.
async fn delete(client: &Client, board: &Board, random: &mut Random) {
    let Some((number, _)) = board.any_key(random) else { return };
    let Ok(info) = client.key_info(&path(number)).await else { return };
    match board.kept.lock().get_mut(&number) {
        Some(kept) if !kept.is_leaving && !kept.is_changing => kept.is_leaving = true,
        _ => return,
    }
    let deleted = client.delete_key(&path(number)).await;
    board.kept.lock().remove(&number);
    if deleted.is_ok() {
        board.answered.fetch_add(1, Ordering::Relaxed);
        let locations = info.key_location_list.iter().flat_map(|list| &list.key_locations);
        board.gone.lock().extend(locations.map(|l| BlockId::from_wire(&l.block_id)));
    }
}

/// A client that reads.
pub fn read(layout: &Layout, board: &Board, seed: u64) {
    let mut random = Random::new(seed ^ board.number().rotate_left(32));
    on_runtime(async {
        let Ok(client) = connect(layout) else { return };
        loop {
            board.while_quiet().await;
            if let Some((number, kept)) = board.any_key(&mut random) {
                let read = client.read_key(&path(number)).await;
                let after = board.kept.lock().get(&number).copied();
                let still_there = after.is_some_and(|k| !k.is_leaving);
                let changed = |k: Kept| k.is_changing || k.content != kept.content;
                match read {
                    // Old bytes or new ones.
                    Ok(_) if kept.is_changing || after.is_some_and(changed) => {}
                    Ok(bytes) if bytes == kept.bytes() => {
                        board.answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(bytes) => board.violates(format!(
                        "key {number} of {} bytes was read as {} other ones",
                        kept.length,
                        bytes.len()
                    )),
                    Err(error) if error.kind() == ErrorKind::NotFound && still_there => {
                        board.violates(format!("key {number} was acknowledged: {error}"));
                    }
                    Err(error) => {
                        board.failed.fetch_add(1, Ordering::Relaxed);
                        tracing::debug!(%error, number, "a key was not read");
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(random.below(board.think()))).await;
        }
    });
}
