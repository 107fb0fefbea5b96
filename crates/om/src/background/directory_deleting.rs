//! Takes deleted directories apart: files move to the deletedTable, directories to the
//! deletedDirectoryTable, and an empty directory is removed permanently.
//!
//! The work is done in small batches, each a write like any other, so that clients' writes run
//! between them. The service scans the deletedDirectoryTable in rounds and a directory row by row,
//! and stores its position: rows that it has passed are not read again, though they remain in the
//! store as tombstones for a while. Rows that do not decode are counted and stay, as does a
//! directory with such a row in it; the service continues after them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use namespace::{Table, View, tables};
use parking_lot::Mutex;
use prost::Message;
use proto::ozone::{
    BucketNameInfo, DirectoryInfo, KeyInfo, OmRequest, PurgeDirectoriesRequest, PurgePathRequest,
    Type,
};
use service::{Bounds, Portion, Progress};

use super::submit::submit_portion;
use super::while_leading::LeaderWork;
use super::{BackgroundError, DeletingOptions, LONG, SHORT};
use crate::dispatch::Dispatcher;
use crate::state::Tables;

/// Name in lists and metrics, Ozone's.
pub(crate) const NAME: &str = "DirectoryDeletingService";
/// Files and directories in one batch; clients' writes may have to wait for it.
const PORTION: Bounds = Bounds { least: 20, first: 100, most: 1_000, short: SHORT, long: LONG };

/// Bytes of names after which a batch ends.
const PORTION_NAME_BYTES: usize = 1 << 20;

/// Takes deleted directories apart.
pub(crate) struct DirectoryDeletingService {
    dispatcher: Arc<Dispatcher>,
    options: DeletingOptions,
    at: Mutex<Position>,
    portion: Portion,
}

/// Position of the service.
#[derive(Debug, Default, Clone)]
struct Position {
    /// Row of the deletedDirectoryTable to continue from.
    row: Vec<u8>,
    /// Rows to continue from within that directory, after a part of it is done.
    cursor: Option<Cursor>,
    /// True if this round through the table has found work.
    found: bool,
    /// Rows of this round that do not decode.
    skipped: u64,
}

/// Position within a directory.
#[derive(Debug, Default, Clone)]
struct Cursor {
    /// In the directoryTable; empty at the start.
    directories: Vec<u8>,
    /// In the fileTable; empty at the start.
    files: Vec<u8>,
    /// Passed rows that do not decode: the directory is not empty after all others were removed.
    skipped: u64,
}

/// A row of the deletedDirectoryTable.
struct Deleted {
    row: String,
    volume_id: u64,
    bucket_id: u64,
    info: KeyInfo,
}

/// Contents of one write.
#[derive(Default)]
struct Purge {
    /// Files and directories that it takes at most.
    most: usize,
    paths: Vec<PurgePathRequest>,
    buckets: Vec<BucketNameInfo>,
    items: usize,
    /// Bytes of their names.
    name_bytes: usize,
    /// Rows that it met that do not decode.
    skipped: u64,
}

impl DirectoryDeletingService {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, options: DeletingOptions) -> Arc<Self> {
        let (at, portion) = (Mutex::default(), Portion::new(PORTION));
        Arc::new(Self { dispatcher, options, at, portion })
    }

    /// The next batch, and `true` if the table has ended. `at` becomes the start of the batch after
    /// it.
    fn gather(&self, at: &mut Position) -> Result<(Purge, bool), BackgroundError> {
        let tables = self.dispatcher.tables()?;
        let mut purge = Purge { most: self.portion.size(), ..Purge::default() };
        while purge.items < purge.most && purge.name_bytes < PORTION_NAME_BYTES {
            let deleted = match next_deleted(&tables, &at.row)? {
                Next::End => return Ok((purge, true)),
                Next::Damaged { row, reason } => {
                    tracing::warn!(%reason, "skipping damaged row of the deletedDirectoryTable");
                    purge.skipped += 1;
                    at.cursor = None;
                    at.row = [&row, b"\0".as_slice()].concat();
                    continue;
                }
                Next::Row(deleted) => deleted,
            };
            // The row differs from the stored one.
            let cursor = at.cursor.take().filter(|_| deleted.row.as_bytes() == at.row);
            let rest = purge.add(&tables, &deleted, cursor.unwrap_or_default())?;
            at.row = deleted.row.into_bytes();
            match rest {
                Some(cursor) => at.cursor = Some(cursor),
                // Directly after the row.
                None => at.row.push(0),
            }
        }
        Ok((purge, false))
    }

    async fn purge(&self, purge: Purge) -> Result<(), BackgroundError> {
        let request = OmRequest {
            cmd_type: Type::PurgeDirectories as i32,
            client_id: NAME.to_owned(),
            purge_directories_request: Some(Box::new(PurgeDirectoriesRequest {
                deleted_path: purge.paths,
                bucket_name_infos: purge.buckets,
                ..PurgeDirectoriesRequest::default()
            })),
            ..OmRequest::default()
        };
        submit_portion(&self.dispatcher, request, &self.portion, purge.items, 1).await
    }

    async fn take_apart(&self) -> Result<Progress, BackgroundError> {
        // Taken, so that a failed run makes the next one start from the beginning.
        let mut at = std::mem::take(&mut *self.at.lock());
        let mut items = 0;
        while items < self.options.limit {
            let (purge, ended) = self.gather(&mut at)?;
            items += purge.items;
            at.found |= purge.items > 0;
            at.skipped += purge.skipped;
            if purge.items > 0 {
                self.purge(purge).await?;
            }
            match (ended, at.found) {
                (false, _) => {}
                // The writes may have added rows before the position of the scan.
                (true, true) => at = Position::default(),
                (true, false) => return Ok(Progress::done(items as u64).and_skipped(at.skipped)),
            }
        }
        *self.at.lock() = at;
        Ok(Progress::more(items as u64))
    }
}

impl Purge {
    /// Adds a directory, or a part of it if there is no more room; then, the position to continue
    /// from.
    fn add(
        &mut self,
        tables: &Tables,
        deleted: &Deleted,
        cursor: Cursor,
    ) -> Result<Option<Cursor>, BackgroundError> {
        let prefix = tables::tree_prefix(deleted.volume_id, deleted.bucket_id);
        let first = tables::path_key(&prefix, deleted.info.object_id.unwrap_or_default(), "");
        let mut path = PurgePathRequest {
            volume_id: deleted.volume_id,
            bucket_id: deleted.bucket_id,
            ..PurgePathRequest::default()
        };
        let most = self.most.saturating_sub(self.items).max(1);
        let (table, start) = (Table::DirectoryTable, from(&cursor.directories, &first));
        let directories = children(tables, table, &first, start, most, |value| {
            let info = DirectoryInfo::decode(value)?;
            Ok(deleted.child(&info.name, info.object_id, false))
        })?;
        path.mark_deleted_sub_dirs = directories.found;
        let mut skipped = cursor.skipped + directories.skipped;
        let mut rest =
            directories.next.map(|directories| Cursor { directories, files: Vec::new(), skipped });
        if rest.is_none() {
            let most = most.saturating_sub(path.mark_deleted_sub_dirs.len()).max(1);
            let (table, start) = (Table::FileTable, from(&cursor.files, &first));
            let files = children(tables, table, &first, start, most, |value| {
                let info = KeyInfo::decode(value)?;
                Ok(deleted.child(&info.key_name, info.object_id.unwrap_or_default(), true))
            })?;
            path.deleted_sub_files = files.found;
            skipped += files.skipped;
            rest = files.next.map(|files| Cursor {
                // All of them are passed.
                directories: tables::prefix_end(&first).unwrap_or_default(),
                files,
                skipped,
            });
        }
        let items = path.mark_deleted_sub_dirs.iter().chain(&path.deleted_sub_files);
        for item in items {
            self.items += 1;
            self.name_bytes = self.name_bytes.saturating_add(item.key_name.len());
        }
        match (&rest, skipped) {
            (Some(_), _) => {}
            (None, 0) => {
                path.deleted_dir = Some(deleted.row.clone());
                self.items += 1;
            }
            (None, skipped) => self.skipped += skipped,
        }
        let named = |names: &BucketNameInfo| names.bucket_id == Some(deleted.bucket_id);
        if !self.buckets.iter().any(named) {
            self.buckets.push(BucketNameInfo {
                volume_id: Some(deleted.volume_id),
                bucket_id: Some(deleted.bucket_id),
                volume_name: Some(deleted.info.volume_name.clone()),
                bucket_name: Some(deleted.info.bucket_name.clone()),
            });
        }
        self.paths.push(path);
        Ok(rest)
    }
}

impl Deleted {
    /// The parts of a child that the write needs.
    fn child(&self, name: &str, object_id: u64, is_file: bool) -> KeyInfo {
        KeyInfo {
            volume_name: self.info.volume_name.clone(),
            bucket_name: self.info.bucket_name.clone(),
            key_name: namespace::name_in_deleted(&self.info.key_name, name),
            parent_id: self.info.object_id,
            object_id: Some(object_id),
            is_file: Some(is_file),
            ..KeyInfo::default()
        }
    }
}

fn from<'a>(reached: &'a [u8], first: &'a [u8]) -> &'a [u8] {
    if reached.is_empty() { first } else { reached }
}

/// Contents of the deletedDirectoryTable.
enum Next {
    Row(Deleted),
    /// A row that does not decode.
    Damaged {
        row: Vec<u8>,
        reason: BackgroundError,
    },
    End,
}

/// The first row of the deletedDirectoryTable from `start` on.
fn next_deleted(tables: &Tables, start: &[u8]) -> Result<Next, BackgroundError> {
    let mut found = Next::End;
    tables.scan(Table::DeletedDirectoryTable, start, None, &mut |key, value| {
        found = match deleted(key, value) {
            Ok(deleted) => Next::Row(deleted),
            Err(reason) => Next::Damaged { row: key.to_vec(), reason },
        };
        ControlFlow::Break(())
    })?;
    Ok(found)
}

fn deleted(key: &[u8], value: &[u8]) -> Result<Deleted, BackgroundError> {
    let damaged = |reason: &dyn std::fmt::Display| {
        BackgroundError::row(Table::DeletedDirectoryTable, key, reason)
    };
    let row = String::from_utf8(key.to_vec()).map_err(|e| damaged(&e))?;
    let info = KeyInfo::decode(value).map_err(|e| damaged(&e))?;
    let mut ids = row.split('/').skip(1).map(|id| id.parse::<i64>().ok().map(|id| id as u64));
    match (ids.next().flatten(), ids.next().flatten()) {
        (Some(volume_id), Some(bucket_id)) => Ok(Deleted { volume_id, bucket_id, info, row }),
        _ => Err(damaged(&"it is of no bucket")),
    }
}

/// Some children of a directory.
struct Children {
    found: Vec<KeyInfo>,
    /// The row to continue from, if there are more.
    next: Option<Vec<u8>>,
    /// Rows that do not decode.
    skipped: u64,
}

fn children(
    tables: &Tables,
    table: Table,
    first: &[u8],
    start: &[u8],
    most: usize,
    child: impl Fn(&[u8]) -> Result<KeyInfo, prost::DecodeError>,
) -> Result<Children, BackgroundError> {
    let mut found: Vec<KeyInfo> = Vec::new();
    let mut name_bytes = 0_usize;
    let (mut next, mut skipped) = (None, 0);
    tables.scan(table, start, tables::prefix_end(first).as_deref(), &mut |key, value| {
        if found.len() == most || name_bytes >= PORTION_NAME_BYTES {
            next = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        match child(value) {
            Ok(child) => {
                name_bytes = name_bytes.saturating_add(child.key_name.len());
                found.push(child);
            }
            Err(e) => {
                let row = String::from_utf8_lossy(key);
                tracing::warn!("skipping damaged row of a deleted directory: row {row}: {e}");
                skipped += 1;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(Children { found, next, skipped })
}

#[async_trait::async_trait]
impl LeaderWork for DirectoryDeletingService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run(&self) -> Result<Progress, BackgroundError> {
        self.take_apart().await
    }
}
