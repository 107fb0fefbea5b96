//! The last quota repair and its result.

use std::collections::BTreeMap;

use namespace::{OmError, ViewError};
use parking_lot::Mutex;
use proto::ozone::BucketQuotaCount;
use serde_json::json;

use crate::ids::now_ms;

/// Reason for which a repair was not completed.
#[derive(Debug, thiserror::Error)]
pub(super) enum RepairError {
    #[error("no bucket: {0}")]
    NoBucket(String),
    #[error("/{volume}/{bucket}: {error}")]
    Count { volume: String, bucket: String, error: Box<OmError> },
    #[error(transparent)]
    Buckets(#[from] ViewError),
    #[error(transparent)]
    Unavailable(#[from] framed::Status),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Panicked(#[from] tokio::task::JoinError),
}

/// The last repair, and the running one.
#[derive(Debug, Default)]
pub(crate) struct QuotaRepairs(Mutex<Status>);

#[derive(Debug, Default)]
struct Status {
    running: bool,
    task: u64,
    started_ms: u64,
    finished_ms: u64,
    error: String,
    /// Corrections of the counters, by bucket.
    differences: BTreeMap<String, (i64, i64)>,
}

impl QuotaRepairs {
    /// Returns the status in Ozone's form.
    pub(super) fn status(&self) -> String {
        let status = self.0.lock();
        if status.task == 0 {
            return "{}".to_owned();
        }
        let time = |ms: u64| {
            let when = i64::try_from(ms).ok().filter(|ms| *ms > 0);
            let when = when.and_then(chrono::DateTime::from_timestamp_millis);
            when.map(|t| t.to_rfc3339()).unwrap_or_default()
        };
        let differences: BTreeMap<_, _> = status
            .differences
            .iter()
            .map(|(bucket, (bytes, names))| {
                (bucket, json!({ "DiffUsedBytes": bytes, "DiffUsedNamespace": names }))
            })
            .collect();
        json!({
            "taskId": status.task,
            "lastRunStartTime": time(status.started_ms),
            "lastRunFinishedTime": time(status.finished_ms),
            "errorMsg": status.error,
            "bucketCountDiffMap": differences,
        })
        .to_string()
    }

    pub(super) fn begin(&self) -> bool {
        let mut status = self.0.lock();
        if status.running {
            return false;
        }
        let task = status.task + 1;
        *status = Status { running: true, task, started_ms: now_ms(), ..Status::default() };
        true
    }

    pub(super) fn end(&self, result: Result<Vec<BucketQuotaCount>, RepairError>) {
        let mut status = self.0.lock();
        status.running = false;
        status.finished_ms = now_ms();
        match result {
            Ok(found) => {
                for count in found {
                    let bucket = format!("/{}/{}", count.vol_name, count.bucket_name);
                    let difference = (count.diff_used_bytes, count.diff_used_namespace);
                    status.differences.insert(bucket, difference);
                }
            }
            Err(e) => status.error = e.to_string(),
        }
    }
}
