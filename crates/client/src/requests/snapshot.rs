//! Snapshots of buckets: create, info, list, rename, delete, diff.

use futures::future::BoxFuture;
use futures::stream::{self, Stream, TryStreamExt};
use proto::ozone::{self as om, SnapshotDiffJobProto, SnapshotDiffResponse, SnapshotInfo};

use crate::om::command::{
    CancelSnapshotDiff, CreateSnapshot, DeleteSnapshot, GetSnapshotInfo, ListSnapshot,
    ListSnapshotDiffJobs, RenameSnapshot, SnapshotDiff, SubmitSnapshotDiff,
};
use crate::{Client, Error, Result};

/// Number of snapshots or jobs per page.
const PAGE: u32 = 1000;

/// Two snapshots of a bucket to compare.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotPair<'a> {
    /// Volume.
    pub volume: &'a str,
    /// Bucket.
    pub bucket: &'a str,
    /// Snapshot at the start of the changes.
    pub from: &'a str,
    /// Snapshot at the end of the changes.
    pub to: &'a str,
}

impl Client {
    /// Creates a snapshot of a bucket, which OM names if `name` is `None`.
    ///
    /// # Errors
    /// `FILE_ALREADY_EXISTS`, `INVALID_SNAPSHOT_ERROR`, `TOO_MANY_SNAPSHOTS`, or a failure to reach
    /// OM.
    pub fn create_snapshot<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<SnapshotInfo>> {
        Box::pin(async move {
            let request = om::CreateSnapshotRequest {
                volume_name: Some(volume.to_owned()),
                bucket_name: Some(bucket.to_owned()),
                snapshot_name: name.map(str::to_owned),
                ..Default::default()
            };
            let answer = self.om::<CreateSnapshot>(&request).await?;
            answer.snapshot_info.ok_or_else(|| Error::om_reply("no snapshot in CreateSnapshot"))
        })
    }

    /// All information about a snapshot.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, or a failure to reach OM.
    pub fn snapshot_info<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<SnapshotInfo>> {
        Box::pin(async move {
            let request = om::SnapshotInfoRequest {
                volume_name: Some(volume.to_owned()),
                bucket_name: Some(bucket.to_owned()),
                snapshot_name: Some(name.to_owned()),
            };
            let answer = self.om::<GetSnapshotInfo>(&request).await?;
            answer.snapshot_info.ok_or_else(|| Error::om_reply("no snapshot in GetSnapshotInfo"))
        })
    }

    /// Renames a snapshot.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, `FILE_ALREADY_EXISTS`, `FEATURE_NOT_ENABLED`, or a failure to reach OM.
    pub fn rename_snapshot<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        from: &'a str,
        to: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::RenameSnapshotRequest {
                volume_name: Some(volume.to_owned()),
                bucket_name: Some(bucket.to_owned()),
                snapshot_old_name: Some(from.to_owned()),
                snapshot_new_name: Some(to.to_owned()),
                rename_time: None,
            };
            self.om::<RenameSnapshot>(&request).await.map(drop)
        })
    }

    /// Deletes a snapshot.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, or a failure to reach OM.
    pub fn delete_snapshot<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let request = om::DeleteSnapshotRequest {
                volume_name: Some(volume.to_owned()),
                bucket_name: Some(bucket.to_owned()),
                snapshot_name: Some(name.to_owned()),
                deletion_time: None,
            };
            self.om::<DeleteSnapshot>(&request).await.map(drop)
        })
    }

    /// The snapshots of a bucket whose names begin with `prefix` and come after `start_after`, page
    /// by page.
    pub fn list_snapshots<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        prefix: &'a str,
        start_after: &str,
    ) -> impl Stream<Item = Result<SnapshotInfo>> + Send + 'a {
        stream::try_unfold(Some(start_after.to_owned()), move |after| async move {
            let Some(after) = after else { return Ok::<_, Error>(None) };
            let request = om::ListSnapshotRequest {
                volume_name: Some(volume.to_owned()),
                bucket_name: Some(bucket.to_owned()),
                prefix: Some(prefix.to_owned()),
                prev_snapshot: Some(after),
                max_list_result: Some(PAGE),
            };
            let page = self.om::<ListSnapshot>(&request).await?;
            let next = page.last_snapshot.filter(|last| !last.is_empty());
            Ok(Some((stream::iter(page.snapshot_info.into_iter().map(Ok)), next)))
        })
        .try_flatten()
    }

    /// Starts the diff of two snapshots; returns OM's response.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, or a failure to reach OM.
    pub fn submit_snapshot_diff<'a>(
        &'a self,
        pair: SnapshotPair<'a>,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let request = om::SubmitSnapshotDiffRequest {
                volume_name: Some(pair.volume.to_owned()),
                bucket_name: Some(pair.bucket.to_owned()),
                from_snapshot: Some(pair.from.to_owned()),
                to_snapshot: Some(pair.to.to_owned()),
                ..Default::default()
            };
            Ok(self.om::<SubmitSnapshotDiff>(&request).await?.response.unwrap_or_default())
        })
    }

    /// A page of the diff of two snapshots, if it is complete.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, or a failure to reach OM.
    pub fn snapshot_diff<'a>(
        &'a self,
        pair: SnapshotPair<'a>,
        token: &'a str,
        page_size: u32,
    ) -> BoxFuture<'a, Result<SnapshotDiffResponse>> {
        Box::pin(async move {
            let request = om::SnapshotDiffRequest {
                volume_name: Some(pair.volume.to_owned()),
                bucket_name: Some(pair.bucket.to_owned()),
                from_snapshot: Some(pair.from.to_owned()),
                to_snapshot: Some(pair.to.to_owned()),
                token: Some(token.to_owned()),
                page_size: Some(page_size),
                ..Default::default()
            };
            self.om::<SnapshotDiff>(&request).await
        })
    }

    /// Cancels a diff; returns OM's response.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, or a failure to reach OM.
    pub fn cancel_snapshot_diff<'a>(
        &'a self,
        pair: SnapshotPair<'a>,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let request = om::CancelSnapshotDiffRequest {
                volume_name: Some(pair.volume.to_owned()),
                bucket_name: Some(pair.bucket.to_owned()),
                from_snapshot: Some(pair.from.to_owned()),
                to_snapshot: Some(pair.to.to_owned()),
            };
            Ok(self.om::<CancelSnapshotDiff>(&request).await?.reason.unwrap_or_default())
        })
    }

    /// The diff jobs of a bucket after job `start_after`, with one status or all, page by page.
    pub fn list_snapshot_diffs<'a>(
        &'a self,
        volume: &'a str,
        bucket: &'a str,
        status: Option<&'a str>,
        start_after: &str,
    ) -> impl Stream<Item = Result<SnapshotDiffJobProto>> + Send + 'a {
        stream::try_unfold(Some(start_after.to_owned()), move |after| async move {
            let Some(after) = after else { return Ok::<_, Error>(None) };
            let request = om::ListSnapshotDiffJobRequest {
                volume_name: volume.to_owned(),
                bucket_name: bucket.to_owned(),
                job_status: status.map(str::to_owned),
                list_all: Some(status.is_none()),
                prev_snapshot_diff_job: Some(after),
                max_list_result: Some(PAGE),
            };
            let page = self.om::<ListSnapshotDiffJobs>(&request).await?;
            let next = page.last_snapshot_diff_job.filter(|last| !last.is_empty());
            Ok(Some((stream::iter(page.snapshot_diff_job.into_iter().map(Ok)), next)))
        })
        .try_flatten()
    }
}
