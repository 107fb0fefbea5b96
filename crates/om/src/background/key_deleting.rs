//! The first stage of freeing space: deletedTable to SCM.
//!
//! SCM adds the blocks of many keys at once to its deletion log; only then are the rows purged. A
//! crash in between sends the blocks twice, which does SCM no harm. Rows that SCM refused stay and
//! are retried after the rows that follow them. Rows that do not decode stay, too: they are
//! counted, and the rows after them are processed.
//!
//! A row stays for at least `trioxide.om.deleted.blocks.kept`: that long a reader that looked the
//! key up before can read it to its end. A row's age is that of the newest entry of the log among
//! its versions, since this OM recorded it as applied, by this machine's clock. Changes of the
//! leader, and clocks that are set, only make that longer.
//!
//! The service scans the table in rounds and stores the last row of each run: purged rows lie
//! before it, as tombstones, and the next run does not step through them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use namespace::{Purged, Table, View, replicated_size};
use parking_lot::Mutex;
use prost::Message;
use proto::block_location::{KeyBlocks, delete_scm_block_result};
use proto::ozone::{DeletedKeys, KeyInfo, OmRequest, PurgeKeysRequest, RepeatedKeyInfo, Type};
use rustc_hash::FxHashMap;
use service::{Bounds, Hours, Portion, Progress};

use super::names::bucket_of;
use super::submit::{make_way, submit_portion};
use super::while_leading::LeaderWork;
use super::{BackgroundError, DeletedRows, DeletingOptions, LONG, SHORT};
use crate::dispatch::Dispatcher;

/// Name in lists and metrics, Ozone's.
pub(crate) const NAME: &str = "KeyDeletingService";
/// Blocks in one call to SCM: bounds the message.
const BLOCKS_PER_CALL: usize = 10_000;
/// The same during requests of clients, which may wait for the processor meanwhile. Each call has
/// SCM and the DataNodes do something at once, whatever its size: many small calls hold up more
/// requests than few large ones.
const BLOCKS_BESIDE_CLIENTS: usize = 4_000;
/// Factor of the pause that OM's own share of the time requires: SCM and DataNodes have work of
/// each row, too. Even so, rows reach three DataNodes faster than these free space during requests
/// of clients (docs/benchmarks.md).
const RESTS: u32 = 4;
/// Blocks whose rows are read without a pause during requests of clients.
const BLOCKS_PER_PART: usize = 50;
/// Rows in one purge: the most bound the log entry.
const PURGE: Bounds = Bounds { least: 50, first: 500, most: 2_000, short: SHORT, long: LONG };

/// A round that left rows because of their age is followed by the next one after this part of the
/// time for which rows are kept: each row is checked a few times only.
const ROUNDS_WHILE_KEPT: u32 = 4;

/// A row of the deletedTable.
struct Row {
    key: String,
    blocks: KeyBlocks,
    frees: Purged,
}

/// A row that may be purged.
struct Taken {
    key: String,
    frees: Purged,
}

/// Rows of the deletedTable, in its order.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// Blocks of them.
    blocks: usize,
    /// True if more rows follow.
    more: bool,
    /// Rows between them that do not decode.
    skipped: u64,
    /// Rows between them that are too young.
    young: u64,
    /// The last checked row.
    last: Option<String>,
}

impl Rows {
    /// Checked rows, each with its blocks.
    fn work(&self) -> usize {
        self.blocks.saturating_add(usize::try_from(self.young).unwrap_or(usize::MAX))
    }
}

/// Hands deleted keys over to SCM and purges them.
pub(crate) struct KeyDeletingService {
    dispatcher: Arc<Dispatcher>,
    options: DeletingOptions,
    /// Minimum age of rows whose blocks are deleted.
    keep: Duration,
    deleted_rows: DeletedRows,
    round: Mutex<Round>,
    purge: Portion,
}

/// A round through the table.
#[derive(Debug, Default, Clone)]
struct Round {
    /// The last row that the round has seen; none at its start.
    last: Option<String>,
    /// Rows that were purged in it.
    purged: u64,
    /// Rows that were left in it because they were too young.
    young: u64,
    /// When it may begin.
    not_before: Option<Instant>,
}

impl KeyDeletingService {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        options: DeletingOptions,
        deleted_rows: DeletedRows,
    ) -> Arc<Self> {
        let keep = dispatcher.parts().keep_deleted;
        let (round, purge) = (Mutex::default(), Portion::new(PURGE));
        Arc::new(Self { dispatcher, options, keep, deleted_rows, round, purge })
    }

    /// The newest entry of the log whose rows are old enough.
    fn due(&self) -> Due {
        match self.keep.is_zero() {
            true => Due::All,
            false => Due::UpTo(self.dispatcher.parts().deletion_ages.as_old_as(self.keep)),
        }
    }

    fn makes_way(&self) -> bool {
        self.dispatcher.parts().admission.makes_way(Instant::now(), Hours::now())
    }

    /// Approximate number of blocks in one call of SCM.
    fn blocks_per_call(&self) -> usize {
        match self.makes_way() {
            true => BLOCKS_BESIDE_CLIENTS,
            false => BLOCKS_PER_CALL,
        }
    }

    /// The rows after `last` for the next call of SCM. They are read in parts, with a pause after
    /// each, while clients wait for the processor.
    async fn rows(&self, last: Option<&str>) -> Result<Rows, BackgroundError> {
        let admission = &self.dispatcher.parts().admission;
        let (most, due) = (self.blocks_per_call(), self.due());
        let last = last.map(str::to_owned);
        let mut found = Rows { more: true, last, ..Rows::default() };
        while found.more && found.work() < most && found.rows.len() < self.options.limit {
            let part = if self.makes_way() { BLOCKS_PER_PART } else { most };
            let work = admission.begin_own();
            self.read(due, most.min(found.work() + part), &mut found)?;
            make_way(&self.dispatcher, &work, RESTS).await;
        }
        Ok(found)
    }

    /// Reads rows after the last one up to an amount of work.
    fn read(&self, due: Due, work: usize, found: &mut Rows) -> Result<(), BackgroundError> {
        let tables = self.dispatcher.tables()?;
        let behind = |last: &String| [last.as_bytes(), b"\0"].concat();
        let start = found.last.as_ref().map_or_else(Vec::new, behind);
        found.more = false;
        tables.scan(Table::DeletedTable, &start, None, &mut |key, value| {
            if found.rows.len() >= self.options.limit || found.work() >= work {
                found.more = true;
                return ControlFlow::Break(());
            }
            if let Ok(key) = std::str::from_utf8(key) {
                found.last = Some(key.to_owned());
            }
            match row(key, value, due) {
                Ok(Some(row)) => {
                    found.blocks += row.blocks.blocks.len();
                    found.rows.push(row);
                }
                Ok(None) => found.young += 1,
                Err(reason) => {
                    tracing::warn!(%reason, "skipping damaged row of the deletedTable");
                    found.skipped += 1;
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Hands rows over to SCM; returns those it accepted.
    async fn hand_over(&self, rows: Vec<Row>) -> Result<Vec<Taken>, BackgroundError> {
        let (mut taken, mut calls, mut asked) = (Vec::new(), Vec::new(), FxHashMap::default());
        for Row { key, blocks, frees } in rows {
            match blocks.blocks.is_empty() {
                true => taken.push(Taken { key, frees }),
                false => {
                    asked.insert(key, frees);
                    calls.push(blocks);
                }
            }
        }
        if calls.is_empty() {
            return Ok(taken);
        }
        let results = self.dispatcher.parts().scm.delete_blocks(calls).await?;
        let success = delete_scm_block_result::Result::Success as i32;
        for key in results {
            if !key.block_results.iter().all(|b| b.result == success) {
                tracing::warn!(key = key.object_key, "SCM did not accept all blocks for deletion");
            } else if let Some(frees) = asked.remove(&key.object_key) {
                taken.push(Taken { key: key.object_key, frees });
            }
        }
        Ok(taken)
    }

    async fn purge(&self, rows: Vec<Taken>) -> Result<(), BackgroundError> {
        let mut by_bucket: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        let (count, mut frees) = (rows.len(), Purged::default());
        for row in rows {
            let bucket = bucket_of(&row.key).ok_or_else(|| no_bucket(row.key.as_bytes()))?;
            let bucket = (bucket.0.to_owned(), bucket.1.to_owned());
            by_bucket.entry(bucket).or_default().push(row.key);
            frees.extend(row.frees);
        }
        let deleted_keys = by_bucket
            .into_iter()
            .map(|((volume_name, bucket_name), keys)| DeletedKeys {
                volume_name,
                bucket_name,
                keys,
            })
            .collect();
        let request = OmRequest {
            cmd_type: Type::PurgeKeys as i32,
            client_id: NAME.to_owned(),
            purge_keys_request: Some(Box::new(PurgeKeysRequest {
                deleted_keys,
                bucket_purge_keys_size: frees.into_sizes(),
                ..PurgeKeysRequest::default()
            })),
            ..OmRequest::default()
        };
        submit_portion(&self.dispatcher, request, &self.purge, count, RESTS).await
    }

    async fn delete(&self) -> Result<Progress, BackgroundError> {
        let parts = self.dispatcher.parts();
        parts.deletion_ages.note(parts.group.applied());
        if self.round.lock().not_before.is_some_and(|at| Instant::now() < at) {
            return Ok(Progress::idle());
        }
        // Taken, so that a failed run makes the next one start from the beginning.
        let mut round = std::mem::take(&mut *self.round.lock());
        let began_within = round.last.is_some();
        let _deleted_rows = self.deleted_rows.lock().await;
        let Rows { rows, more, skipped, young, last, .. } =
            self.rows(round.last.as_deref()).await?;
        // Clients wait for the processor meanwhile, at SCM as well.
        let work = parts.admission.begin_own();
        let mut left = self.hand_over(rows).await?;
        make_way(&self.dispatcher, &work, RESTS).await;
        let items = left.len() as u64;
        while !left.is_empty() {
            let rest = left.split_off(self.purge.size().min(left.len()));
            self.purge(std::mem::replace(&mut left, rest)).await?;
        }
        round.purged = round.purged.saturating_add(items);
        round.young = round.young.saturating_add(young);
        // Rows may have been added before the start of this run. Rows that SCM refused alone wait
        // for the interval.
        let again = !more && began_within && round.purged > 0 && round.young == 0;
        if more {
            *self.round.lock() = Round { last, ..round };
        } else if round.young > 0 {
            let not_before = Instant::now().checked_add(self.keep / ROUNDS_WHILE_KEPT);
            *self.round.lock() = Round { not_before, ..Round::default() };
        }
        let progress = Progress { items, more: more || again, ..Progress::idle() };
        Ok(progress.and_skipped(skipped))
    }
}

#[async_trait::async_trait]
impl LeaderWork for KeyDeletingService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run(&self) -> Result<Progress, BackgroundError> {
        self.delete().await
    }
}

fn no_bucket(row: &[u8]) -> BackgroundError {
    BackgroundError::row(Table::DeletedTable, row, "it is of no bucket")
}

/// Rows that are old enough.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// All of them.
    All,
    /// Those whose versions were deleted by this entry of the log or earlier ones; none are.
    UpTo(Option<u64>),
}

impl Due {
    fn has(self, deleted: &RepeatedKeyInfo) -> bool {
        let Self::UpTo(last) = self else { return true };
        let newest = deleted.key_info.iter().filter_map(|version| version.update_id).max();
        newest.is_none_or(|newest| last.is_some_and(|last| newest <= last))
    }
}

/// A row with its blocks; `None` when it is too young.
fn row(key: &[u8], value: &[u8], due: Due) -> Result<Option<Row>, BackgroundError> {
    let damaged =
        |reason: &dyn std::fmt::Display| BackgroundError::row(Table::DeletedTable, key, reason);
    let deleted = RepeatedKeyInfo::decode(value).map_err(|e| damaged(&e))?;
    if !due.has(&deleted) {
        return Ok(None);
    }
    let key = String::from_utf8(key.to_vec()).map_err(|e| damaged(&e))?;
    if bucket_of(&key).is_none() {
        return Err(no_bucket(key.as_bytes()));
    }
    let mut frees = Purged::default();
    frees.add(&deleted);
    let mut blocks = KeyBlocks { key: key.clone(), ..KeyBlocks::default() };
    for info in &deleted.key_info {
        for location in info.key_location_list.iter().flat_map(|v| &v.key_locations) {
            let length = location.length;
            let replicated = replicated_length(info, length);
            let replicas = (replicated.checked_div(length).unwrap_or(1)).max(1);
            blocks.blocks.push(location.block_id);
            blocks.size.push(length);
            blocks.replicated_size.push(replicated);
            blocks.size_per_replica.push(replicated / replicas);
        }
    }
    Ok(Some(Row { key, blocks, frees }))
}

/// Bytes that `length` bytes of the key take with all replicas.
fn replicated_length(info: &KeyInfo, length: u64) -> u64 {
    replicated_size(&KeyInfo {
        data_size: length,
        r#type: info.r#type,
        factor: info.factor,
        ec_replication_config: info.ec_replication_config.clone(),
        ..KeyInfo::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_old_as_its_newest_version() {
        let version = |update_id| KeyInfo { update_id, ..KeyInfo::default() };
        let of = |ids: &[Option<u64>]| RepeatedKeyInfo {
            key_info: ids.iter().map(|id| version(*id)).collect(),
            bucket_id: None,
        };
        let row = of(&[Some(3), Some(7), None]);
        assert!(Due::All.has(&row));
        let due = [None, Some(3), Some(6), Some(7), Some(8)].map(|last| Due::UpTo(last).has(&row));
        assert_eq!(due, [false, false, false, true, true]);
        assert!(Due::UpTo(None).has(&of(&[None])), "the time is unknown");
    }
}
