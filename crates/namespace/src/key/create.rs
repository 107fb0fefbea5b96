//! CreateKey: opens a session in which a key, or a part of a multipart upload, is written.

use proto::hdds::KeyValue;
use proto::ozone::{
    CreateKeyRequest, CreateKeyResponse, KeyArgs, KeyInfo, KeyLocationList, MultipartKeyInfo,
    OmResponse, Type,
};
use types::ReplicationConfig;

use super::atomic;
use super::place::{Place, settle};
use crate::acl;
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::locations;
use crate::multipart::find as upload;
use crate::names::validate_key_name;
use crate::prepare::{BlockDemand, PrepareContext};
use crate::replication;
use crate::response;
use crate::tables;
use crate::usage;

pub(crate) fn prepare(
    request: &mut CreateKeyRequest,
    ctx: &PrepareContext<'_>,
) -> Result<Option<BlockDemand>, OmError> {
    let args = &mut request.key_args;
    validate_key_name(&args.key_name, ctx.settings)?;
    let bucket = settle(args, ctx)?;
    args.modification_time = Some(ctx.now_ms);
    args.key_locations.clear();
    request.client_id = Some(ctx.fresh.id());
    if args.owner_name.as_deref().is_none_or(str::is_empty) {
        args.owner_name = Some(ctx.user.to_owned());
    }
    if args.is_multipart_key == Some(true) {
        // A part is written as its upload says, and gets its blocks one by one.
        upload::check_part_number(args)?;
        let place = Place::of_args(ctx.view, args)?;
        let (_, upload) = upload::find(ctx.view, &place.key, upload::id(args)?, args)?;
        set_replication(args, &upload);
        return Ok(None);
    }
    acl::of_new_key(&mut args.acls, &args.key_name, None, &bucket, ctx)?;
    let replication = replication::resolve(args, &bucket, ctx.settings)?;
    let count = preallocation(args.data_size.unwrap_or(0), &replication, ctx);
    Ok((count > 0).then(|| BlockDemand {
        replication,
        count,
        size: ctx.settings.block_size,
        exclude: None,
        owner: String::new(),
    }))
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

pub(crate) fn apply(
    request: CreateKeyRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let client_id = request.client_id.ok_or_else(|| OmError::missing("clientID"))?;
    let mut args = request.key_args;
    let place = Place::of_args(cx.view, &args)?;
    let part = args.is_multipart_key == Some(true);
    let expected = if part {
        upload::find(cx.view, &place.key, upload::id(&args)?, &args)?;
        None
    } else {
        admit(&args, &place, cx)?
    };
    args.key_locations.iter_mut().for_each(locations::strip);
    let key = open(args, cx, part, expected)?;
    cx.put(Place::OPEN, tables::open_key(&place.key, client_id), &key);
    let mut r = response::ok(Type::CreateKey);
    r.create_key_response = Some(Box::new(CreateKeyResponse {
        key_info: Some(key),
        id: Some(client_id),
        open_version: Some(0),
    }));
    Ok(r)
}

/// Conditions and quotas, as far as they can be told before the data is there. The existing key
/// is read only if one of them needs it.
fn admit(args: &KeyArgs, place: &Place, cx: &ApplyContext<'_>) -> Result<Option<u64>, OmError> {
    let bucket = &place.bucket;
    let replication = replication::of_args(args)?;
    let size = usage::reserved(&replication, &args.key_locations)
        .max(replication.replicated_size(args.data_size.unwrap_or(0)));
    let mut expected = None;
    let mut existing = None;
    if atomic::conditional(args) || usage::limit(bucket.quota_in_namespace).is_some() {
        existing = place.committed(cx.view)?;
        expected = atomic::check(args, existing.as_ref())?;
    }
    usage::check_bytes(bucket, size)?;
    if existing.is_none() {
        usage::check_namespace(bucket, 1)?;
    }
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
            version: Some(0),
            key_locations: args.key_locations,
            file_encryption_info: None,
            is_multipart_key: multipart.then_some(true),
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
    })
}

/// The last of several entries with one name counts, as in a map.
pub(crate) fn distinct(mut list: Vec<KeyValue>) -> Vec<KeyValue> {
    let mut at = 1;
    while at < list.len() {
        let earlier = list[..at].iter().position(|e| e.key == list[at].key);
        match earlier {
            Some(earlier) => {
                let entry = list.remove(at);
                list[earlier] = entry;
            }
            None => at += 1,
        }
    }
    list
}
