//! `dfsv`: reads files that dfsg created and compares their content.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::digest::Digest;
use crate::fs::{FileSystem, RootArgs};
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};

/// Read files that `dfsg` created with the same path and prefix, and compare the digest of each
/// with the first one's.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon dfsv -n 10000 -t 16 --path ofs://om/vol1/bucket1 -p run1"
)]
pub struct Dfsv {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    root: RootArgs,
}

struct Validator {
    fs: FileSystem,
    prefix: String,
    first: Digest,
}

/// Runs the generator.
pub(crate) async fn run(args: Dfsv, conf: &Configuration) -> Result<Report, FreonError> {
    let prefix = args.run.named_prefix("files to validate")?;
    let fs = FileSystem::open(args.run.clients, &args.root.root, conf).await?;
    let first = Digest::of_key(fs.target.client(0), &fs.path(&format!("{prefix}/0"))).await?;
    let validator = Validator { fs, prefix: prefix.to_owned(), first };
    run_generator(&args.run, prefix, validator).await
}

impl Generator for Validator {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let path = self.fs.path(&format!("{}/{number}", self.prefix));
        let began = Instant::now();
        let found = Digest::of_key(self.fs.target.client(number), &path).await?;
        found.compare(&self.first, &path)?;
        tally.timed("file-read", began);
        tally.bytes += found.bytes();
        Ok(())
    }
}
