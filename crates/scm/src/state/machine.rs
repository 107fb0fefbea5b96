//! SCM's replicated state machine: committed changes, applied to the cluster in memory and to
//! `scm.db`.
//!
//! A round of entries becomes one write batch that includes the applied position, without RocksDB's
//! WAL: the Raft log replaces it, and is trimmed only up to the flushed position.
//!
//! Replay is idempotent by position: the store has its own position, Raft replays the entries after
//! it.
//!
//! Every change gets a result: one that this release does not support, or whose application panics,
//! changes nothing and is refused. The rules are pure, so every SCM refuses the same; an SCM that
//! stopped instead would stop at every start, and so would the others. See
//! docs/internals/log-entries.md.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use metastore::{Batch, Durability, Store};
use multiraft::{LogPosition, MachineError, NoRoom, SnapshotSource};
use parking_lot::Mutex;
use placement::{Applied, Change, Cluster, Refused, Touched};
use replicated::{Entry, Machine};
use uuid::Uuid;

use super::load::load;
use super::{encode, snapshot};
use crate::error::ScmError;
use crate::state::tables::{
    BALANCER_KEY, BalancerRow, CONTAINERS, ContainerKey, ContainerRow, DELETED_BLOCKS,
    DESTINATIONS, DESTINATIONS_KEY, DeletionRow, DestinationsRow, NumberRow, PIPELINES,
    PipelineKey, PipelineRow, PositionRow, SEQUENCE_ID, SERVICE_CONFIG, TRANSACTION_INFO,
    TRANSACTION_INFO_KEY,
};

/// The changes of an entry, as far as they decode.
type Decoded = Vec<Result<Change, Refused>>;

/// Results of an entry's changes: `None` for an applied change, else the reason of the refusal.
pub type Refusals = Vec<Option<Refused>>;

/// The state machine.
pub struct ScmMachine {
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) store: Store,
    applied: LogPosition,
    /// Function that applies a change; a test replaces it by a buggy one.
    pub(crate) rules: Rules,
}

/// Function that applies a change to a cluster.
pub(crate) type Rules = fn(&mut Cluster, &Change) -> Applied;

impl ScmMachine {
    /// The machine over a store whose rows are loaded into `cluster`; `applied` is the store's
    /// position.
    pub fn new(cluster: Arc<Mutex<Cluster>>, store: Store, applied: LogPosition) -> Self {
        Self { cluster, store, applied, rules: Cluster::apply }
    }
}

impl ScmMachine {
    /// Applies a round of changes to the cluster; returns the answers, and the rows that were
    /// changed.
    fn round(&self, decoded: &[Decoded]) -> Result<(Vec<Refusals>, Batch), MachineError> {
        let mut cluster = self.cluster.lock();
        let mut panicked = BTreeSet::new();
        loop {
            let place = match self.attempt(&mut cluster, decoded, &panicked) {
                Ok(done) => return Ok(done),
                Err(place) => place,
            };
            // The change may be half applied in memory. The store has the state before this round,
            // of which nothing is written yet: the round is applied again from there, without this
            // change.
            cluster.refused.count_panic();
            panicked.insert(place);
            cluster.forget_replicated();
            load(&self.store, &mut cluster)?;
        }
    }

    /// One attempt; when a change panics, which of them it was.
    fn attempt(
        &self,
        cluster: &mut Cluster,
        decoded: &[Decoded],
        panicked: &BTreeSet<(usize, usize)>,
    ) -> Result<(Vec<Refusals>, Batch), (usize, usize)> {
        let mut outcomes = Vec::with_capacity(decoded.len());
        let mut touched = BTreeSet::new();
        for (entry, changes) in decoded.iter().enumerate() {
            let mut results = Vec::with_capacity(changes.len());
            for (at, change) in changes.iter().enumerate() {
                results.push(match change {
                    Err(refused) => Err(refused.clone()),
                    Ok(_) if panicked.contains(&(entry, at)) => Err(Refused::Failed),
                    Ok(change) => {
                        let apply = AssertUnwindSafe(|| (self.rules)(cluster, change));
                        catch_unwind(apply).map_err(|_| {
                            tracing::error!(
                                ?change,
                                "change refused: a bug prevented its application"
                            );
                            (entry, at)
                        })?
                    }
                });
            }
            outcomes.push(results.iter().map(|result| result.as_ref().err().cloned()).collect());
            touched.extend(results.into_iter().flatten().flatten());
        }
        let mut batch = Batch::new();
        for row in touched {
            put_row(&mut batch, cluster, row);
        }
        Ok((outcomes, batch))
    }

    /// The machine over a store; the replicated part of `cluster` is read from it again. An
    /// interrupted restore is finished first: until then the rows are of two states.
    ///
    /// # Errors
    /// When the store cannot be read, or the restore fails again.
    pub fn reload(cluster: Arc<Mutex<Cluster>>, store: Store) -> Result<Self, ScmError> {
        snapshot::resume(&store).map_err(ScmError::Restore)?;
        let applied = {
            let mut cluster = cluster.lock();
            cluster.forget_replicated();
            load(&store, &mut cluster)?
        };
        Ok(Self::new(cluster, store, applied))
    }

    /// Returns `true` if the store accepts writes: checked before a machine replaces one that ran
    /// out of space.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_room(&self) -> Result<(), MachineError> {
        self.store.resume().map_err(told)
    }
}

impl Machine for ScmMachine {
    /// Changes that are made together; there must be one.
    type Command = Arc<[Change]>;
    type Context = ();
    type Response = Refusals;

    fn encode(command: &Arc<[Change]>) -> Bytes {
        encode::encode_changes(command)
    }

    fn applied(&self) -> LogPosition {
        self.applied
    }

    fn apply(&mut self, entries: Vec<Entry<Self>>) -> Result<Vec<Refusals>, MachineError> {
        // Decoded also where they were proposed: every SCM applies what is in the log.
        let decoded: Vec<_> = entries.iter().map(|e| encode::decode_changes(&e.command)).collect();
        for (entry, changes) in entries.iter().zip(&decoded) {
            for refused in changes.iter().filter_map(|change| change.as_ref().err()) {
                self.cluster.lock().refused.count_unknown();
                tracing::error!(
                    index = entry.at.index, term = entry.at.term, %refused,
                    "refusing a change that this release does not support; if another SCM applied it, this one's tables differ"
                );
            }
        }
        let (outcomes, mut batch) = self.round(&decoded)?;
        if let Some(last) = entries.last() {
            self.applied = last.at;
            let key = TRANSACTION_INFO_KEY.to_owned();
            TRANSACTION_INFO.put(&mut batch, &key, &PositionRow(self.applied));
        }
        self.store.write(batch, Durability::NoWal).map_err(told)?;
        Ok(outcomes)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        self.store.flush().map_err(told)?;
        Ok(self.applied)
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        snapshot::create(&self.store)
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        snapshot::restore(&self.store, source, at)?;
        *self = Self::reload(self.cluster.clone(), self.store.clone())?;
        Ok(())
    }

    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        tracing::info!(?leader, term, is_me, "SCM leadership");
        if !is_me {
            // Another leader reserves its own ids; the rest of these ranges must not be handed out
            // concurrently.
            self.cluster.lock().sequences.drop_ranges();
        }
    }
}

/// Converts an error of the store for Raft, which waits while a disk is full.
fn told(error: metastore::Error) -> MachineError {
    match error {
        metastore::Error::NoSpace { .. } => NoRoom(error.to_string()).into(),
        error => error.into(),
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
        Touched::Balancer => {
            if let Some(balancer) = &cluster.balancer {
                let row = BalancerRow(balancer.clone());
                SERVICE_CONFIG.put(batch, &BALANCER_KEY.to_owned(), &row);
            }
        }
        Touched::Destinations => {
            let row = DestinationsRow(cluster.destinations.clone());
            DESTINATIONS.put(batch, &DESTINATIONS_KEY.to_owned(), &row);
        }
        Touched::Sequence(sequence) => {
            let last = NumberRow(cluster.sequences.last(sequence));
            SEQUENCE_ID.put(batch, &sequence.name().to_owned(), &last);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
