//! RenameKey.

use proto::ozone::{KeyArgs, KeyInfo, OmResponse, RenameKeyRequest, RenameKeyResponse, Type};

use super::hsync;
use super::place::{Shelf, settle};
use crate::apply::ApplyContext;
use crate::bucket::find;
use crate::effect::Effect;
use crate::error::OmError;
use crate::fso::{self, Tree, path};
use crate::names::validate_key_name;
use crate::prepare::PrepareContext;
use crate::response;
use crate::row::{self, Bucket};
use crate::tables;
use crate::view::View;

pub(crate) fn prepare(
    request: &mut RenameKeyRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    if request.key_args.key_name.is_empty() {
        return Err(OmError::InvalidKeyName("Key name is empty".to_owned()));
    }
    let bucket = settle(&mut request.key_args, ctx)?;
    if ctx.settings.has_paths(&bucket) {
        path::normalize_in_place(&mut request.to_key_name);
    }
    if bucket.is_tree() {
        path::check(&request.to_key_name)?;
    }
    validate_key_name(&request.to_key_name, ctx.settings)?;
    request.key_args.modification_time = Some(ctx.now_ms);
    Ok(())
}

pub(crate) fn apply(
    request: RenameKeyRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = request.key_args;
    let bucket = find::find(cx.view, &args.volume_name, &args.bucket_name)?;
    if bucket.is_tree() {
        in_tree(cx, &bucket, &args, &request.to_key_name)?;
        let mut r = response::ok(Type::RenameKey);
        r.rename_key_response = Some(Box::new(RenameKeyResponse {}));
        return Ok(r);
    }
    let pair = Pair {
        volume: &args.volume_name,
        bucket: &args.bucket_name,
        from: &args.key_name,
        to: &request.to_key_name,
        now: args.modification_time,
        index: cx.tx.index,
    };
    cx.effects.extend(rename(cx.view, &pair)?);
    let mut r = response::ok(Type::RenameKey);
    r.rename_key_response = Some(Box::new(RenameKeyResponse {}));
    Ok(r)
}

fn in_tree(
    cx: &mut ApplyContext<'_>,
    bucket: &Bucket,
    args: &KeyArgs,
    to: &str,
) -> Result<(), OmError> {
    let tree = Tree::of(cx.view, bucket)?;
    let now = args.modification_time;
    let pair = fso::rename::Pair { from: &args.key_name, to, now, index: cx.tx.index };
    let not_found = OmError::key_not_found(&args.volume_name, &args.bucket_name, &args.key_name);
    let renamed = fso::rename::rename(&tree, &pair, not_found)?;
    cx.effects.extend(renamed.effects);
    if renamed.touches_bucket {
        let mut info = bucket.to_info();
        info.modification_time = now.or(info.modification_time);
        let key = tables::bucket_key(&args.volume_name, &args.bucket_name);
        cx.put_bucket(key, bucket.with_info(info));
    }
    Ok(())
}

/// One rename within a flat bucket.
pub(super) struct Pair<'a> {
    pub volume: &'a str,
    pub bucket: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    /// The leader's time, if the request has a field for it.
    pub now: Option<u64>,
    pub index: u64,
}

/// The effects of a rename; a key never replaces another that way.
pub(super) fn rename(view: &dyn View, pair: &Pair<'_>) -> Result<[Effect; 2], OmError> {
    let from = tables::object_key(pair.volume, pair.bucket, pair.from);
    let to = tables::object_key(pair.volume, pair.bucket, pair.to);
    if view.exists(Shelf::Flat.committed(), &to)? {
        return Err(OmError::KeyExists(format!("Key already exists {}", pair.to)));
    }
    let mut key: KeyInfo = row::get(view, Shelf::Flat.committed(), &from)?
        .ok_or_else(|| OmError::key_not_found(pair.volume, pair.bucket, pair.from))?;
    if hsync::writer(&key).is_some() {
        return Err(OmError::RenameOpenFile(pair.from.to_owned()));
    }
    key.key_name = pair.to.to_owned();
    key.modification_time = pair.now.unwrap_or(key.modification_time);
    key.update_id = Some(pair.index);
    Ok([
        Effect::Delete { table: Shelf::Flat.committed(), key: from },
        Effect::Put { table: Shelf::Flat.committed(), key: to, value: row::encode(&key) },
    ])
}
