//! `o3 sh snapshot listDiff`.

use clap::Args;
use config::Configuration;

use crate::address::Address;
use crate::{ShellError, output, render};

/// List the snapshot diffs of a bucket as JSON.
#[derive(Debug, Clone, Args)]
pub struct ListDiff {
    /// The bucket: /vol1/bucket1
    address: String,
    /// Only diffs with this status: queued, in_progress, done, failed, rejected, cancelled.
    #[arg(long, default_value = "in_progress", value_name = "STATUS")]
    job_status: String,
    /// List diffs with any status.
    #[arg(long, conflicts_with = "job_status")]
    all_status: bool,
    /// Maximum number of entries.
    #[arg(short = 'l', long = "length", default_value_t = 100, value_name = "N")]
    length: usize,
    /// List all entries.
    #[arg(short = 'a', long, conflicts_with = "length")]
    all: bool,
    /// Only entries after this job.
    #[arg(short = 's', long, default_value = "", value_name = "JOB")]
    start: String,
}

/// Runs the command.
pub(crate) async fn run(args: ListDiff, conf: &Configuration) -> Result<(), ShellError> {
    let address = Address::parse(&args.address)?;
    let (volume, bucket) = address.bucket()?;
    let limit = match (args.all, args.length) {
        (true, _) => usize::MAX,
        (false, 0) => {
            return Err(ShellError::Usage("List length should be a positive number".into()));
        }
        (false, length) => length,
    };
    let status = (!args.all_status).then_some(args.job_status.as_str());
    let client = address.client(conf)?;
    let jobs = client.list_snapshot_diffs(volume, bucket, status, &args.start);
    output::list(jobs, limit, render::snapshot::job).await.map(drop)
}
