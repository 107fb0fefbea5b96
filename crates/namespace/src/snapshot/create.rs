//! CreateSnapshot: one row, regardless of the bucket's contents.

use proto::ozone::{
    CreateSnapshotRequest, CreateSnapshotResponse, OmResponse, SnapshotInfo, SnapshotStatusProto,
    Type,
};
use types::ReplicationConfig;

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
use crate::state::row::Bucket;
use crate::tables::{Table, snapshot_key, transaction_info};

pub(crate) struct CreateSnapshot;

impl Command for CreateSnapshot {
    const TYPE: Type = Type::CreateSnapshot;
    const AUDIT: &'static str = "CREATE_SNAPSHOT";
    const RIGHTS: Rights<CreateSnapshotRequest> = Rights::Required(|request, guard| {
        let (volume, bucket) = (request.volume_name.as_deref(), request.bucket_name.as_deref());
        find::require_owner(guard, volume, bucket, "create")
    });
    request_part!(create_snapshot_request: CreateSnapshotRequest);

    fn audit(request: &CreateSnapshotRequest) -> AuditParams {
        super::audit(&request.volume_name, &request.bucket_name, &request.snapshot_name)
    }
}

fn prepare(request: &mut CreateSnapshotRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    find::check_enabled(Type::CreateSnapshot, ctx.settings)?;
    if let Some(name) = request.snapshot_name.as_deref().filter(|name| !name.is_empty()) {
        name::validate(name, ctx.settings)?;
    } else {
        request.snapshot_name = Some(name::generated(ctx.now_ms));
    }
    find::resolve(ctx.view, &mut request.volume_name, &mut request.bucket_name)?;
    let limit = ctx.settings.snapshot_limit;
    if ctx.view.snapshots()?.len() >= limit {
        return Err(OmError::TooManySnapshots(format!(
            "Snapshot limit of {limit} reached. Cannot create more snapshots. If you already \
             deleted some snapshots, please wait for the background service to complete the \
             cleanup."
        )));
    }
    request.snapshot_id = Some(find::uuid(ctx.fresh.uuid()));
    request.creation_time = Some(ctx.now_ms);
    Ok(())
}

impl Write for CreateSnapshot {
    const PREPARE: Decision<CreateSnapshotRequest> = Decision::Fields(prepare);

    fn apply(
        request: CreateSnapshotRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let (volume, name) = (request.volume_name.unwrap_or_default(), request.bucket_name);
        let bucket_name = name.unwrap_or_default();
        let snapshot = request.snapshot_name.unwrap_or_default();
        let bucket = bucket::find(cx.view, &volume, &bucket_name)?;
        if find::find(cx.view, &volume, &bucket_name, &snapshot)?.is_some() {
            return Err(OmError::FileExists("Snapshot already exists".to_owned()));
        }
        let scope = scope(cx.view, &bucket)?;
        let chains = cx.view.snapshots()?;
        let id = |layer: &Layer| find::uuid(layer.id);
        let (term, index) = (cx.tx.term, cx.tx.index);
        let here = transaction_info(term, index).into_bytes();
        let uuid = find::uuid_bytes(request.snapshot_id.as_ref());
        let info = SnapshotInfo {
            snapshot_id: request.snapshot_id,
            name: Some(snapshot.clone()),
            volume_name: Some(volume.clone()),
            bucket_name: Some(bucket_name.clone()),
            snapshot_status: Some(SnapshotStatusProto::SnapshotActive as i32),
            creation_time: request.creation_time,
            deletion_time: Some(u64::MAX),
            path_previous_snapshot_id: chains.of(&scope).last().map(id),
            global_previous_snapshot_id: chains.newest().map(id),
            snapshot_path: Some(format!("{volume}/{bucket_name}")),
            checkpoint_dir: Some(format!("-{}", find::text(uuid))),
            db_tx_sequence_number: i64::try_from(index).ok(),
            referenced_size: Some(data_size(&bucket)),
            referenced_replicated_size: Some(bucket.used_bytes),
            exclusive_size: Some(0),
            exclusive_replicated_size: Some(0),
            last_transaction_info: Some(here.clone().into()),
            create_transaction_info: Some(here.into()),
            ..SnapshotInfo::default()
        };
        let info_key = snapshot_key(&volume, &bucket_name, &snapshot);
        let layer = Layer { index, active: true, id: uuid, info_key: info_key.clone() };
        cx.put(Table::SnapshotInfoTable, info_key, &info);
        cx.effects.push(Effect::Put {
            table: Table::SnapshotTable,
            key: chain::key(&scope, index),
            value: layer.value().into(),
        });
        let mut r = response::ok(Type::CreateSnapshot);
        let answer = CreateSnapshotResponse { snapshot_info: Some(info) };
        r.create_snapshot_response = Some(Box::new(answer));
        Ok(r)
    }
}

/// Bytes of a bucket's keys without their copies, by the bucket's own replication: an estimate,
/// as Ozone's.
fn data_size(bucket: &Bucket) -> u64 {
    let config = bucket.default_replication_config.as_ref().and_then(|default| {
        let (kind, factor) = (default.r#type, default.factor);
        ReplicationConfig::from_wire(kind, factor, default.ec_replication_config.as_ref()).ok()
    });
    let used = bucket.used_bytes;
    match config.unwrap_or(ReplicationConfig::RATIS_THREE) {
        ReplicationConfig::Ec(ec) => {
            let (data, parity) = (u64::from(ec.data), u64::from(ec.parity));
            let all = data.saturating_add(parity).max(1);
            let scaled = u128::from(used).saturating_mul(data.into());
            let size = scaled.checked_div(all.into()).unwrap_or_default();
            u64::try_from(size).unwrap_or(u64::MAX)
        }
        config => used.checked_div(config.replicated_size(1)).unwrap_or(used),
    }
}
