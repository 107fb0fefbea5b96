//! `ombr`: removes buckets.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::RunArgs;
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};
use crate::target::Target;

/// Remove buckets that `ombg` created with the same prefix. A missing or non-empty bucket is a
/// failed test.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ombr -n 1000 -t 16 -v vol1 -p bucket")]
pub struct Ombr {
    #[command(flatten)]
    run: RunArgs,
    /// Volume.
    #[arg(short = 'v', long, default_value = "vol1", value_name = "NAME")]
    volume: String,
}

struct Buckets {
    target: Target,
    prefix: String,
}

/// Runs the generator.
pub(crate) async fn run(args: Ombr, conf: &Configuration) -> Result<Report, FreonError> {
    let prefix = args.run.named_prefix("buckets to remove")?;
    let target = Target::named(args.run.clients, &args.volume, "", None, conf)?;
    let buckets = Buckets { target, prefix: prefix.to_owned() };
    run_generator(&args.run, prefix, buckets).await
}

impl Generator for Buckets {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let (client, name) = (self.target.client(number), format!("{}{number}", self.prefix));
        let began = Instant::now();
        client.delete_bucket(&self.target.volume, &name).await?;
        tally.timed("bucket-remove", began);
        Ok(())
    }
}
