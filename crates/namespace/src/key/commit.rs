//! CommitKey: the written data becomes the key, at once and as a whole.

use std::collections::HashSet;

use proto::ozone::{
    CommitKeyRequest, CommitKeyResponse, KeyArgs, KeyInfo, KeyLocation, KeyLocationList,
    OmResponse, Type,
};

use super::lease;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::key_row::{KeyRow, atomic, garbage, hsync, resolve_names};
use crate::state::layers;
use crate::state::locations::{self, block_id};
use crate::state::metadata::{self, HSYNC_CLIENT_ID, LEASE_RECOVERY};
use crate::state::row::Bucket;
use crate::state::usage;
use crate::tables;

pub(crate) struct CommitKey;

impl Command for CommitKey {
    const TYPE: Type = Type::CommitKey;
    const AUDIT: &'static str = "COMMIT_KEY";
    const RIGHTS: Rights<CommitKeyRequest> = Rights::Required(|request, guard| {
        guard.require_session(&request.key_args, request.client_id)
    });
    request_part!(commit_key_request: CommitKeyRequest);

    fn audit(request: &CommitKeyRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(request: &mut CommitKeyRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    if request.hsync == Some(true) && !ctx.settings.hsync {
        return Err(OmError::NotSupported(
            "Hsync is not enabled. To enable, set ozone.fs.hsync.enabled = true".to_owned(),
        ));
    }
    resolve_names(&mut request.key_args, ctx)?;
    request.key_args.modification_time = Some(ctx.now_ms);
    request.key_args.key_locations.iter_mut().for_each(locations::strip);
    Ok(())
}

impl Write for CommitKey {
    const PREPARE: Decision<CommitKeyRequest> = Decision::Fields(prepare);

    fn apply(request: CommitKeyRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let (args, hsync) = (request.key_args, request.hsync == Some(true));
        let recovery = request.recovery == Some(true);
        let mut key_row = KeyRow::of_args(cx.view, &args)?;
        let existing = key_row.committed(cx.view)?;
        let client_id = match &existing {
            Some(existing) if recovery => lease::session_to_recover(existing, &key_row)?,
            _ => request.client_id,
        };
        let open_key = tables::open_key(&key_row.key, client_id);
        let open = key_row.open(cx.view, &open_key)?.ok_or_else(|| {
            let entry = String::from_utf8_lossy(&open_key);
            let deed = if recovery {
                "recovery"
            } else if hsync {
                "hsync"
            } else {
                "commit"
            };
            OmError::KeyNotFound(format!(
                "Failed to {deed} key, as {entry} entry is not found in the OpenKey table"
            ))
        })?;
        hsync::check_owned(&open)?;
        if !recovery {
            lease::check_not_recovering(&open, &open_key)?;
        }
        key_row.check_no_directory(cx.view, &args.key_name)?;
        // Synced before by this very session: the same key growing, not an overwrite.
        let growing = existing.as_ref().and_then(hsync::writer) == Some(client_id);
        if !growing {
            atomic::check_generation(
                open.expected_data_generation,
                existing.as_ref(),
                &args.key_name,
            )?;
        }

        let still_open = hsync.then(|| open.clone());
        let (mut key, left_over) = reconcile_blocks(open, args, cx.tx.index)?;
        key.expected_data_generation = None;
        if let Some(existing) = &existing {
            inherit(&mut key, existing);
        }
        if hsync {
            metadata::set_str(&mut key.metadata, HSYNC_CLIENT_ID, &hsync::session(client_id));
        } else {
            metadata::remove(&mut key.metadata, HSYNC_CLIENT_ID);
            metadata::remove(&mut key.metadata, LEASE_RECOVERY);
        }
        key.committed_at = match &existing {
            Some(existing) if growing => existing.committed_at,
            _ => layers::retain::committed_at(cx, &key_row.bucket)?,
        };
        let replaced = account(&mut key_row.bucket, &key, existing, growing)?;

        let mut garbage = Vec::new();
        if let Some(old) = replaced {
            hsync::disown(cx, key_row.key_tables(), &key_row.key, &old, hsync::Fate::Overwritten)?;
            if garbage::has_blocks(&old) {
                garbage.push(garbage::committed(old, cx.tx.index));
            }
        }
        match still_open {
            // The unused blocks belong to a session that continues.
            Some(mut open) => {
                open.update_id = Some(cx.tx.index);
                open.modification_time = key.modification_time;
                metadata::set_str(&mut open.metadata, HSYNC_CLIENT_ID, &hsync::session(client_id));
                key_row.put_open(cx, open_key, &open);
            }
            None => {
                if !left_over.is_empty() {
                    let mut left_over = garbage::uncommitted(&key, left_over);
                    // A block that was synced and is left out now is in snapshots of the time.
                    left_over.committed_at = growing.then(|| key.committed_at.unwrap_or(0));
                    garbage.push(left_over);
                }
                key_row.delete_open(cx, open_key);
            }
        }
        if !garbage.is_empty() {
            let row = tables::deleted_key(key_row.object_key(), cx.object_id());
            garbage::discard(cx, row, key_row.bucket_id(), garbage)?;
        }
        key_row.put_with_bucket(cx, key);
        let mut r = response::ok(Type::CommitKey);
        r.commit_key_response = Some(Box::new(CommitKeyResponse {}));
        Ok(r)
    }
}

/// Copies attributes of an overwritten key: it stays the same object to a client that watches it.
fn inherit(key: &mut KeyInfo, existing: &KeyInfo) {
    key.object_id = existing.object_id;
    key.creation_time = existing.creation_time;
    key.acls.clone_from(&existing.acls);
    key.owner_name.clone_from(&existing.owner_name);
}

/// Counts the key in its bucket; returns the key it replaces, whose blocks are garbage now.
fn account(
    bucket: &mut Bucket,
    key: &KeyInfo,
    existing: Option<KeyInfo>,
    growing: bool,
) -> Result<Option<KeyInfo>, OmError> {
    let new = usage::replicated_size(key);
    let old = existing.as_ref().map_or(0, usage::replicated_size);
    usage::check_bytes(bucket, new.saturating_sub(old))?;
    match existing {
        None => {
            usage::check_namespace(bucket, 1)?;
            usage::count(&mut bucket.used_namespace, 1);
        }
        Some(_) if growing => {
            bucket.used_bytes = bucket.used_bytes.saturating_sub(old);
            usage::count(&mut bucket.used_bytes, new);
            return Ok(None);
        }
        Some(ref existing) => {
            usage::release_to_deleted(bucket, old, garbage::has_blocks(existing));
        }
    }
    usage::count(&mut bucket.used_bytes, new);
    Ok(existing)
}

/// The open key with the blocks that the writer reports as written, and the granted blocks that it
/// did not use.
pub(crate) fn reconcile_blocks(
    mut open: KeyInfo,
    args: KeyArgs,
    update_id: u64,
) -> Result<(KeyInfo, Vec<KeyLocation>), OmError> {
    let multipart = open.key_location_list.last().and_then(|list| list.is_multipart_key);
    let allocated: Vec<KeyLocation> =
        open.key_location_list.drain(..).flat_map(|list| list.key_locations).collect();
    let left_over = split_off_unused(allocated, &args.key_locations, &open)?;
    open.key_location_list.push(KeyLocationList {
        version: Some(0),
        key_locations: args.key_locations,
        file_encryption_info: None,
        is_multipart_key: multipart,
    });
    open.data_size = args.data_size.unwrap_or(0);
    open.modification_time = args.modification_time.unwrap_or(open.modification_time);
    open.update_id = Some(update_id);
    open.metadata.extend(args.metadata);
    open.metadata = super::create::distinct(open.metadata);
    if !args.tags.is_empty() {
        open.tags = super::create::distinct(args.tags);
    }
    Ok((open, left_over))
}

/// The allocated blocks that were not committed.
///
/// # Errors
/// When a committed block was not allocated to this key: its data would not be this key's.
fn split_off_unused(
    mut allocated: Vec<KeyLocation>,
    committed: &[KeyLocation],
    open: &KeyInfo,
) -> Result<Vec<KeyLocation>, OmError> {
    if let ([a], [c]) = (allocated.as_slice(), committed)
        && block_id(a) == block_id(c)
    {
        return Ok(Vec::new());
    }
    let known: HashSet<(i64, i64)> = allocated.iter().map(block_id).collect();
    if let Some(foreign) = committed.iter().find(|c| !known.contains(&block_id(c))) {
        let (container, local) = block_id(foreign);
        return Err(OmError::InvalidRequest(format!(
            "block conID: {container} locID: {local} was not allocated to the open key {}",
            open.key_name
        )));
    }
    let used: HashSet<(i64, i64)> = committed.iter().map(block_id).collect();
    allocated.retain(|a| !used.contains(&block_id(a)));
    Ok(allocated)
}
