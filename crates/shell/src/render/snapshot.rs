//! Snapshots and snapshot diffs.

use proto::ozone::diff_report_entry_proto::DiffTypeProto;
use proto::ozone::{
    DiffReportEntryProto, SnapshotDiffJobProto, SnapshotDiffResponse, SnapshotInfo,
};
use serde_json::{Value, json};

/// A snapshot.
pub(crate) fn snapshot(info: &SnapshotInfo) -> Value {
    let id = info.snapshot_id.map(|id| {
        let bits = (u128::from(id.most_sig_bits.cast_unsigned()) << 64)
            | u128::from(id.least_sig_bits.cast_unsigned());
        let hex = format!("{bits:032x}");
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    });
    json!({
        "volumeName": info.volume_name(),
        "bucketName": info.bucket_name(),
        "name": info.name(),
        "creationTime": info.creation_time(),
        "snapshotStatus": info.snapshot_status().as_str_name(),
        "snapshotId": id,
        "snapshotPath": info.snapshot_path(),
        "checkpointDir": info.checkpoint_dir(),
        "referencedSize": info.referenced_size(),
        "referencedReplicatedSize": info.referenced_replicated_size(),
        "exclusiveSize": info.exclusive_size(),
        "exclusiveReplicatedSize": info.exclusive_replicated_size(),
    })
}

/// The symbol of a kind of change.
fn sign(entry: &DiffReportEntryProto) -> &'static str {
    match entry.diff_type() {
        DiffTypeProto::Create => "+",
        DiffTypeProto::Modify => "M",
        DiffTypeProto::Delete => "-",
        DiffTypeProto::Rename => "R",
    }
}

/// A path within the bucket.
fn path(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { format!("./{path}") }
}

/// A change as a line.
pub(crate) fn entry_line(entry: &DiffReportEntryProto) -> String {
    let source = path(entry.source_path());
    match &entry.target_path {
        Some(target) => format!("{}\t{source} -> {}", sign(entry), path(target)),
        None => format!("{}\t{source}", sign(entry)),
    }
}

/// A page of a report.
pub(crate) fn diff(answer: &SnapshotDiffResponse) -> Value {
    let report = answer.snapshot_diff_report.clone().unwrap_or_default();
    let entries: Vec<Value> = report
        .diff_list
        .iter()
        .map(|entry| {
            let mut value = json!({
                "diffType": sign(entry),
                "sourcePath": path(entry.source_path()),
            });
            if let Some(target) = &entry.target_path {
                value["targetPath"] = path(target).into();
            }
            value
        })
        .collect();
    let mut shown = json!({
        "volumeName": report.volume_name(),
        "bucketName": report.bucket_name(),
        "fromSnapshot": report.from_snapshot(),
        "toSnapshot": report.to_snapshot(),
        "diffList": entries,
    });
    if let Some(token) = report.token.filter(|token| !token.is_empty()) {
        shown["nextToken"] = token.into();
    }
    let mut value = json!({
        "snapshotDiffReport": shown,
        "jobStatus": answer.job_status().as_str_name(),
    });
    if answer.wait_time_in_ms() > 0 {
        value["waitTimeInMs"] = answer.wait_time_in_ms().into();
    }
    if !answer.reason().is_empty() {
        value["reason"] = answer.reason().into();
    }
    value
}

/// A diff job.
pub(crate) fn job(job: &SnapshotDiffJobProto) -> Value {
    json!({
        "volumeName": job.volume(),
        "bucketName": job.bucket(),
        "fromSnapshot": job.from_snapshot(),
        "toSnapshot": job.to_snapshot(),
        "jobStatus": job.status().as_str_name(),
    })
}
