//! Quota repair: counts what buckets hold and puts their counters right, in the background.

use std::collections::BTreeMap;
use std::sync::Arc;

use namespace::{OmError, Table, View, ViewError, recount};
use parking_lot::Mutex;
use proto::ozone::{BucketQuotaCount, OmRequest, QuotaRepairRequest, Type};
use serde_json::json;

use super::Dispatcher;
use crate::ids::now_ms;
use crate::state::SnapshotView;

/// Buckets that are put right by one entry of the log.
const BUCKETS_AT_ONCE: usize = 100;

/// A repair was not done, or not to its end.
#[derive(Debug, thiserror::Error)]
enum RepairError {
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

/// The last repair, and the one that is running.
#[derive(Debug, Default)]
pub(crate) struct QuotaRepairs(Mutex<Status>);

#[derive(Debug, Default)]
struct Status {
    running: bool,
    task: u64,
    started_ms: u64,
    finished_ms: u64,
    error: String,
    /// What was wrong, by bucket.
    differences: BTreeMap<String, (i64, i64)>,
}

impl QuotaRepairs {
    /// Ozone's form of the status.
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

    fn begin(&self) -> bool {
        let mut status = self.0.lock();
        if status.running {
            return false;
        }
        let task = status.task + 1;
        *status = Status { running: true, task, started_ms: now_ms(), ..Status::default() };
        true
    }

    fn end(&self, result: Result<Vec<BucketQuotaCount>, RepairError>) {
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

impl Dispatcher {
    /// Begins a repair of these buckets (`/volume/bucket`), or of all; `false` when one is
    /// running.
    pub(super) fn repair_quota(self: &Arc<Self>, buckets: Vec<String>) -> bool {
        if !self.repairs.begin() {
            return false;
        }
        let dispatcher = Arc::clone(self);
        tokio::spawn(async move {
            let result = dispatcher.repair(buckets).await;
            if let Err(e) = &result {
                tracing::warn!("quota repair: {e}");
            }
            dispatcher.repairs.end(result);
        });
        true
    }

    async fn repair(
        self: &Arc<Self>,
        buckets: Vec<String>,
    ) -> Result<Vec<BucketQuotaCount>, RepairError> {
        let dispatcher = Arc::clone(self);
        let counting = tokio::task::spawn_blocking(move || dispatcher.count(&buckets));
        let found = counting.await??;
        for some in found.chunks(BUCKETS_AT_ONCE) {
            let request = OmRequest {
                cmd_type: Type::QuotaRepair as i32,
                client_id: "quota repair".to_owned(),
                quota_repair_request: Some(Box::new(QuotaRepairRequest {
                    bucket_count: some.to_vec(),
                    support_volume_old_quota: false,
                })),
                ..OmRequest::default()
            };
            let answer = self.submit_own(request).await?;
            if answer.success == Some(false) {
                return Err(RepairError::Refused(answer.message.unwrap_or_default()));
            }
        }
        Ok(found)
    }

    /// What is wrong with the counters of which bucket.
    fn count(&self, buckets: &[String]) -> Result<Vec<BucketQuotaCount>, RepairError> {
        let tables = self.tables()?;
        // Counters and what they count must be of one moment.
        let snapshot = SnapshotView::of(&tables);
        let mut wrong = Vec::new();
        for (volume, bucket) in named(&snapshot, buckets)? {
            let count = recount(&snapshot, &volume, &bucket);
            let count = count.map_err(|error| {
                let error = Box::new(error);
                RepairError::Count { volume, bucket, error }
            })?;
            wrong.extend(count.filter(|c| c.diff_used_bytes != 0 || c.diff_used_namespace != 0));
        }
        Ok(wrong)
    }
}

/// Volume and bucket of each name, or of every bucket there is.
fn named(view: &SnapshotView<'_>, names: &[String]) -> Result<Vec<(String, String)>, RepairError> {
    let split = |name: &str| {
        let (volume, bucket) = name.trim_matches('/').split_once('/')?;
        Some((volume.to_owned(), bucket.to_owned()))
    };
    if !names.is_empty() {
        let wrong = |name: &String| RepairError::NoBucket(name.clone());
        return names.iter().map(|name| split(name).ok_or_else(|| wrong(name))).collect();
    }
    let mut all = Vec::new();
    view.scan(Table::BucketTable, b"", None, &mut |key, _| {
        all.extend(split(&String::from_utf8_lossy(key)));
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(all)
}
