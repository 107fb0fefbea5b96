//! One user's trash: deletes expired checkpoints, and makes new contents a checkpoint.

use std::ops::ControlFlow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use namespace::{Table, View, tables};
use proto::ozone::{
    DeleteKeyArgs, DeleteKeyRequest, DeleteKeysRequest, KeyArgs, OmRequest, RenameKeyRequest,
    RenameKeysArgs, RenameKeysMap, RenameKeysRequest, Status, Type,
};

use super::TrashOptions;
use super::checkpoint::{self, CURRENT};
use super::files::{TrashRoot, entries};
use crate::background::BackgroundError;
use crate::background::submit::submit_for_answer;
use crate::dispatch::Dispatcher;

/// Name in lists and metrics.
pub(super) const NAME: &str = "TrashEmptier";
/// Keys of a LEGACY bucket in one write: clients' writes may have to wait for it.
const PORTION: usize = 100;

/// Result of emptying a trash.
#[derive(Default)]
pub(super) struct Emptied {
    pub(super) made: u64,
    pub(super) deleted: u64,
    /// The first thing that went wrong.
    pub(super) failure: Option<BackgroundError>,
}

impl Emptied {
    /// Counts a result; returns `true` for success.
    fn note(&mut self, done: Result<(), BackgroundError>) -> bool {
        let went_well = done.is_ok();
        self.failure = self.failure.take().or(done.err());
        went_well
    }
}

pub(super) async fn empty(
    dispatcher: &Arc<Dispatcher>,
    root: &TrashRoot,
    options: &TrashOptions,
    now: DateTime<Utc>,
) -> Emptied {
    let mut emptied = Emptied::default();
    let found = match entries(dispatcher, &root.volume, &root.bucket, &root.path) {
        Ok(found) => found,
        Err(e) => return Emptied { failure: Some(e), ..emptied },
    };
    for entry in found.iter().filter(|entry| entry.name != CURRENT) {
        let made_at = checkpoint::made_at(&entry.name).filter(|_| entry.is_directory);
        let Some(made_at) = made_at else {
            tracing::warn!(trash = root.path, entry.name, "ignoring unexpected item in trash");
            continue;
        };
        let kept = now.signed_duration_since(made_at).to_std().unwrap_or_default();
        if kept > options.keep && emptied.note(delete(dispatcher, root, &entry.name).await) {
            emptied.deleted += 1;
        }
    }
    if found.iter().any(|entry| entry.name == CURRENT && entry.is_directory) {
        let taken = |name: &str| found.iter().any(|entry| entry.name == name);
        let made = match checkpoint::name(now, taken) {
            Some(name) => make(dispatcher, root, &name).await,
            None => Err(BackgroundError::TooManyCheckpoints { path: root.path.clone() }),
        };
        emptied.made += u64::from(emptied.note(made));
    }
    emptied
}

/// Makes a checkpoint of the current trash.
async fn make(
    dispatcher: &Arc<Dispatcher>,
    root: &TrashRoot,
    name: &str,
) -> Result<(), BackgroundError> {
    let (from, to) = (format!("{}/{CURRENT}", root.path), format!("{}/{name}", root.path));
    if root.is_tree {
        return submit(dispatcher, rename_key(root, from, to)).await;
    }
    let mut after = String::new();
    loop {
        let keys = keys_below(dispatcher, root, &from, &after)?;
        let Some(last) = keys.last() else { return Ok(()) };
        after.clone_from(last);
        let renamed = keys.into_iter().map(|from_key_name| RenameKeysMap {
            to_key_name: format!("{to}{}", &from_key_name[from.len()..]),
            from_key_name,
        });
        submit(dispatcher, rename_keys(root, renamed.collect())).await?;
    }
}

async fn delete(
    dispatcher: &Arc<Dispatcher>,
    root: &TrashRoot,
    name: &str,
) -> Result<(), BackgroundError> {
    let path = format!("{}/{name}", root.path);
    if root.is_tree {
        return submit(dispatcher, delete_key(root, path)).await;
    }
    let mut after = String::new();
    loop {
        let keys = keys_below(dispatcher, root, &path, &after)?;
        let Some(last) = keys.last() else { return Ok(()) };
        after.clone_from(last);
        submit(dispatcher, delete_keys(root, keys)).await?;
    }
}

/// A batch of the keys of a LEGACY bucket that are a directory or within it, those after `after`.
fn keys_below(
    dispatcher: &Dispatcher,
    root: &TrashRoot,
    directory: &str,
    after: &str,
) -> Result<Vec<String>, BackgroundError> {
    let tables = dispatcher.tables()?;
    let row = |key: &str| tables::object_key(&root.volume, &root.bucket, key);
    let (names_at, below, after) = (row("").len(), row(&format!("{directory}/")), row(after));
    let mut keys = Vec::new();
    let end = tables::prefix_end(&below);
    tables.scan(Table::KeyTable, after.as_slice().max(&below), end.as_deref(), &mut |row, _| {
        if row != after {
            keys.extend(std::str::from_utf8(&row[names_at..]).ok().map(str::to_owned));
        }
        match keys.len() < PORTION {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok(keys)
}

async fn submit(dispatcher: &Arc<Dispatcher>, request: OmRequest) -> Result<(), BackgroundError> {
    let request = OmRequest { client_id: NAME.to_owned(), ..request };
    let response = submit_for_answer(dispatcher, request).await?;
    match response.status() {
        // Keys that a client has removed in the meantime, or holds open, are left for the next run.
        Status::Ok
        | Status::KeyNotFound
        | Status::FileNotFound
        | Status::PartialRename
        | Status::PartialDelete => Ok(()),
        _ => Err(BackgroundError::refused(response)),
    }
}

fn key_args(root: &TrashRoot, key_name: String) -> KeyArgs {
    KeyArgs {
        volume_name: root.volume.clone(),
        bucket_name: root.bucket.clone(),
        key_name,
        ..KeyArgs::default()
    }
}

fn rename_key(root: &TrashRoot, from: String, to: String) -> OmRequest {
    OmRequest {
        cmd_type: Type::RenameKey as i32,
        rename_key_request: Some(Box::new(RenameKeyRequest {
            key_args: key_args(root, from),
            to_key_name: to,
        })),
        ..OmRequest::default()
    }
}

fn delete_key(root: &TrashRoot, path: String) -> OmRequest {
    OmRequest {
        cmd_type: Type::DeleteKey as i32,
        delete_key_request: Some(Box::new(DeleteKeyRequest {
            key_args: KeyArgs { recursive: Some(true), ..key_args(root, path) },
        })),
        ..OmRequest::default()
    }
}

fn rename_keys(root: &TrashRoot, rename_keys_map: Vec<RenameKeysMap>) -> OmRequest {
    OmRequest {
        cmd_type: Type::RenameKeys as i32,
        rename_keys_request: Some(Box::new(RenameKeysRequest {
            rename_keys_args: RenameKeysArgs {
                volume_name: root.volume.clone(),
                bucket_name: root.bucket.clone(),
                rename_keys_map,
                refused: Vec::new(),
            },
        })),
        ..OmRequest::default()
    }
}

fn delete_keys(root: &TrashRoot, keys: Vec<String>) -> OmRequest {
    OmRequest {
        cmd_type: Type::DeleteKeys as i32,
        delete_keys_request: Some(Box::new(DeleteKeysRequest {
            delete_keys: Some(DeleteKeyArgs {
                volume_name: root.volume.clone(),
                bucket_name: root.bucket.clone(),
                keys,
                refused: Vec::new(),
            }),
        })),
        ..OmRequest::default()
    }
}
