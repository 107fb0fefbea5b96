//! `o3 sh snapshot diff`.

use clap::Args;
use client::SnapshotPair;
use config::Configuration;
use proto::ozone::SnapshotDiffResponse;
use proto::ozone::snapshot_diff_response::JobStatusProto;

use crate::address::Address;
use crate::{ShellError, output, render};

/// Compare two snapshots of a bucket: without options the comparison starts, with --get-report its
/// result is shown.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 sh snapshot diff /vol1/bucket1 monday tuesday\n  \
    o3 sh snapshot diff /vol1/bucket1 monday tuesday --get-report")]
pub struct Diff {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Snapshot at the start of the changes.
    from: String,
    /// Snapshot at the end of the changes.
    to: String,
    /// Show the report.
    #[arg(short = 'r', long)]
    get_report: bool,
    /// Maximum number of entries of the report; OM may return fewer.
    #[arg(short = 'p', long, default_value_t = 1000, value_name = "N")]
    page_size: u32,
    /// Start of the page: the token at the end of the previous page.
    #[arg(short = 't', long, default_value = "", value_name = "TOKEN")]
    token: String,
    /// Cancel the comparison.
    #[arg(short = 'c', long, conflicts_with = "get_report")]
    cancel: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) async fn run(args: Diff, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let client = address.client(conf)?;
    let pair = SnapshotPair { volume, bucket, from: &args.from, to: &args.to };
    if args.cancel {
        return output::line(client.cancel_snapshot_diff(pair).await?.trim_end());
    }
    if !args.get_report {
        return output::line(client.submit_snapshot_diff(pair).await?.trim_end());
    }
    let answer = client.snapshot_diff(pair, &args.token, args.page_size).await?;
    match args.json {
        true => output::value(&render::snapshot::diff(&answer)),
        false => output::line(text(&answer)),
    }
}

/// The human-readable output.
fn text(answer: &SnapshotDiffResponse) -> String {
    match answer.job_status() {
        JobStatusProto::Done => {
            let report = answer.snapshot_diff_report.clone().unwrap_or_default();
            let mut text = format!(
                "Difference between snapshot: {} and snapshot: {}",
                report.from_snapshot(),
                report.to_snapshot()
            );
            for entry in &report.diff_list {
                text.push('\n');
                text.push_str(&render::snapshot::entry_line(entry));
            }
            if let Some(token) = report.token.filter(|token| !token.is_empty()) {
                text.push_str("\nNext token: ");
                text.push_str(&token);
            }
            text
        }
        JobStatusProto::NotFound => "No snapshot diff job found. Job may not have been submitted \
                                     or was removed during cleanup.\nSubmit a new snapshot diff \
                                     job without using the --get-report option."
            .to_owned(),
        JobStatusProto::Failed => format!(
            "Snapshot diff job is FAILED due to '{}'.\n Please resubmit the job without using the \
             --get-report option.",
            answer.reason()
        ),
        status => format!(
            "Snapshot diff job is {}. Please retry after {} ms.",
            status.as_str_name(),
            answer.wait_time_in_ms()
        ),
    }
}
