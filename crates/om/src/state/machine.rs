//! The state machine of Raft: committed entries become rows and responses.
//!
//! A round of entries is applied over an overlay, so that later ones see changes of earlier ones,
//! and written as one RocksDB batch together with the position of the last one. The batch does not
//! go through RocksDB's own log: the Raft log is the log, and it is trimmed only up to the position
//! that [`Machine::flush`] made durable.
//!
//! Every entry is answered: one that does not decode, whose command is unknown to this release, or
//! whose application panics ([`contain`](super::contain)) changes nothing, and its refusal is its
//! answer. An entry that stopped the machine would stop every OM, at every start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use metastore::{Batch, Durability};
use multiraft::{LogPosition, MachineError, NoRoom, SnapshotSource};
use namespace::tables::{TRANSACTION_INFO_KEY, transaction_info};
use namespace::{
    Overlay, PREPARED_INFO_KEY, RowChange, Table, TransactionPosition, View, ViewError,
    allowed_when_prepared, parse_prepared_info, prepared_refusal,
};
use prost::Message;
use proto::ozone::{DirectoryInfo, KeyLocation, OmRequest, OmResponse, Status, Type};
use replicated::{Entry, Machine};
use tokio::sync::{Notify, watch};

use super::panic_guard::{self, Outcome, Rules};
use super::parts::delete_parts;
use super::{CallKey, CurrentTables, Tables, feed, places};
use crate::error::Error;
use crate::scm::FreshBlock;
use crate::state::column_families::{RETRY_TABLE, stored};

/// Answers to calls that clients may retry.
const RETRIES: metastore::Table = metastore::Table::named(RETRY_TABLE);

/// Number of the field `leaderOMNodeId` of an answer. Fields of a message may be in any order, so
/// it is appended to an encoded answer.
const LEADER_FIELD: u32 = 6;

/// Number of the field `writtenAt` of an answer.
const WRITTEN_AT_FIELD: u32 = 20_006;

/// Response of the machine to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteAnswer {
    /// The encoded `OMResponse`; empty when this replica did not propose the write.
    pub(crate) response: Bytes,
    /// True for the earlier answer of a retried call. It lacks parts that were never in the log:
    /// the OM that answers adds them.
    pub(crate) repeated: bool,
    /// When it was applied, for measurements.
    pub(crate) round: Round,
}

impl WriteAnswer {
    fn new(response: Bytes, began: Instant) -> Self {
        Self { response, repeated: false, round: Round { began, ended: began } }
    }

    fn repeated(response: Bytes, began: Instant) -> Self {
        Self { repeated: true, ..Self::new(response, began) }
    }
}

/// When the round of entries that a write was in was applied here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

/// Times are no part of the answer, which is the same on every replica.
impl PartialEq for Round {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Round {}

/// Events of the machine for other parts of OM.
#[derive(Debug, Default)]
pub(crate) struct MachineEvents {
    /// Blocks were added to the deletedTable.
    pub(crate) deleted: Notify,
    /// Directories were added to the deletedDirectoryTable.
    pub(crate) deleted_directories: Notify,
    /// Snapshots were made or deleted.
    pub(crate) snapshots: Notify,
    /// Entries applied.
    pub(crate) entries: AtomicU64,
    /// Batches they were written in.
    pub(crate) rounds: AtomicU64,
    /// Flushes of the tables.
    pub(crate) flushes: AtomicU64,
    /// Entries whose application panicked.
    pub(crate) panics: AtomicU64,
    /// Entries that do not decode, or whose command is unknown to this release.
    pub(crate) unknown: AtomicU64,
    /// Entry after which writes are refused while OM is prepared for another version.
    pub(crate) prepared: watch::Sender<Option<u64>>,
}

/// Directory, below OM's, of checkpoints for lagging replicas.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// Removes the checkpoints that were being sent when the last run ended: the receiver asks for a
/// new one. Blocks on the disk.
///
/// # Errors
/// When they cannot be removed.
pub(crate) fn discard_sent(snapshots: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(snapshots) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(snapshots, error))
        }
        _ => Ok(()),
    }
}

/// The state machine over `om.db`.
pub(crate) struct OmStateMachine {
    current: Arc<CurrentTables>,
    events: Arc<MachineEvents>,
    /// Directory of checkpoints for lagging replicas.
    snapshots: PathBuf,
    /// The end of every answer to a write: which replica leads.
    signature: Vec<u8>,
    applied: LogPosition,
    /// As [`MachineEvents::prepared`], for the round that is being applied.
    prepared: Option<u64>,
    /// Applies a command; a test puts a bug in.
    pub(crate) rules: Rules,
}

impl OmStateMachine {
    /// The machine of an open database, at the position of its last batch.
    pub(crate) fn new(
        current: Arc<CurrentTables>,
        events: Arc<MachineEvents>,
        snapshots: PathBuf,
        node_id: String,
    ) -> Result<Self, Error> {
        let mut signature = Vec::new();
        prost::encoding::string::encode(LEADER_FIELD, &node_id, &mut signature);
        let applied = LogPosition::default();
        let prepared = None;
        let rules: Rules = namespace::apply;
        let mut machine = Self { current, events, snapshots, signature, applied, prepared, rules };
        machine.applied = machine.stored_position()?;
        machine.tables()?.retries().forget_round();
        machine.load_prepared()?;
        Ok(machine)
    }

    pub(crate) fn tables(&self) -> Result<Arc<Tables>, Error> {
        self.current.get().ok_or(Error::Closed)
    }

    fn stored_position(&self) -> Result<LogPosition, Error> {
        places::position(self.tables()?.store())
    }

    /// Reads the state of the preparation of OM.
    fn load_prepared(&mut self) -> Result<(), Error> {
        let row = self.tables()?.get(Table::MetaTable, PREPARED_INFO_KEY)?;
        self.prepared = row.and_then(|value| parse_prepared_info(&value));
        self.events.prepared.send_replace(self.prepared);
        Ok(())
    }

    fn apply_one(
        &mut self,
        entry: Entry<Self>,
        tables: &Tables,
        overlay: &mut Overlay<&Tables>,
        began: Instant,
    ) -> Result<WriteAnswer, Error> {
        let LogPosition { term, index } = entry.at;
        let (request, blocks, proposed_here) = match entry.own {
            Some((request, blocks)) => (request, blocks, true),
            None => match OmRequest::decode(entry.command) {
                Ok(request) => (request, Vec::new(), false),
                Err(e) => {
                    self.note_unknown(entry.at, &e);
                    return Ok(WriteAnswer::new(undecodable(&e), began));
                }
            },
        };
        let (client, number) = (&request.rpc_client_id, request.rpc_call_id);
        let call = CallKey::of(client.as_ref(), number);
        if let Some(call) = call
            && let Some(answer) = tables.retries().applied(call, index, tables.store())?
        {
            return Ok(WriteAnswer::repeated(self.signed(&answer, index), began));
        }
        if self.prepared.is_some() && !allowed_when_prepared(&request) {
            // It was in flight when OM was prepared. Not kept: a retry may be carried out.
            return Ok(WriteAnswer::new(
                self.signed(&refused_when_prepared(request), index),
                began,
            ));
        }
        let command = request.cmd_type;
        if Type::try_from(command).is_err() {
            self.note_unknown(entry.at, &format_args!("command {command}"));
        }
        let at = TransactionPosition { term, index };
        let mut response = match panic_guard::apply(self.rules, request, at, overlay)? {
            Outcome::Applied(applied) => {
                overlay.absorb(applied.effects);
                applied.response
            }
            Outcome::Panicked(response) => {
                self.events.panics.fetch_add(1, Ordering::Relaxed);
                response
            }
        };
        if response.success == Some(true) {
            if command == Type::Prepare as i32 {
                self.prepared = response.prepare_response.as_ref().map(|r| r.txn_id);
            } else if command == Type::CancelPrepare as i32 {
                self.prepared = None;
            }
        }
        let plain = Bytes::from(response.encode_to_vec());
        if let Some(call) = call {
            tables.retries().keep(call, index, &plain);
        }
        if !proposed_here {
            return Ok(WriteAnswer::new(Bytes::new(), began));
        }
        if blocks.is_empty() {
            return Ok(WriteAnswer::new(self.signed(&plain, index), began));
        }
        attach(&mut response, &blocks);
        Ok(WriteAnswer::new(self.signed(&response.encode_to_vec(), index), began))
    }

    /// An entry of a later release, or one that was never whole: the other members of this release
    /// take it the same way. See docs/internals/log-entries.md.
    fn note_unknown(&self, at: LogPosition, what: &dyn std::fmt::Display) {
        self.events.unknown.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            index = at.index, term = at.term, %what,
            "refusing unknown log entry; if another member applied it, the tables of this one differ"
        );
    }

    /// An encoded answer with this leader's name and its log position.
    fn signed(&self, answer: &[u8], index: u64) -> Bytes {
        let mut signed = Vec::with_capacity(answer.len() + self.signature.len() + 12);
        signed.extend_from_slice(answer);
        signed.extend_from_slice(&self.signature);
        prost::encoding::uint64::encode(WRITTEN_AT_FIELD, &index, &mut signed);
        Bytes::from(signed)
    }

    /// The batch for clients that keep a copy of the tables, if there are any. Answers to calls
    /// belong to this OM only.
    fn record(
        &self,
        tables: &Tables,
        batch: &Batch,
        at: LogPosition,
    ) -> Result<Option<feed::Round>, Error> {
        if !self.current.feed().is_wanted() {
            return Ok(None);
        }
        let (encoded, changes) = batch.encode(tables.store(), &[RETRIES])?;
        let (after, index) = (self.applied.index, at.index);
        Ok(Some(feed::Round { after, index, changes, batch: Bytes::from(encoded) }))
    }

    /// Checks that the tables take writes: for a machine that replaces one that had no room.
    ///
    /// # Errors
    /// When they do not.
    pub(crate) fn check_room(&self) -> Result<(), MachineError> {
        self.tables()?.store().resume().map_err(told)
    }

    fn write(
        &self,
        tables: &Tables,
        mut overlay: Overlay<&Tables>,
        at: LogPosition,
    ) -> Result<(), Error> {
        let mut batch = Batch::new();
        let mut buckets = Vec::new();
        let mut volumes = Vec::new();
        let mut snapshots = Vec::new();
        let mut directories = Vec::new();
        let mut parts = Vec::new();
        let (mut deleted, mut deleted_directories, mut moved) = (false, false, false);
        for (table, key, change) in overlay.drain_changes() {
            if table == Table::BucketTable {
                buckets.push((key.clone(), change.clone()));
            }
            if table == Table::VolumeTable {
                volumes.push(key.clone());
            }
            if table == Table::SnapshotTable {
                snapshots.push((key.clone(), change.clone()));
            }
            if table == Table::DirectoryTable {
                moved |= matches!(change, RowChange::Deleted);
                directories.push((key.clone(), directory(&key, &change)?));
            }
            match change {
                RowChange::Put(value) => {
                    deleted |= table == Table::DeletedTable;
                    deleted_directories |= table == Table::DeletedDirectoryTable;
                    batch.put(stored(table), key, Vec::from(value));
                }
                RowChange::PutBucket(bucket) => {
                    batch.put(stored(table), key, Vec::from(bucket.encode()));
                }
                RowChange::Deleted => match table {
                    Table::MultipartPartsTable => parts.push(key),
                    _ => batch.delete(stored(table), key),
                },
            }
        }
        delete_parts(tables, parts, &mut batch)?;
        batch.put(
            stored(Table::TransactionInfoTable),
            TRANSACTION_INFO_KEY,
            transaction_info(at.term, at.index),
        );
        tables.retries().write(&mut batch, at.index);
        let recorded = self.record(tables, &batch, at)?;
        let move_guard = moved.then(|| tables.directory_epoch().begin_move());
        tables.store().write(batch, Durability::NoWal)?;
        if let Some(round) = recorded {
            self.current.feed().push(round);
        }
        tables.directories().changed(directories);
        drop(move_guard);
        tables.retries().written(at.index);
        tables.round_written(buckets, &volumes);
        let changed = !snapshots.is_empty();
        tables.snapshots_written(snapshots);
        if changed {
            self.events.snapshots.notify_one();
        }
        if deleted_directories {
            self.events.deleted_directories.notify_one();
        }
        if deleted {
            self.events.deleted.notify_one();
        }
        Ok(())
    }
}

impl Machine for OmStateMachine {
    /// A request as the rules have prepared it.
    type Command = OmRequest;
    /// The blocks that it was given: their pipelines go into the answer, not into the log.
    type Context = Vec<FreshBlock>;
    type Response = WriteAnswer;

    fn encode(command: &OmRequest) -> Bytes {
        Bytes::from(command.encode_to_vec())
    }

    fn applied(&self) -> LogPosition {
        self.applied
    }

    fn apply(&mut self, entries: Vec<Entry<Self>>) -> Result<Vec<WriteAnswer>, MachineError> {
        let Some(at) = entries.last().map(|last| last.at) else { return Ok(Vec::new()) };
        let began = Instant::now();
        let tables = self.tables()?;
        let mut overlay = Overlay::new(&*tables);
        let mut answers = Vec::with_capacity(entries.len());
        for entry in entries {
            answers.push(self.apply_one(entry, &tables, &mut overlay, began)?);
        }
        self.write(&tables, overlay, at).map_err(told)?;
        let ended = Instant::now();
        answers.iter_mut().for_each(|answer| answer.round.ended = ended);
        self.applied = at;
        let now = self.prepared;
        self.events.prepared.send_if_modified(|known| std::mem::replace(known, now) != now);
        self.events.entries.fetch_add(answers.len() as u64, Ordering::Relaxed);
        self.events.rounds.fetch_add(1, Ordering::Relaxed);
        Ok(answers)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        self.tables()?.store().flush().map_err(told)?;
        self.events.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(self.applied)
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        let tables = self.tables()?;
        let fail = |e| Error::io(&self.snapshots, e);
        std::fs::create_dir_all(&self.snapshots).map_err(fail).map_err(told)?;
        let path = self.snapshots.join(format!("{}-{}", self.applied.term, self.applied.index));
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(fail)?;
        }
        tables.store().checkpoint(&path).map_err(told)?;
        Ok(SnapshotSource::Dir(path))
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        let SnapshotSource::Dir(path) = source else {
            return Err(Box::new(Error::SnapshotKind));
        };
        if at < self.applied {
            return Err(Box::new(Error::OldSnapshot { at, here: self.applied }));
        }
        self.current.replace(&path, at).map_err(told)?;
        self.applied = at;
        self.load_prepared()?;
        Ok(())
    }
}

/// An error as Raft takes it: a full disk is waited for.
fn told(error: impl Into<Error>) -> MachineError {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let error: Error = error.into();
    let full = match &error {
        Error::Store(error) => matches!(error, metastore::Error::NoSpace { .. }),
        Error::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded),
        _ => false,
    };
    if full { NoRoom(error.to_string()).into() } else { error.into() }
}

/// The directory of a changed row; `None` if it was removed.
fn directory(row: &[u8], change: &RowChange) -> Result<Option<DirectoryInfo>, ViewError> {
    let Some(value) = change.value() else { return Ok(None) };
    DirectoryInfo::decode(value).map(Some).map_err(|e| ViewError::Damaged {
        table: Table::DirectoryTable,
        key: String::from_utf8_lossy(row).into_owned(),
        cause: e.to_string(),
    })
}

/// Puts the pipelines of fresh blocks into the answer that hands them out.
fn attach(response: &mut OmResponse, blocks: &[FreshBlock]) {
    if blocks.is_empty() {
        return;
    }
    namespace::for_each_location(response, &mut |location: &mut KeyLocation| {
        let id = &location.block_id.container_block_id;
        if let Some(block) = blocks.iter().find(|b| b.id == *id) {
            location.pipeline = Some(Box::new((*block.pipeline).clone()));
        }
    });
}

/// The answer to a write while OM is prepared for another version.
fn refused_when_prepared(request: OmRequest) -> Vec<u8> {
    let message = Some(prepared_refusal(&request));
    let response = OmResponse {
        cmd_type: request.cmd_type,
        trace_id: request.trace_id,
        success: Some(false),
        status: Status::NotSupportedOperationWhenPrepared as i32,
        message,
        ..OmResponse::default()
    };
    response.encode_to_vec()
}

fn undecodable(e: &prost::DecodeError) -> Bytes {
    let response = OmResponse {
        success: Some(false),
        status: Status::InternalError as i32,
        message: Some(format!("log entry does not decode: {e}")),
        ..OmResponse::default()
    };
    Bytes::from(response.encode_to_vec())
}
