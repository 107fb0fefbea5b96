//! State shared by the processes of a run and its observer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, ClientOptions, KeyPath};
use erasure::Scheme;
use parking_lot::Mutex;
use types::{BlockId, ContainerId, ReplicationConfig};

use super::layout::Layout;
use crate::scenario::replica::striped;
use crate::world::random::Random;

/// The volume.
pub const VOLUME: &str = "volume";
/// The bucket.
pub const BUCKET: &str = "bucket";
/// Default of the maximum pause between two calls of a client, in milliseconds.
const THINK: u64 = 3_000;
/// Unit of a key's length where keys are not erasure coded.
const UNIT: u64 = 128 << 10;
/// Time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A key that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its length.
    pub length: usize,
    /// Number of its content: its own number, or a later one when it was written again.
    pub content: u64,
    /// True if a client is about to delete it.
    pub is_leaving: bool,
    /// True if a client is about to write it again.
    pub is_changing: bool,
}

impl Kept {
    /// A key that was just written.
    pub fn new(content: u64, length: usize) -> Self {
        Self { length, content, is_leaving: false, is_changing: false }
    }

    /// Returns `true` if its bytes are known: no client is about to change or delete it, or died
    /// during that.
    pub fn is_settled(&self) -> bool {
        !self.is_leaving && !self.is_changing
    }

    /// Its bytes.
    pub fn bytes(&self) -> Bytes {
        bytes_of(self.content, self.length)
    }
}

/// The state of a run.
pub struct Board {
    /// Replication of all keys: erasure coded, or three times.
    pub replication: ReplicationConfig,
    /// Between two calls of a client at most, in milliseconds.
    pub think: AtomicU64,
    /// Minimum of keys to keep while nothing can be written.
    pub least: AtomicU64,
    /// Containers that hold bytes of a key that was acknowledged, and of which index; 0 for full
    /// copies.
    pub holding: Mutex<BTreeSet<(ContainerId, u32)>>,
    /// True if the bucket exists, and a first key was written.
    pub is_ready: AtomicBool,
    /// True while nothing may be written, because the keys are checked.
    pub is_quiet: AtomicBool,
    /// Keys that were acknowledged, by their numbers.
    pub kept: Mutex<BTreeMap<u64, Kept>>,
    /// Blocks of keys that were deleted.
    pub gone: Mutex<BTreeSet<BlockId>>,
    /// Violations.
    pub violations: Mutex<Vec<String>>,
    /// Conditions that do not hold yet.
    pub lacking: Mutex<Vec<String>>,
    /// Calls that were answered.
    pub answered: AtomicU64,
    /// Calls that were not.
    pub failed: AtomicU64,
    /// Replicas that were begun and abandoned.
    pub idle: AtomicU64,
    /// Sets of replicas that a block was decoded from.
    pub decoded: AtomicU64,
    /// Counts of the actions of the operator and of the servers, by name.
    pub upkeep: Mutex<BTreeMap<&'static str, u64>>,
    /// True if keys have storage policies, and are written again.
    pub has_policies: AtomicBool,
    numbers: AtomicU64,
}

impl Board {
    /// Of a run whose keys are replicated so.
    pub fn new(replication: ReplicationConfig) -> Self {
        Self {
            replication,
            think: AtomicU64::new(THINK),
            least: AtomicU64::default(),
            holding: Mutex::default(),
            is_ready: AtomicBool::default(),
            is_quiet: AtomicBool::default(),
            kept: Mutex::default(),
            gone: Mutex::default(),
            violations: Mutex::default(),
            lacking: Mutex::default(),
            answered: AtomicU64::default(),
            failed: AtomicU64::default(),
            idle: AtomicU64::default(),
            decoded: AtomicU64::default(),
            upkeep: Mutex::default(),
            has_policies: AtomicBool::default(),
            numbers: AtomicU64::default(),
        }
    }

    /// The next number: of a key, or of the life of a process.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits while nothing may be written.
    pub async fn while_quiet(&self) {
        while self.is_quiet.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// One of the keys that were acknowledged, if there is one.
    pub fn any_key(&self, random: &mut Random) -> Option<(u64, Kept)> {
        let kept = self.kept.lock();
        let at = random.below(kept.len().max(1) as u64) as usize;
        kept.iter().nth(at).map(|(number, kept)| (*number, *kept))
    }

    /// The least bytes of a key of which no index is padding.
    pub fn unit(&self) -> u64 {
        match self.replication {
            ReplicationConfig::Ec(config) => Scheme::new(config).map_or(UNIT, |s| s.stripe_size()),
            _ => UNIT,
        }
    }

    /// The bytes of a cell, or a part of a unit.
    pub fn cell(&self) -> u64 {
        match self.replication {
            ReplicationConfig::Ec(config) => u64::from(config.chunk_size),
            ReplicationConfig::Ratis(_) | ReplicationConfig::StandAlone(_) => UNIT / 2,
        }
    }

    /// Between two calls of a client at most, in milliseconds.
    pub fn think(&self) -> u64 {
        self.think.load(Ordering::Relaxed)
    }

    /// The required indexes of each container's replicas, 0 for full copies; and the number of
    /// replicas.
    pub fn replicas(&self) -> (BTreeSet<u32>, usize) {
        match self.replication {
            ReplicationConfig::Ec(config) => {
                let count = config.data + config.parity;
                ((1..=count).collect(), count as usize)
            }
            ReplicationConfig::Ratis(factor) | ReplicationConfig::StandAlone(factor) => {
                (BTreeSet::from([0]), factor.count() as usize)
            }
        }
    }

    /// The bytes of each index of a block.
    pub fn parts(&self, data: &Bytes) -> BTreeMap<u32, Bytes> {
        match self.replication {
            ReplicationConfig::Ec(config) => (1..).zip(striped(config, data)).collect(),
            ReplicationConfig::Ratis(_) | ReplicationConfig::StandAlone(_) => {
                BTreeMap::from([(0, data.clone())])
            }
        }
    }

    /// An operator did something.
    pub fn upkeep(&self, what: &'static str) {
        self.count(what, 1);
    }

    /// Adds `times` to a count.
    pub fn count(&self, what: &'static str, times: u64) {
        *self.upkeep.lock().entry(what).or_default() += times;
    }

    /// Something that must not be.
    pub fn violates(&self, what: String) {
        self.violations.lock().push(what);
    }
}

/// A client of the cluster.
pub fn connect(layout: &Layout) -> client::Result<Client> {
    let mut options = ClientOptions::from_configuration(layout.client());
    (options.deadline, options.attempt_timeout) = (TIMEOUT, TIMEOUT / 4);
    Client::new(options)
}

/// A key.
pub fn path(number: u64) -> KeyPath {
    KeyPath::new(VOLUME, BUCKET, format!("key-{number}"))
}

/// The bytes of a key: no two parts of any two keys are alike.
pub fn bytes_of(number: u64, length: usize) -> Bytes {
    let mut random = Random::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words = (0..length.div_ceil(8)).flat_map(|_| random.next().to_le_bytes());
    words.take(length).collect::<Vec<u8>>().into()
}
