//! QuotaRepair: applies a recount as differences, so that later changes count too.

use proto::ozone::{OmResponse, QuotaRepairRequest, QuotaRepairResponse, Type, VolumeInfo};

use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::row::Bucket;
use crate::state::view;
use crate::tables::{Table, bucket_key, prefix_end, volume_key};

/// The quota of buckets and volumes from before there were quotas.
const OLD: i64 = -2;
const UNLIMITED: i64 = -1;

pub(crate) struct QuotaRepair;

impl Command for QuotaRepair {
    const TYPE: Type = Type::QuotaRepair;
    const AUDIT: &'static str = "QuotaRepair";
    const RIGHTS: Rights<QuotaRepairRequest> = Rights::Om;
    request_part!(quota_repair_request: QuotaRepairRequest);
}

impl Write for QuotaRepair {
    const PREPARE: Decision<QuotaRepairRequest> = Decision::Nothing;

    fn apply(
        request: QuotaRepairRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        for count in request.bucket_count {
            let key = bucket_key(&count.vol_name, &count.bucket_name);
            // Deleted since it was counted: nothing to put right.
            let Some(mut bucket) = cx.view.bucket(&key)? else { continue };
            if count.support_old_quota {
                bucket = with_quotas(&bucket);
            }
            bucket.used_bytes = bucket.used_bytes.saturating_add_signed(count.diff_used_bytes);
            bucket.used_namespace =
                bucket.used_namespace.saturating_add_signed(count.diff_used_namespace);
            cx.put_bucket(key, bucket);
        }
        if request.support_volume_old_quota {
            set_volume_quotas(cx)?;
        }
        let mut r = response::ok(Type::QuotaRepair);
        r.quota_repair_response = Some(Box::new(QuotaRepairResponse {}));
        Ok(r)
    }
}

fn with_quotas(bucket: &Bucket) -> Bucket {
    let mut info = bucket.to_info();
    for quota in [&mut info.quota_in_bytes, &mut info.quota_in_namespace] {
        if quota.is_none_or(|q| q == OLD) {
            *quota = Some(UNLIMITED);
        }
    }
    Bucket::new(info)
}

fn set_volume_quotas(cx: &mut ApplyContext<'_>) -> Result<(), OmError> {
    let all = volume_key("");
    let mut names = Vec::new();
    cx.view.scan(Table::VolumeTable, &all, prefix_end(&all).as_deref(), &mut |key, _| {
        names.push(key.to_vec());
        std::ops::ControlFlow::Continue(())
    })?;
    for key in names {
        let Some(mut info) = view::get::<VolumeInfo>(cx.view, Table::VolumeTable, &key)? else {
            continue;
        };
        let old = info.quota_in_bytes == Some(OLD.cast_unsigned())
            || info.quota_in_namespace == Some(OLD);
        if old {
            info.quota_in_bytes = info
                .quota_in_bytes
                .map(|q| if q == OLD.cast_unsigned() { UNLIMITED.cast_unsigned() } else { q });
            info.quota_in_namespace =
                info.quota_in_namespace.map(|q| if q == OLD { UNLIMITED } else { q });
            cx.put(Table::VolumeTable, key, &info);
        }
    }
    Ok(())
}
