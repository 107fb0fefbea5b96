//! A ledger of acknowledged writes, compared with the cluster's data.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use client::{Client, CreateKey, ErrorKind, KeyPath};
use futures::TryStreamExt;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{BUCKET, VOLUME};

/// State of a key: the `content` of this version and size, or absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Holds { version: u64, size: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The last acknowledged state.
    told: State,
    /// A requested state without a response: it may have taken effect.
    asked: Option<State>,
}

/// The acknowledged state of each key.
#[derive(Default)]
pub struct Ledger {
    entries: Mutex<HashMap<String, Entry>>,
    acknowledged: AtomicU64,
    compared: AtomicU64,
}

/// Sizes with different write paths: empty, packed, packed at the threshold, one chunk, several.
const SIZES: [usize; 7] = [0, 100, 10_240, 64 << 10, (64 << 10) + 1, 1 << 20, (9 << 20) + 7];

/// The bytes of a version of a key.
pub fn content(key: &str, version: u64, size: usize) -> Bytes {
    let mut state = version
        ^ key
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(size);
    bytes.into()
}

fn path(key: &str) -> KeyPath {
    KeyPath::new(VOLUME, BUCKET, key)
}

impl Ledger {
    /// Number of operations that the cluster acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Number of reads of keys that returned the acknowledged state.
    pub fn compared(&self) -> u64 {
        self.compared.load(Ordering::Relaxed)
    }

    fn ask(&self, key: &str, state: State) {
        let mut entries = self.entries.lock();
        let entry =
            entries.entry(key.to_owned()).or_insert(Entry { told: State::Absent, asked: None });
        entry.asked = Some(state);
    }

    fn told(&self, key: &str) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(key)
            && let Some(state) = entry.asked.take()
        {
            entry.told = state;
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn holds(&self, key: &str) -> bool {
        self.entries.lock().get(key).is_some_and(|e| e.told != State::Absent)
    }

    /// Puts, overwrites and deletes keys of its own until `stop` or the first failure, which it
    /// returns.
    pub async fn write(
        self: Arc<Self>,
        client: Client,
        writer: usize,
        seed: u64,
        stop: Arc<AtomicBool>,
    ) -> Option<client::Error> {
        let mut random = SmallRng::seed_from_u64(seed ^ (writer as u64) << 32);
        let mut version = seed << 20;
        while !stop.load(Ordering::Relaxed) {
            version += 1;
            let key = format!("w{writer}/{}", random.random_range(0..40));
            let done = if self.holds(&key) && random.random_bool(0.2) {
                self.ask(&key, State::Absent);
                client.delete_key(&path(&key)).await
            } else {
                let size = SIZES[random.random_range(0..SIZES.len())];
                self.ask(&key, State::Holds { version, size });
                let data = content(&key, version, size);
                client.put_key(CreateKey::new(path(&key)), data).await.map(drop)
            };
            match done {
                Ok(()) => self.told(&key),
                Err(e) => return Some(e),
            }
        }
        None
    }

    /// Puts new keys. None is overwritten or deleted, so no container becomes empty and is deleted.
    pub async fn put_new(&self, client: &Client, keys: usize) {
        for n in 0..keys {
            let (key, size) = (format!("new/{n}"), SIZES[n % SIZES.len()]);
            let version = n as u64;
            self.ask(&key, State::Holds { version, size });
            client.put_key(CreateKey::new(path(&key)), content(&key, version, size)).await.unwrap();
            self.told(&key);
        }
    }

    /// Reads acknowledged keys while others change them, until `stop` or the first key that cannot
    /// be read or differs, which it returns. Keys that were changed concurrently do not count.
    pub async fn read(
        self: Arc<Self>,
        client: Client,
        seed: u64,
        stop: Arc<AtomicBool>,
    ) -> Option<String> {
        let mut random = SmallRng::seed_from_u64(seed);
        while !stop.load(Ordering::Relaxed) {
            let known: Vec<(String, Entry)> = {
                let entries = self.entries.lock();
                let told = entries.iter().filter(|(_, e)| e.asked.is_none());
                told.map(|(key, entry)| (key.clone(), *entry)).collect()
            };
            let Some((key, before)) = known.get(random.random_range(0..known.len().max(1))) else {
                tokio::task::yield_now().await;
                continue;
            };
            let State::Holds { version, size } = before.told else { continue };
            let found = client.read_key(&path(key)).await;
            if self.entries.lock()[key] != *before {
                continue;
            }
            match found {
                Ok(found) if found == content(key, version, size) => {
                    self.compared.fetch_add(1, Ordering::Relaxed);
                }
                Ok(found) => {
                    return Some(format!("{key}: {} other bytes than {size}", found.len()));
                }
                Err(e) => return Some(format!("{key} of {size} bytes: {e}")),
            }
        }
        None
    }

    /// The names of all keys in the cluster.
    pub fn keys(&self) -> Vec<String> {
        let entries = self.entries.lock();
        let held = entries.iter().filter(|(_, e)| e.told != State::Absent && e.asked.is_none());
        held.map(|(key, _)| key.clone()).collect()
    }

    /// Compares every key with the ledger, and resolves requests without a response.
    pub async fn verify(&self, client: &Client) {
        let keys: Vec<String> = self.entries.lock().keys().cloned().collect();
        for key in keys {
            let entry = self.entries.lock()[&key];
            let found = read(client, &key).await;
            let matches = |state: State| match state {
                State::Absent => found.is_none(),
                State::Holds { version, size } => {
                    found.as_deref() == Some(&content(&key, version, size)[..])
                }
            };
            let settled =
                [Some(entry.told), entry.asked].into_iter().flatten().find(|state| matches(*state));
            let Some(settled) = settled else {
                let found = found.map(|f| f.len());
                panic!(
                    "{key}: told {:?}, asked {:?}, found {found:?} bytes",
                    entry.told, entry.asked
                );
            };
            self.entries.lock().insert(key, Entry { told: settled, asked: None });
        }
    }
}

/// The bytes of a key; `None` if it does not exist.
async fn read(client: &Client, key: &str) -> Option<Vec<u8>> {
    let reader = match client.open_key(&path(key)).await {
        Ok(reader) => reader,
        Err(e) if e.kind() == ErrorKind::NotFound => return None,
        Err(e) => panic!("{key}: {e}"),
    };
    let mut pieces = reader.stream(0..reader.len());
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.try_next().await.unwrap_or_else(|e| panic!("{key}: {e}")) {
        bytes.extend_from_slice(&piece);
    }
    Some(bytes)
}
