//! ListSnapshot: the snapshots of a bucket in the order of their names, deleted ones that are not
//! taken apart yet included.

use std::ops::ControlFlow;

use prost::Message;
use proto::ozone::{ListSnapshotRequest, ListSnapshotResponse, OmResponse, SnapshotInfo, Type};

use super::find;
use crate::authorizer::{Right, Target};
use crate::command::audit::AuditParams;
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::layers::usage::Alone;
use crate::tables::{Table, prefix_end, snapshot_key};

/// The most snapshots of one page.
const PAGE: usize = 1000;

pub(crate) struct ListSnapshot;

impl Command for ListSnapshot {
    const TYPE: Type = Type::ListSnapshot;
    const AUDIT: &'static str = "LIST_SNAPSHOT";
    const RIGHTS: Rights<ListSnapshotRequest> = Rights::Required(|request, guard| {
        let (volume, bucket) = guard.resolve(request.volume_name(), request.bucket_name())?;
        guard.require(Target::bucket(&volume, &bucket), Right::List)
    });
    request_part!(list_snapshot_request: ListSnapshotRequest);

    fn audit(request: &ListSnapshotRequest) -> AuditParams {
        super::audit(&request.volume_name, &request.bucket_name, &request.prefix)
    }
}

impl Read for ListSnapshot {
    fn read(request: &ListSnapshotRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        find::check_enabled(Type::ListSnapshot, cx.settings)?;
        let (mut volume, mut bucket) = (request.volume_name.clone(), request.bucket_name.clone());
        find::resolve(cx.view, &mut volume, &mut bucket)?;
        let (volume, bucket) = (volume.unwrap_or_default(), bucket.unwrap_or_default());
        let page = match request.max_list_result.map(usize::try_from) {
            Some(Ok(wanted)) if wanted > 0 => wanted.min(PAGE),
            _ => PAGE,
        };
        let first = snapshot_key(&volume, &bucket, request.prefix());
        let after = match request.prev_snapshot() {
            "" => Vec::new(),
            name => [snapshot_key(&volume, &bucket, name), vec![0]].concat(),
        };
        let (start, end) = (first.as_slice().max(&after), prefix_end(&first));
        let mut found: Vec<(Vec<u8>, SnapshotInfo)> = Vec::new();
        let alone = Alone::of(cx.view, &bucket::find(cx.view, &volume, &bucket)?)?;
        let (mut more, table) = (false, Table::SnapshotInfoTable);
        cx.view.scan(table, start, end.as_deref(), &mut |key, value| {
            if found.len() >= page {
                more = true;
                return ControlFlow::Break(());
            }
            // A damaged row hides its own snapshot only; SnapshotDeletingService counts them.
            found.extend(SnapshotInfo::decode(value).ok().map(|info| (key.to_vec(), info)));
            ControlFlow::Continue(())
        })?;
        for (key, info) in &mut found {
            alone.tell(cx.view, key, info)?;
        }
        let found: Vec<SnapshotInfo> = found.into_iter().map(|(_, info)| info).collect();
        let last_snapshot = found.last().filter(|_| more).and_then(|last| last.name.clone());
        let mut r = response::ok(Type::ListSnapshot);
        r.list_snapshot_response =
            Some(Box::new(ListSnapshotResponse { snapshot_info: found, last_snapshot }));
        Ok(r)
    }
}
