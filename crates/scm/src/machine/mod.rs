//! SCM's replicated state machine: committed changes, applied to the cluster in memory and to `scm.db`.
//!
//! A round of entries becomes one write batch with the applied position in it, without RocksDB's own log: the Raft log
//! is the log, and it is trimmed only behind what `flush` has made durable.
//!
//! Replay is idempotent by position: the store says what it holds, Raft replays what comes after.

mod encode;
mod load;
mod snapshot;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use metastore::{Batch, Durability, Store};
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};
use parking_lot::Mutex;
use placement::{Change, Cluster, Touched};
use uuid::Uuid;

pub use encode::{decode_outcome, encode_changes};
pub use load::load;

use crate::tables::{
    CONTAINERS, ContainerKey, ContainerRow, DELETED_BLOCKS, DeletionRow, NumberRow, PIPELINES,
    PipelineKey, PipelineRow, PositionRow, SEQUENCE_ID, TRANSACTION_INFO, TRANSACTION_INFO_KEY,
};

/// The state machine.
pub struct ScmMachine {
    cluster: Arc<Mutex<Cluster>>,
    store: Store,
    applied: LogPosition,
}

impl ScmMachine {
    /// The machine over a store whose rows are loaded into `cluster`; `applied` is what the store holds.
    pub fn new(cluster: Arc<Mutex<Cluster>>, store: Store, applied: LogPosition) -> Self {
        Self { cluster, store, applied }
    }
}

impl StateMachine for ScmMachine {
    fn applied(&self) -> LogPosition {
        self.applied
    }

    fn apply(&mut self, entries: &[Committed]) -> Result<Vec<Bytes>, MachineError> {
        let mut decoded: Vec<Vec<Change>> = Vec::with_capacity(entries.len());
        for entry in entries {
            decoded.push(encode::decode_changes(&entry.header)?);
        }
        let mut outcomes = Vec::with_capacity(entries.len());
        let mut touched = BTreeSet::new();
        let mut batch = Batch::new();
        {
            let mut cluster = self.cluster.lock();
            for changes in &decoded {
                let results: Vec<_> = changes.iter().map(|c| cluster.apply(c)).collect();
                outcomes.push(encode::encode_outcome(&results));
                touched.extend(results.into_iter().flatten().flatten());
            }
            for row in touched {
                put_row(&mut batch, &cluster, row);
            }
        }
        if let Some(last) = entries.last() {
            self.applied = LogPosition { term: last.term, index: last.index };
            let key = TRANSACTION_INFO_KEY.to_owned();
            TRANSACTION_INFO.put(&mut batch, &key, &PositionRow(self.applied));
        }
        self.store.write(batch, Durability::NoWal)?;
        Ok(outcomes)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        self.store.flush()?;
        Ok(self.applied)
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        snapshot::take(&self.store)
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        snapshot::restore(&self.store, source, at)?;
        let mut cluster = self.cluster.lock();
        cluster.forget_replicated();
        self.applied = load(&self.store, &mut cluster)?;
        Ok(())
    }

    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        tracing::info!(?leader, term, is_me, "SCM leadership");
        if !is_me {
            // Another leader reserves its own ids; what is left here must not be handed out beside it.
            self.cluster.lock().sequences.drop_ranges();
        }
    }
}

/// Adds the row of the store that belongs to `touched`, as the cluster has it now.
fn put_row(batch: &mut Batch, cluster: &Cluster, touched: Touched) {
    match touched {
        Touched::Container(id) => {
            if let Some(c) = cluster.containers.get(id) {
                CONTAINERS.put(batch, &ContainerKey(id), &ContainerRow(c.clone()));
            }
        }
        Touched::Pipeline(id) => match cluster.pipelines.get(id) {
            Some(e) => PIPELINES.put(batch, &PipelineKey(id), &PipelineRow((*e.record).clone())),
            None => PIPELINES.delete(batch, &PipelineKey(id)),
        },
        Touched::Deletion(id) => match cluster.deletions.get(id) {
            Some(t) => DELETED_BLOCKS.put(batch, &id, &DeletionRow(t.clone())),
            None => DELETED_BLOCKS.delete(batch, &id),
        },
        Touched::Sequence(sequence) => {
            let last = NumberRow(cluster.sequences.last(sequence));
            SEQUENCE_ID.put(batch, &sequence.name().to_owned(), &last);
        }
    }
}
