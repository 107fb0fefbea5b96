//! CreateVolume.

use proto::ozone::{
    CreateVolumeRequest, CreateVolumeResponse, OmRequest, OmResponse, Type, VolumeInfo,
};

use super::owner;
use crate::authorizer::{Right, Target};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::limits;
use crate::state::names::validate_volume_name;
use crate::tables::{Table, volume_key};

/// Object id of the volume of S3, which is there before any transaction: epoch 2, the highest
/// transaction number.
const S3_VOLUME_OBJECT_ID: u64 = 0xBFFF_FFFF_FFFF_FF00;

/// Value of an unset quota.
const UNLIMITED: i64 = -1;

pub(crate) struct CreateVolume;

impl Command for CreateVolume {
    const TYPE: Type = Type::CreateVolume;
    const AUDIT: &'static str = "CREATE_VOLUME";
    const RIGHTS: Rights<CreateVolumeRequest> = Rights::Required(|request, guard| {
        guard.require(Target::volume(&request.volume_info.volume), Right::Create)
    });
    request_part!(create_volume_request: CreateVolumeRequest);

    fn audit(request: &CreateVolumeRequest) -> AuditParams {
        let info = &request.volume_info;
        vec![
            ("admin", info.admin_name.clone()),
            ("owner", info.owner_name.clone()),
            ("volume", info.volume.clone()),
        ]
    }
}

fn prepare(request: &mut CreateVolumeRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let info = &mut request.volume_info;
    validate_volume_name(&info.volume, ctx.settings)?;
    if info.owner_name.is_empty() {
        info.owner_name = ctx.user.to_owned();
    }
    if info.admin_name.is_empty() {
        info.admin_name = ctx.user.to_owned();
    }
    let owned = owner::volumes_of(ctx.view, &info.owner_name)?.map_or(0, |r| r.volume_names.len());
    if owned >= ctx.settings.user_max_volumes as usize {
        let limit = ctx.settings.user_max_volumes;
        return Err(OmError::TooManyVolumes { user: info.owner_name.clone(), limit });
    }
    limits::check_entries("ACLs", info.volume_acls.len())?;
    limits::check_entries("metadata entries", info.metadata.len())?;
    check_quota(info.quota_in_bytes.map(|q| q.cast_signed()), "bytes")?;
    check_quota(info.quota_in_namespace, "namespace")?;
    crate::authorizer::add_defaults_of(&mut info.volume_acls, &info.owner_name, ctx);
    info.creation_time = Some(ctx.now_ms);
    info.modification_time = Some(ctx.now_ms);
    info.object_id = None;
    info.update_id = None;
    Ok(())
}

pub(super) fn check_quota(quota: Option<i64>, kind: &str) -> Result<(), OmError> {
    match quota {
        Some(q) if q == 0 || q < -2 => {
            Err(OmError::QuotaError(format!("Invalid value for quota in {kind}: {q}")))
        }
        _ => Ok(()),
    }
}

impl Write for CreateVolume {
    const PREPARE: Decision<CreateVolumeRequest> = Decision::Fields(prepare);

    fn apply(
        request: CreateVolumeRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let mut info = request.volume_info;
        let key = volume_key(&info.volume);
        if cx.view.exists(Table::VolumeTable, &key)? {
            return Err(OmError::VolumeExists);
        }
        let object_id = match info.object_id {
            Some(S3_VOLUME_OBJECT_ID) => S3_VOLUME_OBJECT_ID,
            _ => cx.object_id(),
        };
        info.object_id = Some(object_id);
        info.update_id = Some(cx.tx.index);
        info.quota_in_bytes.get_or_insert(UNLIMITED.cast_unsigned());
        info.quota_in_namespace =
            Some(info.quota_in_namespace.filter(|q| *q > 0).unwrap_or(UNLIMITED));
        info.used_namespace = Some(0);
        info.ref_count = Some(0);
        owner::add(cx, &info.owner_name, &info.volume, object_id)?;
        cx.put(Table::VolumeTable, key, &info);
        let mut r = response::ok(Type::CreateVolume);
        r.create_volume_response = Some(Box::new(CreateVolumeResponse {}));
        Ok(r)
    }
}

/// The prepared request that makes the volume of S3 buckets. The OM proposes it when its tables
/// have none; a second one is refused like any second volume of a name.
///
/// The owner's group may do all that the owner may.
pub fn create_s3_volume_request(
    now_ms: u64,
    owner: &str,
    group: Option<&str>,
    volume: &str,
) -> OmRequest {
    let info = VolumeInfo {
        admin_name: owner.to_owned(),
        owner_name: owner.to_owned(),
        volume: volume.to_owned(),
        volume_acls: crate::authorizer::all_for(owner, group),
        creation_time: Some(now_ms),
        modification_time: Some(now_ms),
        object_id: Some(S3_VOLUME_OBJECT_ID),
        ..VolumeInfo::default()
    };
    OmRequest {
        cmd_type: Type::CreateVolume as i32,
        client_id: "om".to_owned(),
        create_volume_request: Some(Box::new(CreateVolumeRequest { volume_info: info })),
        ..OmRequest::default()
    }
}
