//! DeleteSnapshot: hides the snapshot from clients; its rows are deleted in the background.

use proto::ozone::{
    DeleteSnapshotRequest, DeleteSnapshotResponse, OmResponse, SnapshotStatusProto, Type,
};

use super::find;
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

pub(crate) struct DeleteSnapshot;

impl Command for DeleteSnapshot {
    const TYPE: Type = Type::DeleteSnapshot;
    const AUDIT: &'static str = "DELETE_SNAPSHOT";
    const RIGHTS: Rights<DeleteSnapshotRequest> = Rights::Required(|request, guard| {
        let (volume, bucket) = (request.volume_name.as_deref(), request.bucket_name.as_deref());
        find::require_owner(guard, volume, bucket, "delete")
    });
    request_part!(delete_snapshot_request: DeleteSnapshotRequest);

    fn audit(request: &DeleteSnapshotRequest) -> AuditParams {
        super::audit(&request.volume_name, &request.bucket_name, &request.snapshot_name)
    }
}

fn prepare(request: &mut DeleteSnapshotRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    find::check_enabled(Type::DeleteSnapshot, ctx.settings)?;
    find::resolve(ctx.view, &mut request.volume_name, &mut request.bucket_name)?;
    request.deletion_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for DeleteSnapshot {
    const PREPARE: Decision<DeleteSnapshotRequest> = Decision::Fields(prepare);

    fn apply(
        request: DeleteSnapshotRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let (volume, bucket_name) =
            (request.volume_name.unwrap_or_default(), request.bucket_name.unwrap_or_default());
        let name = request.snapshot_name.unwrap_or_default();
        let mut info = find::find(cx.view, &volume, &bucket_name, &name)?
            .ok_or_else(|| OmError::FileNotFound("Snapshot does not exist".to_owned()))?;
        if !find::is_active(&info) {
            return Err(OmError::FileNotFound(
                "Snapshot is already deleted. Pending reclamation.".to_owned(),
            ));
        }
        let index = find::index_of(&info, &volume, &bucket_name, &name)?;
        info.snapshot_status = Some(SnapshotStatusProto::SnapshotDeleted as i32);
        info.deletion_time = request.deletion_time;
        info.last_transaction_info = Some(transaction_info(cx.tx.term, cx.tx.index).into());
        let info_key = snapshot_key(&volume, &bucket_name, &name);
        let scope = scope(cx.view, &bucket::find(cx.view, &volume, &bucket_name)?)?;
        let id = find::uuid_bytes(info.snapshot_id.as_ref());
        let layer = Layer { index, active: false, id, info_key: info_key.clone() };
        cx.put(Table::SnapshotInfoTable, info_key, &info);
        cx.effects.push(Effect::Put {
            table: Table::SnapshotTable,
            key: chain::key(&scope, index),
            value: layer.value().into(),
        });
        let mut r = response::ok(Type::DeleteSnapshot);
        r.delete_snapshot_response = Some(Box::new(DeleteSnapshotResponse {}));
        Ok(r)
    }
}
