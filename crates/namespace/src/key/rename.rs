//! RenameKey.

use proto::ozone::{KeyInfo, OmResponse, RenameKeyRequest, RenameKeyResponse, Type};

use super::hsync;
use super::place::{Place, settle};
use crate::apply::ApplyContext;
use crate::effect::Effect;
use crate::error::OmError;
use crate::names::validate_key_name;
use crate::prepare::PrepareContext;
use crate::response;
use crate::row;
use crate::tables;
use crate::view::View;

pub(crate) fn prepare(
    request: &mut RenameKeyRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    if request.key_args.key_name.is_empty() {
        return Err(OmError::InvalidKeyName("Key name is empty".to_owned()));
    }
    validate_key_name(&request.to_key_name, ctx.settings)?;
    settle(&mut request.key_args, ctx)?;
    request.key_args.modification_time = Some(ctx.now_ms);
    Ok(())
}

pub(crate) fn apply(
    request: RenameKeyRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = request.key_args;
    // The bucket's layout tells where the rows are.
    Place::of_args(cx.view, &args)?;
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

/// One rename within a bucket.
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
    let mut key: KeyInfo = row::get(view, Place::COMMITTED, &from)?
        .ok_or_else(|| OmError::key_not_found(pair.volume, pair.bucket, pair.from))?;
    if hsync::writer(&key).is_some() {
        return Err(OmError::RenameOpenFile(pair.from.to_owned()));
    }
    if view.exists(Place::COMMITTED, &to)? {
        return Err(OmError::KeyExists(format!("Key already exists {}", pair.to)));
    }
    key.key_name = pair.to.to_owned();
    key.modification_time = pair.now.unwrap_or(key.modification_time);
    key.update_id = Some(pair.index);
    Ok([
        Effect::Delete { table: Place::COMMITTED, key: from },
        Effect::Put { table: Place::COMMITTED, key: to, value: row::encode(&key) },
    ])
}
