//! PurgeKeys: SCM has the blocks of deleted keys, so their rows may be removed.

use std::collections::BTreeMap;

use proto::ozone::{
    BucketNameInfo, BucketPurgeKeysSize, KeyInfo, OmResponse, PurgeKeysRequest, PurgeKeysResponse,
    RepeatedKeyInfo, Type,
};

use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::metadata::{self, COMMITTED_KEY_DELETED};
use crate::state::usage;
use crate::state::view::{self, View};
use crate::tables::{self, Table};

pub(crate) struct PurgeKeys;

impl Command for PurgeKeys {
    const TYPE: Type = Type::PurgeKeys;
    const AUDIT: &'static str = "PURGE_KEYS";
    const RIGHTS: Rights<PurgeKeysRequest> = Rights::Om;
    request_part!(purge_keys_request: PurgeKeysRequest);

    fn audit(request: &PurgeKeysRequest) -> AuditParams {
        let keys = request.deleted_keys.iter().map(|in_bucket| in_bucket.keys.len());
        vec![("keys", keys.fold(0, usize::saturating_add).to_string())]
    }
}

/// A service that proposes a purge need not compute how much it frees: the leader adds it up. It
/// does so as well if a row was removed after the service read it, by a purge that took long to be
/// applied or by another leader: each row must be counted once.
fn prepare(request: &mut PurgeKeysRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    if !request.bucket_purge_keys_size.is_empty() && are_there(request, ctx.view)? {
        return Ok(());
    }
    let mut freed = Purged::default();
    for key in request.deleted_keys.iter().flat_map(|d| &d.keys) {
        freed.add_row_at(ctx.view, key, &[])?;
    }
    for update in &request.keys_to_update {
        let key = update.key.as_deref().unwrap_or_default();
        freed.add_row_at(ctx.view, key, &update.key_infos)?;
    }
    request.bucket_purge_keys_size = freed.into_sizes();
    Ok(())
}

fn are_there(request: &PurgeKeysRequest, view: &dyn View) -> Result<bool, OmError> {
    for key in request.deleted_keys.iter().flat_map(|d| &d.keys) {
        if view.get(Table::DeletedTable, key.as_bytes())?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes and names that a purge frees, by bucket (id, volume, name).
#[derive(Debug, Default)]
pub struct Purged(BTreeMap<(u64, String, String), (i64, i64)>);

impl Purged {
    /// Counts a removed row of the deletedTable.
    pub fn add(&mut self, row: &RepeatedKeyInfo) {
        self.add_but(row, &[]);
    }

    /// Adds sizes that others free.
    pub fn extend(&mut self, other: Self) {
        for (bucket, (bytes, names)) in other.0 {
            let sum = self.0.entry(bucket).or_default();
            *sum = (sum.0.saturating_add(bytes), sum.1.saturating_add(names));
        }
    }

    /// Counts the removal of the row at `key`, except for the versions `kept`.
    fn add_row_at(&mut self, view: &dyn View, key: &str, kept: &[KeyInfo]) -> Result<(), OmError> {
        let row = view::get::<RepeatedKeyInfo>(view, Table::DeletedTable, key.as_bytes())?;
        if let Some(row) = row {
            self.add_but(&row, kept);
        }
        Ok(())
    }

    fn add_but(&mut self, row: &RepeatedKeyInfo, kept: &[KeyInfo]) {
        let bucket_id = row.bucket_id.unwrap_or_default();
        let counted =
            |info: &&KeyInfo| metadata::get(&info.metadata, COMMITTED_KEY_DELETED) == Some("true");
        for (info, goes) in (row.key_info.iter().filter(counted).map(|info| (info, true)))
            .chain(kept.iter().filter(counted).map(|info| (info, false)))
        {
            let bucket = (bucket_id, info.volume_name.clone(), info.bucket_name.clone());
            let (bytes, names) = self.0.entry(bucket).or_default();
            let size = i64::try_from(usage::replicated_size(info)).unwrap_or(i64::MAX);
            (*bytes, *names) = match goes {
                true => (bytes.saturating_add(size), names.saturating_add(1)),
                false => (bytes.saturating_sub(size), names.saturating_sub(1)),
            };
        }
    }

    /// In the form of a request.
    pub fn into_sizes(self) -> Vec<BucketPurgeKeysSize> {
        let size = |((bucket_id, volume, bucket), (bytes, names)): ((u64, String, String), _)| {
            BucketPurgeKeysSize {
                bucket_name_info: Some(BucketNameInfo {
                    bucket_id: Some(bucket_id),
                    volume_name: Some(volume),
                    bucket_name: Some(bucket),
                    volume_id: None,
                }),
                purged_bytes: Some(u64::try_from(bytes).unwrap_or(0)),
                purged_namespace: Some(u64::try_from(names).unwrap_or(0)),
            }
        };
        self.0.into_iter().map(size).collect()
    }
}

impl Write for PurgeKeys {
    const PREPARE: Decision<PurgeKeysRequest> = Decision::Fields(prepare);

    fn apply(request: PurgeKeysRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        if request.snapshot_table_key.as_deref().is_some_and(|key| !key.is_empty()) {
            return Err(OmError::NotSupported("purging keys of a snapshot".to_owned()));
        }
        for key in request.deleted_keys.into_iter().flat_map(|d| d.keys) {
            cx.delete(Table::DeletedTable, key.into_bytes());
        }
        for update in request.keys_to_update {
            let Some(key) = update.key else { continue };
            let row = RepeatedKeyInfo { key_info: update.key_infos, bucket_id: update.bucket_id };
            cx.put(Table::DeletedTable, key.into_bytes(), &row);
        }
        for key in request.renamed_keys {
            cx.delete(Table::SnapshotRenamedTable, key.into_bytes());
        }
        for size in request.bucket_purge_keys_size {
            release(cx, &size)?;
        }
        let mut r = response::ok(Type::PurgeKeys);
        r.purge_keys_response = Some(Box::new(PurgeKeysResponse {}));
        Ok(r)
    }
}

fn release(cx: &mut ApplyContext<'_>, size: &BucketPurgeKeysSize) -> Result<(), OmError> {
    let Some(name) = &size.bucket_name_info else { return Ok(()) };
    let (Some(volume), Some(bucket)) = (&name.volume_name, &name.bucket_name) else {
        return Ok(());
    };
    let key = tables::bucket_key(volume, bucket);
    // A bucket that was deleted since, and perhaps recreated, has no such bytes.
    let found = view::unless_damaged(cx.view.bucket(&key))?;
    let Some(mut found) = found.filter(|b| b.object_id == name.bucket_id) else {
        return Ok(());
    };
    let bytes = size.purged_bytes.unwrap_or(0);
    let names = size.purged_namespace.unwrap_or(0);
    found.snapshot_used_bytes = found.snapshot_used_bytes.saturating_sub(bytes);
    found.snapshot_used_namespace = found.snapshot_used_namespace.saturating_sub(names);
    cx.put_bucket(key, found);
    Ok(())
}
