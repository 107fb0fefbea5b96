//! ListBuckets.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use proto::ozone::{ListBucketsRequest, ListBucketsResponse, OmResponse, Type};

use crate::authorizer::{Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::volume;
use crate::tables::{Table, bucket_key, prefix_end};

pub(crate) struct ListBuckets;

impl Command for ListBuckets {
    const TYPE: Type = Type::ListBuckets;
    const AUDIT: &'static str = "LIST_BUCKETS";
    const RIGHTS: Rights<ListBucketsRequest> = Rights::Required(|request, guard| {
        guard.require(Target::volume(&request.volume_name), Right::List)
    });
    request_part!(list_buckets_request: ListBucketsRequest);

    fn audit(request: &ListBucketsRequest) -> AuditParams {
        audit::volume(&request.volume_name)
    }
}

impl Read for ListBuckets {
    fn read(request: &ListBucketsRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        volume::find(cx.view, &request.volume_name)?;
        let page = cx.page(request.count.map(i64::from));
        let first = bucket_key(&request.volume_name, request.prefix.as_deref().unwrap_or(""));
        let after = bucket_key(&request.volume_name, request.start_key.as_deref().unwrap_or(""));
        let start = first.as_slice().max(&after);
        let mut keys = Vec::new();
        let with_snapshot = match request.has_snapshot {
            Some(true) => Some(with_snapshot(cx)?),
            _ => None,
        };
        let end = prefix_end(&first);
        cx.view.scan(Table::BucketTable, start, end.as_deref(), &mut |key, _| {
            if key != after && with_snapshot.as_ref().is_none_or(|buckets| buckets.contains(key)) {
                keys.push(key.to_vec());
            }
            if keys.len() < page { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut bucket_info = Vec::with_capacity(keys.len());
        for key in keys {
            // Through `bucket`, whose counters are the newest.
            bucket_info.extend(cx.view.bucket(&key)?.map(|bucket| bucket.to_info()));
        }
        let mut r = response::ok(Type::ListBuckets);
        r.list_buckets_response = Some(Box::new(ListBucketsResponse { bucket_info }));
        Ok(r)
    }
}

/// The buckets that have a snapshot.
fn with_snapshot(cx: &ReadContext<'_>) -> Result<BTreeSet<Vec<u8>>, OmError> {
    let snapshots = cx.view.snapshots()?;
    let active = snapshots.all().filter(|(_, layer)| layer.active);
    Ok(active.filter_map(|(_, layer)| layer.bucket_key().map(<[u8]>::to_vec)).collect())
}
