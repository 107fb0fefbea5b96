//! Answers in Ozone's words.

use std::time::Duration;

use namespace::DiffEnds;
use proto::ozone::snapshot_diff_response::JobStatusProto;
use proto::ozone::{DiffReportEntryProto, SnapshotDiffReportProto, SnapshotDiffResponse};

use super::page::Page;

/// Text for a client that submits a job: the status of the existing job, QUEUED for a new one.
pub(super) fn submitted(was: JobStatusProto, reason: Option<&str>, wait: Duration) -> String {
    let wait = wait.as_millis();
    match was {
        JobStatusProto::Queued => format!(
            "Submitting a new job. Please retry after {wait} ms using --get-report option to get \
             the report.\n"
        ),
        JobStatusProto::Rejected => format!(
            "Snapshot diff job was rejected because parallel processing of snap diff jobs exceeded \
             the limit. Please try again in {wait} ms."
        ),
        was => {
            let mut text =
                format!("Previous snapshot diff attempt found. Status: {}", was.as_str_name());
            if let Some(reason) = reason {
                text.push_str(", reason: ");
                text.push_str(reason);
            }
            text.push_str(".\n");
            if matches!(was, JobStatusProto::Done | JobStatusProto::InProgress) {
                text.push_str("Please get the report using --get-report option");
                if was == JobStatusProto::InProgress {
                    text.push_str(&format!(" in {wait} ms"));
                }
                text.push_str(".\n");
            }
            text
        }
    }
}

/// Text for a client that cancels a job.
pub(super) fn cancelled(was: Option<JobStatusProto>) -> &'static str {
    match was {
        None => "Snapshot diff job doesn't exist for given parameters.",
        Some(JobStatusProto::InProgress) => "Snapshot diff job has been cancelled.",
        Some(JobStatusProto::Done) => "Snapshot diff job has already completed.",
        Some(JobStatusProto::Cancelled) => "Snapshot diff job has been cancelled already.",
        Some(JobStatusProto::Failed) => "Snapshot diff job has been failed.",
        Some(_) => "Snapshot diff job is not in cancellable state.",
    }
}

fn report(ends: &DiffEnds) -> SnapshotDiffReportProto {
    SnapshotDiffReportProto {
        volume_name: Some(ends.volume.clone()),
        bucket_name: Some(ends.bucket.clone()),
        from_snapshot: Some(ends.from.clone()),
        to_snapshot: Some(ends.to.clone()),
        ..SnapshotDiffReportProto::default()
    }
}

/// A page of a report.
pub(super) fn done(
    ends: &DiffEnds,
    entries: &[DiffReportEntryProto],
    page: &Page,
) -> SnapshotDiffResponse {
    let (diff_list, token) = page.cut(entries);
    SnapshotDiffResponse {
        snapshot_diff_report: Some(SnapshotDiffReportProto { diff_list, token, ..report(ends) }),
        job_status: Some(JobStatusProto::Done as i32),
        wait_time_in_ms: Some(0),
        ..SnapshotDiffResponse::default()
    }
}

/// The answer when there is no report.
pub(super) fn unfinished(
    ends: &DiffEnds,
    status: JobStatusProto,
    wait: Duration,
    reason: Option<String>,
) -> SnapshotDiffResponse {
    SnapshotDiffResponse {
        snapshot_diff_report: Some(report(ends)),
        job_status: Some(status as i32),
        wait_time_in_ms: Some(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
        reason,
        ..SnapshotDiffResponse::default()
    }
}
