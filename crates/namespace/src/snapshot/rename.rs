//! RenameSnapshot.

use proto::ozone::{OmResponse, RenameSnapshotRequest, RenameSnapshotResponse, Type};

use super::{find, name};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::chain::{self, Layer};
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::effect::Effect;
use crate::state::find::bucket;
use crate::state::layers::scope;
use crate::tables::{Table, snapshot_key, transaction_info};

pub(crate) struct RenameSnapshot;

impl Command for RenameSnapshot {
    const TYPE: Type = Type::RenameSnapshot;
    const AUDIT: &'static str = "RENAME_SNAPSHOT";
    const RIGHTS: Rights<RenameSnapshotRequest> = Rights::Required(|request, guard| {
        let (volume, bucket) = (request.volume_name.as_deref(), request.bucket_name.as_deref());
        find::require_owner(guard, volume, bucket, "rename")
    });
    request_part!(rename_snapshot_request: RenameSnapshotRequest);

    fn audit(request: &RenameSnapshotRequest) -> AuditParams {
        super::audit(&request.volume_name, &request.bucket_name, &request.snapshot_old_name)
    }
}

fn prepare(request: &mut RenameSnapshotRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    find::check_enabled(Type::RenameSnapshot, ctx.settings)?;
    name::validate(request.snapshot_new_name.as_deref().unwrap_or_default(), ctx.settings)?;
    if !ctx.settings.snapshot_rename {
        return Err(OmError::FeatureNotEnabled(
            "Ozone snapshot rename feature is not allowed per Ozone Manager server config"
                .to_owned(),
        ));
    }
    find::resolve(ctx.view, &mut request.volume_name, &mut request.bucket_name)?;
    request.rename_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for RenameSnapshot {
    const PREPARE: Decision<RenameSnapshotRequest> = Decision::Fields(prepare);

    fn apply(
        request: RenameSnapshotRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let (volume, bucket_name) =
            (request.volume_name.unwrap_or_default(), request.bucket_name.unwrap_or_default());
        let from = request.snapshot_old_name.unwrap_or_default();
        let to = request.snapshot_new_name.unwrap_or_default();
        if find::find(cx.view, &volume, &bucket_name, &to)?.is_some() {
            return Err(OmError::FileExists(format!("Snapshot with name {to} already exist")));
        }
        let mut info = find::find(cx.view, &volume, &bucket_name, &from)?.ok_or_else(|| {
            OmError::FileNotFound(format!("Snapshot with name {from} does not exist"))
        })?;
        if !find::is_active(&info) {
            return Err(OmError::FileNotFound(format!("Snapshot {from} is not active")));
        }
        let index = find::index_of(&info, &volume, &bucket_name, &from)?;
        info.name = Some(to.clone());
        info.last_transaction_info = Some(transaction_info(cx.tx.term, cx.tx.index).into());
        let info_key = snapshot_key(&volume, &bucket_name, &to);
        let scope = scope(cx.view, &bucket::find(cx.view, &volume, &bucket_name)?)?;
        let id = find::uuid_bytes(info.snapshot_id.as_ref());
        let layer = Layer { index, active: true, id, info_key: info_key.clone() };
        cx.delete(Table::SnapshotInfoTable, snapshot_key(&volume, &bucket_name, &from));
        cx.put(Table::SnapshotInfoTable, info_key, &info);
        cx.effects.push(Effect::Put {
            table: Table::SnapshotTable,
            key: chain::key(&scope, index),
            value: layer.value().into(),
        });
        let mut r = response::ok(Type::RenameSnapshot);
        let answer = RenameSnapshotResponse { snapshot_info: Some(info) };
        r.rename_snapshot_response = Some(Box::new(answer));
        Ok(r)
    }
}
