//! RenameKey.

use proto::ozone::{KeyArgs, KeyInfo, OmResponse, RenameKeyRequest, RenameKeyResponse, Type};

use crate::authorizer::{Guard, Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::fso;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::effect::Effect;
use crate::state::find::bucket;
use crate::state::key_row::hsync;
use crate::state::key_row::{KeyTables, resolve_names};
use crate::state::names::validate_key_name;
use crate::state::row::{self, Bucket};
use crate::state::tree::{Tree, path};
use crate::state::view::{self, View};
use crate::tables;

pub(crate) struct RenameKey;

impl Command for RenameKey {
    const TYPE: Type = Type::RenameKey;
    const AUDIT: &'static str = "RENAME_KEY";
    const RIGHTS: Rights<RenameKeyRequest> = Rights::Required(rights);
    request_part!(rename_key_request: RenameKeyRequest);

    fn audit(request: &RenameKeyRequest) -> AuditParams {
        let mut params = audit::key(&request.key_args);
        params.push(("toKeyName", request.to_key_name.clone()));
        params
    }
}

fn rights(request: &RenameKeyRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let args = &request.key_args;
    let (volume, bucket) = guard.resolve(&args.volume_name, &args.bucket_name)?;
    guard.require(Target::key(&volume, &bucket, &args.key_name), Right::Delete)?;
    guard.require(Target::key(&volume, &bucket, &request.to_key_name), Right::Create)
}

fn prepare(request: &mut RenameKeyRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    if request.key_args.key_name.is_empty() {
        return Err(OmError::InvalidKeyName("Key name is empty".to_owned()));
    }
    let bucket = resolve_names(&mut request.key_args, ctx)?;
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

impl Write for RenameKey {
    const PREPARE: Decision<RenameKeyRequest> = Decision::Fields(prepare);

    fn apply(request: RenameKeyRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        let bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
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
    if view.exists(KeyTables::Flat.committed(), &to)? {
        return Err(OmError::KeyExists(format!("Key already exists {}", pair.to)));
    }
    let mut key: KeyInfo = view::get(view, KeyTables::Flat.committed(), &from)?
        .ok_or_else(|| OmError::key_not_found(pair.volume, pair.bucket, pair.from))?;
    if hsync::writer(&key).is_some() {
        return Err(OmError::RenameOpenFile(pair.from.to_owned()));
    }
    key.key_name = pair.to.to_owned();
    key.modification_time = pair.now.unwrap_or(key.modification_time);
    key.update_id = Some(pair.index);
    Ok([
        Effect::Delete { table: KeyTables::Flat.committed(), key: from },
        Effect::Put { table: KeyTables::Flat.committed(), key: to, value: row::encode(&key) },
    ])
}
