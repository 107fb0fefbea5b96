//! InitiateMultiPartUpload.

use proto::ozone::{
    KeyArgs, MultipartInfoInitiateRequest, MultipartInfoInitiateResponse, MultipartKeyInfo,
    OmResponse, Type,
};
use types::StoragePolicy;

use crate::authorizer::Right;
use crate::bucket::encryption;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::key::create;
use crate::new_key::of_new;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::upload;
use crate::state::key_row::resolve_names;
use crate::state::metadata;
use crate::state::names::validate_key_name;
use crate::state::replication;
use crate::state::storage_policy;
use crate::state::usage;
use crate::tables::{Table, multipart_key};

/// Parts are rows of their own.
const PARTS_ARE_ROWS: u32 = 1;

pub(crate) struct InitiateMultiPartUpload;

impl Command for InitiateMultiPartUpload {
    const TYPE: Type = Type::InitiateMultiPartUpload;
    const AUDIT: &'static str = "INITIATE_MULTIPART_UPLOAD";
    const RIGHTS: Rights<MultipartInfoInitiateRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Create));
    request_part!(initiate_multi_part_upload_request: MultipartInfoInitiateRequest);

    fn audit(request: &MultipartInfoInitiateRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(
    request: &mut MultipartInfoInitiateRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = &mut request.key_args;
    validate_key_name(&args.key_name, ctx.settings)?;
    let bucket = resolve_names(args, ctx)?;
    encryption::refuse_writes(&bucket)?;
    create::check_path(args, &bucket, ctx.settings)?;
    replication::resolve(args, &bucket, ctx.settings)?;
    storage_policy::check(&mut args.metadata)?;
    if args.owner_name.as_deref().is_none_or(str::is_empty) {
        args.owner_name = Some(ctx.user.to_owned());
    }
    create::inherit(args, &bucket, ctx)?;
    args.key_locations.clear();
    args.data_size = Some(0);
    args.modification_time = Some(ctx.now_ms);
    args.multipart_upload_id = Some(upload_id(ctx.fresh.uuid(), ctx.fresh.id()));
    Ok(())
}

/// A UUID and a number, as Ozone's are; opaque to clients.
fn upload_id(uuid: [u8; 16], number: u64) -> String {
    let hex = hex::encode(uuid);
    let groups = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("{}-{number}", groups.join("-"))
}

impl Write for InitiateMultiPartUpload {
    const PREPARE: Decision<MultipartInfoInitiateRequest> = Decision::Fields(prepare);

    fn apply(
        request: MultipartInfoInitiateRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        let (mut key_row, parents) = of_new(&args, args.recursive == Some(true), cx)?;
        usage::check_namespace(&key_row.bucket, usage::number(parents.len()))?;
        let upload_id = upload::id(&args)?.to_owned();
        let row = multipart_key(key_row.object_key(), &upload_id);
        let response = MultipartInfoInitiateResponse {
            volume_name: args.volume_name.clone(),
            bucket_name: args.bucket_name.clone(),
            key_name: args.key_name.clone(),
            multipart_upload_id: upload_id.clone(),
        };
        let open_row = multipart_key(&key_row.key, &upload_id);
        let mut info = info(&args, upload_id, cx)?;
        info.parent_id = key_row.parent_id();
        cx.put(Table::MultipartInfoTable, row, &info);
        parents.create(cx, &mut key_row, &args)?;
        let open = create::open(args, cx, true, None)?;
        key_row.put_open(cx, open_row, &open);
        let mut r = response::ok(Type::InitiateMultiPartUpload);
        r.initiate_multi_part_upload_response = Some(Box::new(response));
        Ok(r)
    }
}

fn info(
    args: &KeyArgs,
    upload_id: String,
    cx: &ApplyContext<'_>,
) -> Result<MultipartKeyInfo, OmError> {
    Ok(MultipartKeyInfo {
        upload_id,
        creation_time: args.modification_time.unwrap_or_default(),
        r#type: args.r#type.ok_or_else(|| OmError::missing("replication"))?,
        factor: args.factor,
        ec_replication_config: args.ec_replication_config.clone(),
        object_id: Some(cx.object_id()),
        update_id: Some(cx.tx.index),
        schema_version: Some(PARTS_ARE_ROWS),
        volume_name: Some(args.volume_name.clone()),
        bucket_name: Some(args.bucket_name.clone()),
        key_name: Some(args.key_name.clone()),
        owner_name: args.owner_name.clone(),
        acls: args.acls.clone(),
        storage_policy: metadata::get(&args.metadata, StoragePolicy::METADATA_KEY)
            .map(ToOwned::to_owned),
        ..MultipartKeyInfo::default()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_upload_id_is_a_uuid_and_a_number() {
        let uuid = 0x01a1fd2e_0123_7456_89ab_cdef01234567_u128.to_be_bytes();
        assert_eq!(
            super::upload_id(uuid, 117653443247931436),
            "01a1fd2e-0123-7456-89ab-cdef01234567-117653443247931436"
        );
    }
}
