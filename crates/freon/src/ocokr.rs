//! `ocokr`: reads one key from many tasks and compares its content.

use std::time::Instant;

use clap::Args;
use client::KeyPath;
use config::Configuration;

use crate::FreonError;
use crate::args::{BucketArgs, RunArgs};
use crate::digest::Digest;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Read the same key from many tasks, and compare the digest of each read with the first one's.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ocokr -n 10000 -t 16 -v vol1 -b bucket1 -k run1/0")]
pub struct Ocokr {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    bucket: BucketArgs,
    /// Name of the key.
    #[arg(short = 'k', long, value_name = "NAME")]
    key: String,
    /// Compute the digest while the key is read. Always the case here: a key is never held in
    /// memory as a whole.
    #[arg(short = 's', long)]
    stream: bool,
}

struct OneKey {
    target: Target,
    path: KeyPath,
    first: Digest,
}

/// Runs the generator.
pub(crate) async fn run(args: Ocokr, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Target::existing(args.run.clients, &args.bucket, conf)?;
    let path = target.path(&args.key);
    let first = Digest::of_key(target.client(0), &path).await?;
    let generator = OneKey { target, path, first };
    run_generator(&args.run, &prefix(&args.run.prefix), generator).await
}

impl Generator for OneKey {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        let found = Digest::of_key(self.target.client(number), &self.path).await?;
        found.compare(&self.first, &self.path)?;
        tally.timed("key-validate", began);
        tally.bytes += found.bytes();
        Ok(())
    }
}
