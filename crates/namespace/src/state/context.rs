//! Contexts of commands: the tables, and facts about a request from the leader or the log.

use proto::hdds::ExcludeListProto;
use types::{ReplicationConfig, StorageType};

use crate::state::effect::Effect;
use crate::state::row::{self, Bucket};
use crate::state::settings::Settings;
use crate::state::snapshot_usage::Added;
use crate::state::view::View;
use crate::tables::Table;

/// The leader's source of values that must never repeat or be guessed.
pub trait Fresh {
    /// An id no other request gets: the session of an open key.
    fn id(&self) -> u64;
    /// Bytes of a UUID (version 7, so that ids sort by time): an upload's id.
    fn uuid(&self) -> [u8; 16];
    /// Random bytes from a cryptographic source: a secret key.
    fn secret(&self) -> [u8; 32];
}

/// Input of the decisions of `prepare`.
pub struct PrepareContext<'a> {
    /// The leader's clock, milliseconds since 1970.
    pub now_ms: u64,
    /// The tables. May lag behind the log: checks here spare work, those of `apply` count.
    pub view: &'a dyn View,
    /// The requesting user.
    pub user: &'a str,
    /// The groups of the requesting user, the primary one first.
    pub groups: &'a [String],
    /// Settings.
    pub settings: &'a Settings,
    /// Ids and secrets.
    pub fresh: &'a dyn Fresh,
}

/// Blocks that the request needs before it can be proposed; hand them to
/// [`assign_blocks`](crate::assign_blocks).
#[derive(Debug, Clone, PartialEq)]
pub struct BlockDemand {
    /// Replication of the pipelines.
    pub replication: ReplicationConfig,
    /// The storage types of disks that they may be on, the best first.
    pub storage_types: &'static [StorageType],
    /// Number of blocks.
    pub count: u32,
    /// Bytes of one block.
    pub size: u64,
    /// Nodes, pipelines and containers that the client excludes.
    pub exclude: Option<ExcludeListProto>,
    /// Owner of the containers.
    pub owner: String,
}

/// Position of an entry in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionPosition {
    /// Term of the leader that proposed it.
    pub term: u64,
    /// Index in the log.
    pub index: u64,
}

/// Target of a command, and its effects so far.
pub(crate) struct ApplyContext<'a> {
    pub view: &'a dyn View,
    pub tx: TransactionPosition,
    pub effects: Vec<Effect>,
    /// Sizes of data kept for snapshots.
    pub kept: Added,
}

impl ApplyContext<'_> {
    /// The id of an object that this transaction makes: epoch 2 in the two top bits, the index,
    /// and eight bits for further objects of the same transaction.
    pub fn object_id(&self) -> u64 {
        (2 << 62) | ((self.tx.index << 8) & !(3 << 62))
    }

    pub fn put(&mut self, table: Table, key: Vec<u8>, value: &impl prost::Message) {
        self.effects.push(Effect::Put { table, key, value: row::encode(value) });
    }

    pub fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.effects.push(Effect::Delete { table, key });
    }

    pub fn put_bucket(&mut self, key: Vec<u8>, bucket: Bucket) {
        self.effects.push(Effect::PutBucket { key, bucket });
    }
}

/// Input of a read.
pub struct ReadContext<'a> {
    /// The tables.
    pub view: &'a dyn View,
    /// The requesting user.
    pub user: &'a str,
    /// The groups of the requesting user.
    pub groups: &'a [String],
    /// Settings.
    pub settings: &'a Settings,
}

impl ReadContext<'_> {
    /// The most entries of a page if the client requests `wanted`.
    pub(crate) fn page(&self, wanted: Option<i64>) -> usize {
        let limit = self.settings.list_max_size as usize;
        match wanted.map(usize::try_from) {
            Some(Ok(n)) if n > 0 => n.min(limit),
            _ => limit,
        }
    }
}
