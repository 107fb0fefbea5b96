//! The jobs that there are, within bounds of number, memory and age.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use namespace::FoundEnds;
use parking_lot::Mutex;
use proto::ozone::snapshot_diff_response::JobStatusProto;
use proto::ozone::{DiffReportEntryProto, SnapshotDiffJobProto};
use tokio::sync::watch;

/// Most entries of all finished jobs; the oldest jobs are dropped, never the last.
const MOST_ENTRIES: usize = 5_000_000;
/// Most jobs; the oldest finished ones are dropped.
const MOST_JOBS: usize = 1_000;

/// Settings of diffs.
#[derive(Debug, Clone)]
pub(crate) struct DiffOptions {
    /// Entries of one page.
    pub(crate) page: usize,
    /// Jobs at a time.
    pub(crate) running: usize,
    /// Time after which a client is to retry.
    pub(crate) wait: Duration,
    /// Time for which a report is kept.
    pub(crate) keep: Duration,
    /// Rows that may have changed.
    pub(crate) most_changes: usize,
}

/// Reason for which a job failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotMade {
    #[error(transparent)]
    Diff(#[from] namespace::DiffError),
    #[error(transparent)]
    Tables(#[from] framed::Status),
}

/// A job as it is now.
#[derive(Debug, Clone)]
pub(super) struct Job {
    id: String,
    of: FoundEnds,
    created_ms: u64,
    pub(super) status: JobStatusProto,
    pub(super) entries: Arc<Vec<DiffReportEntryProto>>,
    pub(super) reason: Option<String>,
    ended: watch::Receiver<bool>,
    stop: Arc<AtomicBool>,
}

/// A running job.
pub(super) struct Making {
    id: String,
    stop: Arc<AtomicBool>,
    ended: watch::Sender<bool>,
}

impl Making {
    /// Returns `true` until the job is cancelled.
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

/// All jobs, by the ids of their snapshots.
pub(crate) struct DiffJobs {
    options: DiffOptions,
    jobs: Mutex<BTreeMap<String, Job>>,
}

impl DiffJobs {
    pub(crate) fn new(options: DiffOptions) -> Self {
        Self { options, jobs: Mutex::default() }
    }

    pub(super) fn options(&self) -> &DiffOptions {
        &self.options
    }

    /// The job of these snapshots.
    pub(super) fn get(&self, key: &str, now_ms: u64) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        self.forget_old(&mut jobs, now_ms);
        jobs.get(key).cloned()
    }

    /// The job of these snapshots, when it has ended or `patience` has.
    pub(super) async fn wait(&self, key: &str, patience: Duration) -> Option<Job> {
        let job = self.jobs.lock().get(key).cloned()?;
        let mut ended = job.ended.clone();
        // After a timeout or a removal, the job itself has its status.
        let _ = tokio::time::timeout(patience, ended.wait_for(|ended| *ended)).await;
        self.jobs.lock().get(key).cloned()
    }

    /// A new job; `None` when too many are being made.
    pub(super) fn begin(&self, of: &FoundEnds, now_ms: u64) -> Option<Making> {
        let mut jobs = self.jobs.lock();
        self.forget_old(&mut jobs, now_ms);
        let running = jobs.values().filter(|job| !*job.ended.borrow()).count();
        if running >= self.options.running {
            return None;
        }
        let (ended, receiver) = watch::channel(false);
        let (id, stop) = (uuid::Uuid::new_v4().to_string(), Arc::new(AtomicBool::new(false)));
        let job = Job {
            id: id.clone(),
            of: of.clone(),
            created_ms: now_ms,
            status: JobStatusProto::InProgress,
            entries: Arc::default(),
            reason: None,
            ended: receiver,
            stop: Arc::clone(&stop),
        };
        jobs.insert(of.key.clone(), job);
        Some(Making { id, stop, ended })
    }

    /// Stores the result of a job.
    pub(super) fn end(
        &self,
        key: &str,
        making: &Making,
        result: Result<Vec<DiffReportEntryProto>, NotMade>,
    ) {
        let mut jobs = self.jobs.lock();
        if let Some(job) = jobs.get_mut(key).filter(|job| job.id == making.id)
            && job.status == JobStatusProto::InProgress
        {
            match result {
                Ok(entries) => {
                    job.status = JobStatusProto::Done;
                    job.entries = Arc::new(entries);
                }
                Err(error) => {
                    let reason = error.to_string();
                    tracing::warn!(key, reason, "snapshot diff failed");
                    job.status = JobStatusProto::Failed;
                    job.reason = Some(reason);
                }
            }
        }
        making.ended.send_replace(true);
        forget_many(&mut jobs, key);
    }

    /// Cancels a job; returns its previous status, `None` if there was none.
    pub(super) fn cancel(&self, key: &str) -> Option<JobStatusProto> {
        let mut jobs = self.jobs.lock();
        let job = jobs.get_mut(key)?;
        let was = job.status;
        if was == JobStatusProto::InProgress {
            job.status = JobStatusProto::Cancelled;
            job.stop.store(true, Ordering::Relaxed);
        }
        Some(was)
    }

    /// Up to `most` jobs of a bucket after `after`, and the last one if there are more.
    pub(super) fn list(
        &self,
        bucket: &(String, String),
        status: Option<JobStatusProto>,
        after: &str,
        most: usize,
        now_ms: u64,
    ) -> (Vec<SnapshotDiffJobProto>, Option<String>) {
        let mut jobs = self.jobs.lock();
        self.forget_old(&mut jobs, now_ms);
        let mut found = jobs.iter().filter(|(key, job)| {
            key.as_str() > after
                && (&job.of.ends.volume, &job.of.ends.bucket) == (&bucket.0, &bucket.1)
                && status.is_none_or(|status| job.status == status)
        });
        let mut page = Vec::new();
        let mut last = None;
        for (key, job) in found.by_ref().take(most) {
            page.push(job.to_proto());
            last = Some(key.clone());
        }
        let more = found.next().is_some();
        (page, last.filter(|_| more))
    }

    fn forget_old(&self, jobs: &mut BTreeMap<String, Job>, now_ms: u64) {
        let keep = u64::try_from(self.options.keep.as_millis()).unwrap_or(u64::MAX);
        jobs.retain(|_, job| !*job.ended.borrow() || now_ms <= job.created_ms.saturating_add(keep));
    }
}

/// Drops finished jobs, the oldest first, until the rest is within the bounds.
fn forget_many(jobs: &mut BTreeMap<String, Job>, newest: &str) {
    loop {
        let entries: usize = jobs.values().map(|job| job.entries.len()).sum();
        if entries <= MOST_ENTRIES && jobs.len() <= MOST_JOBS {
            return;
        }
        let finished = jobs.iter().filter(|(key, job)| *job.ended.borrow() && *key != newest);
        let oldest = finished.min_by_key(|(_, job)| job.created_ms).map(|(key, _)| key.clone());
        let Some(oldest) = oldest else { return };
        jobs.remove(&oldest);
    }
}

impl Job {
    fn to_proto(&self) -> SnapshotDiffJobProto {
        let ends = &self.of.ends;
        SnapshotDiffJobProto {
            creation_time: Some(self.created_ms),
            job_id: Some(self.id.clone()),
            status: Some(self.status as i32),
            volume: Some(ends.volume.clone()),
            bucket: Some(ends.bucket.clone()),
            from_snapshot: Some(ends.from.clone()),
            to_snapshot: Some(ends.to.clone()),
            force_full_diff: Some(false),
            total_diff_entries: Some(self.entries.len() as u64),
            message: self.reason.clone(),
            disable_native_diff: Some(false),
            keys_processed_pct: Some(if *self.ended.borrow() { 100.0 } else { 0.0 }),
            ..SnapshotDiffJobProto::default()
        }
    }
}
