//! Snapshot diffs: jobs that the OM that leads makes from its tables and keeps for a while. A new
//! leader makes them again; a client that requests a report from it learns that there is none.

mod answer;
mod page;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use framed::Status;
use namespace::{DiffEnds, FoundEnds, ReadContext};
use proto::ozone::snapshot_diff_response::JobStatusProto;
use proto::ozone::{
    CancelSnapshotDiffResponse, DiffReportEntryProto, ListSnapshotDiffJobResponse, OmRequest,
    OmResponse, SnapshotDiffRequest, SnapshotDiffResponse, Status as OmStatus,
    SubmitSnapshotDiffResponse, Type,
};

use super::Dispatcher;
use super::diff_jobs::{Making, NotMade};
use super::outcome::refusal;
use crate::ids::now_ms;
use crate::state::SnapshotView;

/// Time for which a request for a report waits for a running job.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most jobs of one page of a list.
const JOBS_PAGE: usize = 1000;

/// Reason for which a request for a diff is refused.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Om(#[from] namespace::OmError),
    #[error(transparent)]
    Page(#[from] page::WrongPage),
    #[error("Invalid job status: {0}")]
    JobStatus(String),
    #[error(transparent)]
    Unavailable(#[from] Status),
}

impl Dispatcher {
    /// Answers a question about snapshot diffs.
    pub(super) async fn about_diffs(
        self: &Arc<Self>,
        request: &OmRequest,
        user: &str,
        response: &mut OmResponse,
    ) -> Result<(), Result<Bytes, Status>> {
        let answered = match Type::try_from(request.cmd_type) {
            Ok(Type::SubmitSnapshotDiff) => self.submit_diff(request, user, response).await,
            Ok(Type::SnapshotDiff) => self.diff_report(request, user, response).await,
            Ok(Type::ListSnapshotDiffJobs) => self.list_diffs(request, user, response).await,
            _ => self.cancel_diff(request, user, response).await,
        };
        answered.map_err(|refused| {
            let status = match refused {
                Refused::Unavailable(status) => return Err(status),
                Refused::Om(ref e) => e.status(),
                Refused::Page(_) | Refused::JobStatus(_) => OmStatus::InternalError,
            };
            let message = refused.to_string();
            Ok(refusal(request.cmd_type, request.trace_id.clone(), status, message))
        })
    }

    /// Runs `read` on the current tables.
    async fn with_tables<T>(
        &self,
        request: &OmRequest,
        user: &str,
        read: impl FnOnce(&ReadContext<'_>) -> Result<T, namespace::OmError>,
    ) -> Result<T, Refused> {
        self.consistent(request).await?;
        let tables = self.tables()?;
        let groups = self.parts.groups.of(user);
        let settings = &self.parts.settings;
        let view = SnapshotView::of(&tables);
        Ok(read(&ReadContext { view: &view, user, groups: &groups, settings })?)
    }

    async fn ends(
        &self,
        request: &OmRequest,
        user: &str,
        named: DiffEnds,
    ) -> Result<FoundEnds, Refused> {
        self.with_tables(request, user, |cx| namespace::diff_ends(&named, cx)).await
    }

    async fn submit_diff(
        self: &Arc<Self>,
        request: &OmRequest,
        user: &str,
        response: &mut OmResponse,
    ) -> Result<(), Refused> {
        let submit = request.submit_snapshot_diff_request.clone().unwrap_or_default();
        let named = DiffEnds {
            volume: submit.volume_name().to_owned(),
            bucket: submit.bucket_name().to_owned(),
            from: submit.from_snapshot().to_owned(),
            to: submit.to_snapshot().to_owned(),
        };
        let found = self.ends(request, user, named).await?;
        let wait = self.diffs.options().wait;
        let (was, reason) = match self.diffs.get(&found.key, now_ms()) {
            Some(job) if job.status != JobStatusProto::Cancelled => (job.status, job.reason),
            _ => match self.make_diff(&found) {
                true => (JobStatusProto::Queued, None),
                false => (JobStatusProto::Rejected, None),
            },
        };
        if was == JobStatusProto::Failed {
            // The next one may do better.
            self.make_diff(&found);
        }
        let text = answer::submitted(was, reason.as_deref(), wait);
        response.submit_snapshot_diff_response =
            Some(Box::new(SubmitSnapshotDiffResponse { response: Some(text) }));
        Ok(())
    }

    /// Begins a job; `false` when there are too many.
    fn make_diff(self: &Arc<Self>, found: &FoundEnds) -> bool {
        let Some(job) = self.diffs.begin(found, now_ms()) else { return false };
        let (dispatcher, ends, key) = (Arc::clone(self), found.ends.clone(), found.key.clone());
        tokio::task::spawn_blocking(move || {
            let result = dispatcher.make(&ends, &job);
            dispatcher.diffs.end(&key, &job, result);
        });
        true
    }

    /// Makes a diff; blocks for as long as that takes.
    fn make(&self, ends: &DiffEnds, job: &Making) -> Result<Vec<DiffReportEntryProto>, NotMade> {
        let tables = self.tables()?;
        let view = SnapshotView::of(&tables);
        let most = self.diffs.options().most_changes;
        Ok(namespace::diff(&view, ends, most, &|| job.goes_on())?)
    }

    async fn diff_report(
        self: &Arc<Self>,
        request: &OmRequest,
        user: &str,
        response: &mut OmResponse,
    ) -> Result<(), Refused> {
        let wanted = request.snapshot_diff_request.clone().unwrap_or_default();
        let named = DiffEnds {
            volume: wanted.volume_name().to_owned(),
            bucket: wanted.bucket_name().to_owned(),
            from: wanted.from_snapshot().to_owned(),
            to: wanted.to_snapshot().to_owned(),
        };
        let found = self.ends(request, user, named).await?;
        let answer = self.report_of(&found, &wanted).await?;
        response.snapshot_diff_response = Some(Box::new(answer));
        Ok(())
    }

    async fn report_of(
        self: &Arc<Self>,
        found: &FoundEnds,
        wanted: &SnapshotDiffRequest,
    ) -> Result<SnapshotDiffResponse, Refused> {
        let options = self.diffs.options();
        let page = page::Page::of(wanted, options.page)?;
        if found.ends.from == found.ends.to {
            return Ok(answer::done(&found.ends, &[], &page));
        }
        // Old clients create a job by the request for its report.
        let makes = wanted.force_full_diff.is_some() || wanted.disable_native_diff.is_some();
        if makes && self.diffs.get(&found.key, now_ms()).is_none() && !self.make_diff(found) {
            return Ok(answer::unfinished(
                &found.ends,
                JobStatusProto::Rejected,
                options.wait,
                None,
            ));
        }
        let Some(job) = self.diffs.wait(&found.key, PATIENCE).await else {
            return Ok(answer::unfinished(
                &found.ends,
                JobStatusProto::NotFound,
                Duration::ZERO,
                None,
            ));
        };
        Ok(match job.status {
            JobStatusProto::Done => answer::done(&found.ends, &job.entries, &page),
            status => answer::unfinished(&found.ends, status, options.wait, job.reason),
        })
    }

    async fn list_diffs(
        self: &Arc<Self>,
        request: &OmRequest,
        user: &str,
        response: &mut OmResponse,
    ) -> Result<(), Refused> {
        let list = request.list_snapshot_diff_job_request.clone().unwrap_or_default();
        let (named, bucket) = (list.volume_name.clone(), list.bucket_name.clone());
        let bucket = self
            .with_tables(request, user, |cx| namespace::diff_bucket(&named, &bucket, cx))
            .await?;
        let status = match list.list_all() {
            true => None,
            false => {
                let wanted = list.job_status().to_ascii_uppercase();
                let status = JobStatusProto::from_str_name(&wanted)
                    .ok_or_else(|| Refused::JobStatus(list.job_status().to_owned()))?;
                Some(status)
            }
        };
        let most = match usize::try_from(list.max_list_result()) {
            Ok(most) if most > 0 => most.min(JOBS_PAGE),
            _ => JOBS_PAGE,
        };
        let after = list.prev_snapshot_diff_job();
        let (jobs, last) = self.diffs.list(&bucket, status, after, most, now_ms());
        response.list_snapshot_diff_job_response = Some(Box::new(ListSnapshotDiffJobResponse {
            snapshot_diff_job: jobs,
            last_snapshot_diff_job: last,
        }));
        Ok(())
    }

    async fn cancel_diff(
        self: &Arc<Self>,
        request: &OmRequest,
        user: &str,
        response: &mut OmResponse,
    ) -> Result<(), Refused> {
        let cancel = request.cancel_snapshot_diff_request.clone().unwrap_or_default();
        let named = DiffEnds {
            volume: cancel.volume_name().to_owned(),
            bucket: cancel.bucket_name().to_owned(),
            from: cancel.from_snapshot().to_owned(),
            to: cancel.to_snapshot().to_owned(),
        };
        let found = self.ends(request, user, named).await?;
        let reason = Some(answer::cancelled(self.diffs.cancel(&found.key)).to_owned());
        response.cancel_snapshot_diff_response =
            Some(Box::new(CancelSnapshotDiffResponse { reason }));
        Ok(())
    }
}
