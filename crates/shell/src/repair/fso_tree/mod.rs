//! `o3 repair om fso-tree`. Ozone: `FSORepairTool`.
//!
//! * `tables.rs`: volumes, buckets and trees of a stopped OM's database
//! * `bucket.rs`: one bucket: counts and deletions
//! * `report.rs`: the summary

mod bucket;
mod report;
mod tables;

use std::path::PathBuf;

use clap::Args;
use metastore::OfflineStore;
use namespace::Bucket;

use self::report::Report;
use super::Care;
use crate::ShellError;

/// Find entries of FILE_SYSTEM_OPTIMIZED buckets whose parent directory is missing, and mark them
/// for deletion. OM must be stopped; of several OMs all must be stopped at the same position in
/// their logs, and the database of each must be repaired.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 repair om fso-tree --db /data/om/om.db --dry-run\n  \
    o3 repair om fso-tree --db /data/om/om.db -v /vol1 -b bucket1")]
pub struct FsoTree {
    /// The database's directory, such as /data/om/om.db.
    #[arg(long, value_name = "DIR")]
    db: PathBuf,
    /// Only buckets of this volume, with or without a leading '/'.
    #[arg(short = 'v', long, value_name = "VOLUME")]
    volume: Option<String>,
    /// Only this bucket of the volume.
    #[arg(short = 'b', long, value_name = "BUCKET", requires = "volume")]
    bucket: Option<String>,
    #[command(flatten)]
    care: Care,
}

/// Runs the command.
pub(super) fn run(args: &FsoTree) -> Result<(), ShellError> {
    // Check it before asking.
    drop(OfflineStore::open_read_only(&args.db)?);
    let what = format!("Orphaned entries in {} will be marked for deletion.", args.db.display());
    let change = args.care.confirm(&what)?;
    let store = match change {
        true => OfflineStore::open(&args.db)?,
        false => OfflineStore::open_read_only(&args.db)?,
    };
    let mut report = Report::default();
    let wanted = args.volume.as_deref().map(|volume| volume.trim_start_matches('/'));
    for volume in tables::volumes(&store, wanted)? {
        args.care.say(&format!("Processing volume: /{}", volume.volume))?;
        for bucket in tables::buckets(&store, &volume.volume, args.bucket.as_deref())? {
            let bucket = Bucket::new(bucket).in_volume(volume.object_id);
            if let Some(skip) = skipped(&store, &bucket)? {
                args.care.say(&skip)?;
                continue;
            }
            let name = format!("{}/{}", bucket.volume_name, bucket.bucket_name);
            args.care.say(&format!("Processing bucket: {name}"))?;
            bucket::repair(&store, bucket, &args.care, &mut report)?;
        }
    }
    args.care.say(&report.to_string())
}

/// Returns the reason to skip a bucket.
fn skipped(store: &OfflineStore, bucket: &Bucket) -> Result<Option<String>, ShellError> {
    let (volume, name) = (&bucket.volume_name, &bucket.bucket_name);
    if !bucket.is_tree() || bucket.is_link() {
        return Ok(Some(format!("Skipping non-FSO bucket /{volume}/{name}")));
    }
    // Entries of snapshots are in the rows of the bucket, too.
    let why = format!("Skipping repair for bucket '{volume}/{name}' due to snapshot presence.");
    Ok(tables::has_snapshots(store, volume, name)?.then_some(why))
}
