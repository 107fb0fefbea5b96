//! DeleteBucket: only when nothing is in it.

use std::ops::ControlFlow;

use proto::ozone::{
    BucketLayoutProto, DeleteBucketRequest, DeleteBucketResponse, OmResponse, Type,
};

use crate::authorizer::{Right, Target};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::find::{bucket, volume};
use crate::state::layers;
use crate::state::row::Bucket;
use crate::state::tree::Tree;
use crate::state::view::View;
use crate::tables::{Table, bucket_key, object_key, prefix_end, volume_key};

pub(crate) struct DeleteBucket;

impl Command for DeleteBucket {
    const TYPE: Type = Type::DeleteBucket;
    const AUDIT: &'static str = "DELETE_BUCKET";
    const RIGHTS: Rights<DeleteBucketRequest> = Rights::Required(|request, guard| {
        guard.require(Target::bucket(&request.volume_name, &request.bucket_name), Right::Delete)
    });
    request_part!(delete_bucket_request: DeleteBucketRequest);

    fn audit(request: &DeleteBucketRequest) -> AuditParams {
        audit::bucket(&request.volume_name, &request.bucket_name)
    }
}

impl Write for DeleteBucket {
    const PREPARE: Decision<DeleteBucketRequest> = Decision::Nothing;

    fn apply(
        request: DeleteBucketRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let (volume, bucket) = (request.volume_name, request.bucket_name);
        let found = bucket::find(cx.view, &volume, &bucket)?;
        if !found.is_link() {
            let keys = object_key(&volume, &bucket, "");
            if holds_keys(cx.view, &found, &keys)? {
                return Err(OmError::BucketNotEmpty { uploads: false });
            }
            if any(cx.view, Table::MultipartInfoTable, &keys)? {
                return Err(OmError::BucketNotEmpty { uploads: true });
            }
            if !cx.view.snapshots()?.of(&layers::scope(cx.view, &found)?).is_empty() {
                return Err(OmError::ContainsSnapshot(format!(
                    "Bucket {bucket} can't be deleted when it has snapshots"
                )));
            }
        }
        let mut info = volume::find(cx.view, &volume)?;
        info.used_namespace = Some(info.used_namespace.unwrap_or(0).saturating_sub(1));
        cx.put(Table::VolumeTable, volume_key(&volume), &info);
        cx.delete(Table::BucketTable, bucket_key(&volume, &bucket));
        let mut r = response::ok(Type::DeleteBucket);
        r.delete_bucket_response = Some(Box::new(DeleteBucketResponse {}));
        Ok(r)
    }
}

fn holds_keys(view: &dyn View, bucket: &Bucket, keys: &[u8]) -> Result<bool, OmError> {
    match bucket.layout() {
        BucketLayoutProto::Legacy | BucketLayoutProto::ObjectStore => {
            any(view, Table::KeyTable, keys)
        }
        BucketLayoutProto::FileSystemOptimized => {
            // Rows outside the bucket's tree are below a deleted directory, which is taken apart by
            // the ids in its row, even after the deletion of the bucket.
            let tree = Tree::of(view, bucket)?;
            tree.has_children(tree.bucket_id)
        }
    }
}

fn any(view: &dyn View, table: Table, prefix: &[u8]) -> Result<bool, OmError> {
    let mut found = false;
    view.scan(table, prefix, prefix_end(prefix).as_deref(), &mut |_, _| {
        found = true;
        ControlFlow::Break(())
    })?;
    Ok(found)
}
