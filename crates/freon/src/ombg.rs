//! `ombg`: creates buckets.

use std::time::Instant;

use clap::Args;
use client::BucketSpec;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Create buckets with the cluster's default layout. They are named `PREFIXNUMBER`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ombg -n 1000 -t 16 -v vol1 -p bucket")]
pub struct Ombg {
    #[command(flatten)]
    run: RunArgs,
    /// Volume; created if missing.
    #[arg(short = 'v', long, default_value = "vol1", value_name = "NAME")]
    volume: String,
}

struct Buckets {
    target: Target,
    prefix: String,
}

/// Runs the generator.
pub(crate) async fn run(args: Ombg, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Target::named(args.run.clients, &args.volume, "", None, conf)?;
    target.ensure_volume().await?;
    let prefix = prefix(&args.run.prefix);
    run_generator(&args.run, &prefix.clone(), Buckets { target, prefix }).await
}

impl Generator for Buckets {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let (client, name) = (self.target.client(number), format!("{}{number}", self.prefix));
        let began = Instant::now();
        client.create_bucket(&self.target.volume, &name, BucketSpec::default()).await?;
        tally.timed("bucket-create", began);
        Ok(())
    }
}
