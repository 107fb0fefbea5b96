//! `fr`: reads the size of one key.

use std::time::Instant;

use clap::Args;
use client::KeyPath;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Read the size of one key from many tasks, each with a client of its own: reads that any OM may
/// serve if the configuration allows follower reads.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon fr -n 10000 -t 16 -v vol1 -b bucket1 -k run1/0")]
pub struct Fr {
    #[command(flatten)]
    run: RunArgs,
    /// Volume.
    #[arg(short = 'v', long, default_value = "vol1", value_name = "NAME")]
    volume: String,
    /// Bucket.
    #[arg(short = 'b', long, default_value = "bucket1", value_name = "NAME")]
    bucket: String,
    /// Name of the key.
    #[arg(short = 'k', long, default_value = "key1", value_name = "NAME")]
    key: String,
}

struct Sizes {
    target: Target,
    path: KeyPath,
}

/// Runs the generator.
pub(crate) async fn run(args: Fr, conf: &Configuration) -> Result<Report, FreonError> {
    let clients = args.run.clients.max(args.run.threads);
    let target = Target::named(clients, &args.volume, &args.bucket, None, conf)?;
    let path = target.path(&args.key);
    run_generator(&args.run, &prefix(&args.run.prefix), Sizes { target, path }).await
}

impl Generator for Sizes {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        self.target.client(number).key_info(&self.path).await?;
        tally.timed("follower-read", began);
        Ok(())
    }
}
