//! The clients.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use client::{BucketSpec, Client, CreateKey, ErrorKind, FollowerReads, KeyPath, ListKeys};
use futures::TryStreamExt;
use types::ReplicationConfig;

use super::Board;
use super::bucket::{Answer, Op};
use super::configuration::Layout;
use crate::history::{Event, NEVER};
use crate::scenario::now;
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// Keys of a bucket.
pub const KEYS: u64 = 4;
/// Between two calls at most, in milliseconds.
const MAX_THINK_TIME: u64 = 1500;
/// Time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(20);
/// A content that is not in one request.
const LARGE: usize = 300_000;
/// The volume.
pub const VOLUME: &str = "volume";

/// Source of a client's reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// At the leader.
    Leader,
    /// At any OM, which asks the leader how far it is.
    Anywhere,
    /// The state of any OM.
    Local,
}

/// One call on a bucket.
pub struct Seen {
    /// The bucket.
    pub bucket: u64,
    /// The call.
    pub event: Event<Op, Answer>,
}

/// A client of the cluster.
pub fn connect(layout: &Layout, reads: Reads) -> client::Result<Client> {
    let mut options = client::ClientOptions::from_configuration(layout.client());
    options.deadline = TIMEOUT;
    options.attempt_timeout = TIMEOUT / 4;
    options.follower_reads = match reads {
        Reads::Leader => None,
        Reads::Anywhere => Some(FollowerReads::Linearizable),
        Reads::Local => Some(FollowerReads::Local { max_lag: 1000 }),
    };
    Client::new(options)
}

/// A key.
pub fn path(bucket: u64, key: u8) -> KeyPath {
    KeyPath::new(VOLUME, format!("bucket-{bucket}"), format!("key-{key}"))
}

/// The bytes of a content: its number, again and again.
pub fn bytes_of(content: u64) -> Bytes {
    let len = if content % 4 == 3 { LARGE } else { 40 };
    let text = format!("{content:08}");
    text.bytes().cycle().take(len).collect::<Vec<u8>>().into()
}

/// The content of these bytes; `None` if they are none.
pub fn content_of(bytes: &Bytes) -> Option<u64> {
    let content = std::str::from_utf8(bytes.get(..8)?).ok()?.parse().ok()?;
    (bytes_of(content) == *bytes).then_some(content)
}

/// Makes the volume and the buckets, and writes a first key.
pub fn prepare(layout: &Layout, board: &Board, buckets: u64) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        let exists = |result: client::Result<()>| match result {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::AlreadyExists,
        };
        while !exists(client.create_volume(VOLUME, None, -1, -1).await) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let replication = board.coding.map(ReplicationConfig::Ec);
        for bucket in 0..=buckets {
            let name = format!("bucket-{bucket}");
            let layout = board.bucket_layout;
            let spec = BucketSpec { replication, layout, ..BucketSpec::default() };
            while !exists(client.create_bucket(VOLUME, &name, spec.clone()).await) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        let first = CreateKey::new(path(buckets, 0));
        while client.put_key(first.clone(), bytes_of(3)).await.is_err() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        board.ready.store(true, Ordering::Release);
    });
}

/// A client's process.
pub fn work(number: usize, reads: Reads, layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout, reads) else { return };
        let mut count = 0;
        while !board.stop.load(Ordering::Acquire) {
            count += 1;
            let bucket = board.bucket.load(Ordering::Acquire);
            let key = random.below(KEYS) as u8;
            let op = match random.below(12) {
                0..=4 => Op::Put(key, count * 10 + number as u64),
                5..=7 => Op::Get(key),
                8 => Op::Delete(key),
                9 => Op::Rename(key, ((u64::from(key) + 1 + random.below(KEYS - 1)) % KEYS) as u8),
                _ => Op::List,
            };
            call(&client, board, bucket, op).await;
            tokio::time::sleep(Duration::from_millis(random.below(MAX_THINK_TIME))).await;
        }
    });
}

/// Reads everything once more, until all of it can be read.
pub fn read_all(layout: &Layout, board: &Board, buckets: u64, done: &AtomicBool) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        for bucket in 0..buckets {
            while call(&client, board, bucket, Op::List).await.is_none() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            for key in 0..KEYS as u8 {
                let answer = loop {
                    match call(&client, board, bucket, Op::Get(key)).await {
                        Some(answer) => break answer,
                        None => tokio::time::sleep(Duration::from_secs(1)).await,
                    }
                };
                if let Answer::Content(content) = answer {
                    board.kept.lock().insert((bucket, key), content);
                }
            }
        }
        let slow = board.kept.lock().clone();
        for ((_, key), content) in slow.into_iter().filter(|((bucket, _), _)| *bucket == buckets) {
            let answer = loop {
                match call(&client, board, buckets, Op::Get(key)).await {
                    Some(answer) => break answer,
                    None => tokio::time::sleep(Duration::from_secs(1)).await,
                }
            };
            if answer != Answer::Content(content) {
                let told = format!("key {key}, written slowly with {content}, is {answer:?}");
                board.violations.lock().push(told);
            }
        }
        done.store(true, Ordering::Release);
    });
}

/// Makes a call and records it; `None` without a response.
async fn call(client: &Client, board: &Board, bucket: u64, op: Op) -> Option<Answer> {
    let asked = now();
    let answer = match &op {
        Op::Put(key, content) => {
            let put = client.put_key(CreateKey::new(path(bucket, *key)), bytes_of(*content));
            outcome(put.await.map(|_| Answer::Done))
        }
        Op::Get(key) => match client.read_key(&path(bucket, *key)).await {
            Ok(bytes) => match content_of(&bytes) {
                Some(content) => Some(Answer::Content(content)),
                None => {
                    let told = format!("bucket {bucket} key {key} holds what no client wrote");
                    board.violations.lock().push(told);
                    None
                }
            },
            Err(error) => outcome(Err(error)),
        },
        Op::Delete(key) => {
            outcome(client.delete_key(&path(bucket, *key)).await.map(|()| Answer::Done))
        }
        Op::Rename(from, to) => {
            let to = format!("key-{to}");
            outcome(client.rename_key(&path(bucket, *from), &to).await.map(|()| Answer::Done))
        }
        Op::List => {
            let keys = client.list_keys(ListKeys::new(VOLUME, format!("bucket-{bucket}")));
            let keys: client::Result<Vec<_>> = keys.try_collect().await;
            outcome(keys.map(|keys| {
                let number = |name: &str| name.strip_prefix("key-")?.parse().ok();
                Answer::Names(keys.iter().filter_map(|key| number(key.key_name())).collect())
            }))
        }
        // Its creation takes more than one call: see `snapshots`.
        Op::Snapshot => None,
    };
    let answered = if answer.is_some() { now() } else { NEVER };
    if answer.is_some() || !matches!(op, Op::Get(_) | Op::List) {
        let event = Event { op, answer: answer.clone(), asked, answered };
        board.seen.lock().push(Seen { bucket, event });
    }
    answer
}

/// Outcome of a result; `None` if it is unknown.
fn outcome(result: client::Result<Answer>) -> Option<Answer> {
    match result {
        Ok(answer) => Some(answer),
        Err(error) => match error.kind() {
            ErrorKind::NotFound if error.om_status().is_some() => Some(Answer::Missing),
            ErrorKind::AlreadyExists => Some(Answer::Taken),
            _ => {
                tracing::debug!(%error, "a call failed");
                None
            }
        },
    }
}
