//! AllocateBlock: one more block for a key being written.

use proto::ozone::{
    AllocateBlockRequest, AllocateBlockResponse, KeyInfo, KeyLocationList, OmResponse, Type,
};

use super::lease;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, BlockDemand, PrepareContext};
use crate::state::key_row::{KeyRow, hsync, resolve_names};
use crate::state::locations;
use crate::state::replication;
use crate::state::storage_policy;
use crate::state::usage;
use crate::state::view::View;
use crate::tables;

pub(crate) struct AllocateBlock;

impl Command for AllocateBlock {
    const TYPE: Type = Type::AllocateBlock;
    const AUDIT: &'static str = "ALLOCATE_BLOCK";
    const RIGHTS: Rights<AllocateBlockRequest> = Rights::Required(|request, guard| {
        guard.require_session(&request.key_args, request.client_id)
    });
    request_part!(allocate_block_request: AllocateBlockRequest);

    fn audit(request: &AllocateBlockRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(
    request: &mut AllocateBlockRequest,
    ctx: &PrepareContext<'_>,
) -> Result<Option<BlockDemand>, OmError> {
    let args = &mut request.key_args;
    resolve_names(args, ctx)?;
    args.modification_time = Some(ctx.now_ms);
    // The client repeats the blocks it has; neither the log nor the tables need that.
    args.key_locations.clear();
    let key_row = KeyRow::of_args(ctx.view, args)?;
    let open_key = tables::open_key(&key_row.key, request.client_id);
    let open = find_open(ctx.view, &key_row, &open_key)?;
    let storage_types =
        storage_policy::storage_types(&open.metadata, &key_row.bucket, ctx.settings);
    Ok(Some(BlockDemand {
        replication: replication::of_key(&open)?,
        storage_types,
        count: 1,
        size: ctx.settings.block_size,
        exclude: request.exclude_list.take(),
        owner: String::new(),
    }))
}

fn find_open(view: &dyn View, key_row: &KeyRow, open_key: &[u8]) -> Result<KeyInfo, OmError> {
    key_row.open(view, open_key)?.ok_or_else(|| {
        let key = String::from_utf8_lossy(open_key);
        OmError::KeyNotFound(format!("Open Key not found {key}"))
    })
}

impl Write for AllocateBlock {
    const PREPARE: Decision<AllocateBlockRequest> = Decision::FieldsAndBlocks(prepare);

    fn apply(
        request: AllocateBlockRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        let mut location = request.key_location.ok_or_else(|| OmError::missing("KeyLocation"))?;
        locations::strip(&mut location);
        let key_row = KeyRow::of_args(cx.view, &args)?;
        let open_key = tables::open_key(&key_row.key, request.client_id);
        let mut open = find_open(cx.view, &key_row, &open_key)?;
        hsync::check_owned(&open)?;
        lease::check_not_recovering(&open, &open_key)?;
        if open.key_location_list.is_empty() {
            open.key_location_list.push(KeyLocationList { version: Some(0), ..Default::default() });
        }
        let replication = replication::of_key(&open)?;
        if let Some(latest) = open.key_location_list.last_mut() {
            latest.key_locations.push(location.clone());
            let reserved = usage::reserved(&replication, &latest.key_locations);
            usage::check_bytes(&key_row.bucket, reserved)?;
        }
        open.modification_time = args.modification_time.unwrap_or(open.modification_time);
        open.update_id = Some(cx.tx.index);
        key_row.put_open(cx, open_key, &open);
        let mut r = response::ok(Type::AllocateBlock);
        r.allocate_block_response =
            Some(Box::new(AllocateBlockResponse { key_location: Some(location) }));
        Ok(r)
    }
}
