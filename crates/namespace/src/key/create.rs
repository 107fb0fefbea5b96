//! CreateKey: opens a session in which a key, or a part of a multipart upload, is written.

use proto::hdds::KeyValue;
use proto::ozone::{
    CreateKeyRequest, CreateKeyResponse, KeyArgs, KeyInfo, KeyLocationList, MultipartKeyInfo,
    OmResponse, Type,
};
use rustc_hash::FxHashMap;
use types::{ReplicationConfig, StoragePolicy};

use crate::authorizer::{self, Right};
use crate::bucket::encryption;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::new_key::{NewParents, of_new};
use crate::state::context::{ApplyContext, BlockDemand, PrepareContext};
use crate::state::find::upload;
use crate::state::key_row::{KeyRow, atomic, checksum, resolve_names};
use crate::state::locations;
use crate::state::metadata::{self, UPLOAD_CHECKSUM};
use crate::state::names::validate_key_name;
use crate::state::replication;
use crate::state::row::Bucket;
use crate::state::settings::Settings;
use crate::state::storage_policy;
use crate::state::tree::lookup::lookup;
use crate::state::tree::{Tree, path};
use crate::state::usage;
use crate::tables;

pub(crate) struct CreateKey;

impl Command for CreateKey {
    const TYPE: Type = Type::CreateKey;
    const AUDIT: &'static str = "ALLOCATE_KEY";
    const RIGHTS: Rights<CreateKeyRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Create));
    request_part!(create_key_request: CreateKeyRequest);

    fn audit(request: &CreateKeyRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(
    request: &mut CreateKeyRequest,
    ctx: &PrepareContext<'_>,
) -> Result<Option<BlockDemand>, OmError> {
    let args = &mut request.key_args;
    validate_key_name(&args.key_name, ctx.settings)?;
    let bucket = resolve_names(args, ctx)?;
    check_path(args, &bucket, ctx.settings)?;
    args.modification_time = Some(ctx.now_ms);
    args.key_locations.clear();
    request.client_id = Some(ctx.fresh.id());
    if args.owner_name.as_deref().is_none_or(str::is_empty) {
        args.owner_name = Some(ctx.user.to_owned());
    }
    if args.is_multipart_key == Some(true) {
        // A part is written with the settings of its upload, and gets its blocks one by one.
        upload::check_part_number(args)?;
        let (_, upload) = upload::find(ctx.view, upload::named(args)?, args)?;
        set_replication(args, &upload);
        let checksum = checksum::of_upload(ctx.view, upload::id(args)?, &upload, args)?;
        metadata::remove(&mut args.metadata, UPLOAD_CHECKSUM);
        if let Some(checksum) = &checksum {
            metadata::set_str(&mut args.metadata, UPLOAD_CHECKSUM, checksum);
        }
        metadata::remove(&mut args.metadata, StoragePolicy::METADATA_KEY);
        if let Some(policy) = &upload.storage_policy {
            metadata::set_str(&mut args.metadata, StoragePolicy::METADATA_KEY, policy);
        }
        return Ok(None);
    }
    claim(args, &bucket, ctx)
}

/// Checks the name of a new key where names are paths, and marks in the request that the key needs
/// its directories.
pub(crate) fn check_path(
    args: &mut KeyArgs,
    bucket: &Bucket,
    settings: &Settings,
) -> Result<(), OmError> {
    let paths = settings.has_paths(bucket);
    args.recursive = paths.then_some(true);
    if paths {
        validate_key_name(&args.key_name, settings)?;
        path::check(&args.key_name)?;
    }
    Ok(())
}

/// Decision of the leader for a new key: its ACLs, replication and blocks.
pub(crate) fn claim(
    args: &mut KeyArgs,
    bucket: &Bucket,
    ctx: &PrepareContext<'_>,
) -> Result<Option<BlockDemand>, OmError> {
    encryption::refuse_writes(bucket)?;
    inherit(args, bucket, ctx)?;
    storage_policy::check(&mut args.metadata)?;
    let replication = match keeps_replication(args, ctx)? {
        true => replication::complete(args, bucket, ctx.settings)?,
        false => replication::resolve(args, bucket, ctx.settings)?,
    };
    let count = preallocation(args.data_size.unwrap_or(0), &replication, ctx);
    Ok((count > 0).then(|| BlockDemand {
        replication,
        storage_types: storage_policy::storage_types(&args.metadata, bucket, ctx.settings),
        count,
        size: ctx.settings.block_size,
        exclude: None,
        owner: String::new(),
    }))
}

/// Returns `true` if a rewrite requests the key's current replication. The key may have been
/// written before that was refused; moved to other disks it keeps its replication.
fn keeps_replication(args: &KeyArgs, ctx: &PrepareContext<'_>) -> Result<bool, OmError> {
    let Some(generation) = args.expected_data_generation.filter(|generation| *generation > 0)
    else {
        return Ok(false);
    };
    let existing = match KeyRow::of_args(ctx.view, args) {
        Ok(key_row) => key_row.committed(ctx.view)?,
        // Its directory does not exist.
        Err(OmError::DirectoryNotFound(_)) => None,
        Err(error) => return Err(error),
    };
    let Some(existing) = existing.filter(|key| key.update_id == Some(generation)) else {
        return Ok(false);
    };
    Ok(replication::asks(args) && replication::of_args(args)? == replication::of_key(&existing)?)
}

/// Completes the ACLs of a new key; in a tree, the nearest directory hands its own on.
pub(crate) fn inherit(
    args: &mut KeyArgs,
    bucket: &Bucket,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let nearest = match bucket.is_tree() {
        true => lookup(&Tree::of(ctx.view, bucket)?, &args.key_name)?.nearest,
        false => None,
    };
    let parent = nearest.as_ref().map(|directory| directory.acls.as_slice());
    authorizer::of_new_key(&mut args.acls, &args.key_name, parent, bucket, ctx)
}

fn set_replication(args: &mut KeyArgs, upload: &MultipartKeyInfo) {
    args.r#type = Some(upload.r#type);
    args.factor = upload.factor;
    args.ec_replication_config = upload.ec_replication_config.clone();
}

/// Blocks to give at once. A key announced as empty gets none: if it grows after all, its writer
/// asks for them, and if it does not, none has to be thrown away.
fn preallocation(size: u64, replication: &ReplicationConfig, ctx: &PrepareContext<'_>) -> u32 {
    let units = match replication {
        ReplicationConfig::Ec(ec) => u64::from(ec.data),
        _ => 1,
    };
    let per_block = ctx.settings.block_size.saturating_mul(units).max(1);
    let wanted = u32::try_from(size.div_ceil(per_block)).unwrap_or(u32::MAX);
    wanted.min(ctx.settings.preallocation_max_blocks)
}

impl Write for CreateKey {
    const PREPARE: Decision<CreateKeyRequest> = Decision::FieldsAndBlocks(prepare);

    fn apply(request: CreateKeyRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let client_id = request.client_id.ok_or_else(|| OmError::missing("clientID"))?;
        let mut args = request.key_args;
        args.key_locations.iter_mut().for_each(locations::strip);
        let key = if args.is_multipart_key == Some(true) {
            let (_, upload) = upload::find(cx.view, upload::id(&args)?, &args)?;
            let key_row = KeyRow::of_upload(cx.view, &args, &upload)?;
            begin(args, client_id, &key_row, true, None, cx)?
        } else {
            let (mut key_row, parents) = of_new(&args, args.recursive == Some(true), cx)?;
            let expected = admit(&args, &key_row, &parents, cx)?;
            parents.create(cx, &mut key_row, &args)?;
            begin(args, client_id, &key_row, false, expected, cx)?
        };
        let mut r = response::ok(Type::CreateKey);
        r.create_key_response = Some(Box::new(CreateKeyResponse {
            key_info: Some(key),
            id: Some(client_id),
            open_version: Some(0),
        }));
        Ok(r)
    }
}

/// Opens a session for the key at `key_row`.
pub(crate) fn begin(
    args: KeyArgs,
    client_id: u64,
    key_row: &KeyRow,
    multipart: bool,
    expected_data_generation: Option<u64>,
    cx: &mut ApplyContext<'_>,
) -> Result<KeyInfo, OmError> {
    let key = open(args, cx, multipart, expected_data_generation)?;
    key_row.put_open(cx, tables::open_key(&key_row.key, client_id), &key);
    Ok(key)
}

/// Checks conditions and quotas, as far as possible before the data is there. The existing key is
/// read only if one of them needs it.
pub(crate) fn admit(
    args: &KeyArgs,
    key_row: &KeyRow,
    parents: &NewParents,
    cx: &ApplyContext<'_>,
) -> Result<Option<u64>, OmError> {
    let bucket = &key_row.bucket;
    let replication = replication::of_args(args)?;
    let size = usage::reserved(&replication, &args.key_locations)
        .max(replication.replicated_size(args.data_size.unwrap_or(0)));
    let mut expected = None;
    if atomic::conditional(args) {
        expected = atomic::check(args, key_row.committed(cx.view)?.as_ref())?;
    }
    usage::check_bytes(bucket, size)?;
    // An overwrite needs room too: the old key counts until it is purged.
    usage::check_namespace(bucket, usage::number(parents.len()).saturating_add(1))?;
    Ok(expected)
}

/// The row of a key being written.
pub(crate) fn open(
    args: KeyArgs,
    cx: &ApplyContext<'_>,
    multipart: bool,
    expected_data_generation: Option<u64>,
) -> Result<KeyInfo, OmError> {
    let kind = args.r#type.ok_or_else(|| OmError::missing("replication"))?;
    let now = args.modification_time.unwrap_or_default();
    Ok(KeyInfo {
        volume_name: args.volume_name,
        bucket_name: args.bucket_name,
        key_name: args.key_name,
        data_size: args.data_size.unwrap_or(0),
        r#type: kind,
        factor: args.factor,
        ec_replication_config: args.ec_replication_config,
        key_location_list: vec![KeyLocationList {
            key_locations: args.key_locations,
            is_multipart_key: multipart.then_some(true),
            ..locations::no_blocks()
        }],
        creation_time: now,
        modification_time: now,
        latest_version: Some(0),
        metadata: distinct(args.metadata),
        file_encryption_info: args.file_encryption_info,
        acls: args.acls,
        object_id: Some(cx.object_id()),
        update_id: Some(cx.tx.index),
        is_file: Some(true),
        owner_name: args.owner_name,
        tags: distinct(args.tags),
        expected_data_generation,
        parent_id: None,
        file_checksum: None,
        committed_at: None,
    })
}

/// The last of several entries with one name counts, at the place of the first, as in a map that
/// keeps the order.
pub(crate) fn distinct(list: Vec<KeyValue>) -> Vec<KeyValue> {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut distinct: Vec<KeyValue> = Vec::with_capacity(list.len());
    for entry in list {
        match places.get(&entry.key).and_then(|at| distinct.get_mut(*at)) {
            Some(earlier) => *earlier = entry,
            None => {
                places.insert(entry.key.clone(), distinct.len());
                distinct.push(entry);
            }
        }
    }
    distinct
}
