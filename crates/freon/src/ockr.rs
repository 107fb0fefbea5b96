//! `ockr`: removes keys.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::{BucketArgs, RunArgs};
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};
use crate::target::Target;

/// Remove keys that `ockg` or `omkg` created with the same prefix. A missing key is a failed test.
/// `ocklr` reads keys.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ockr -n 10000 -t 16 -v vol1 -b bucket1 -p run1")]
pub struct Ockr {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    bucket: BucketArgs,
}

struct Remover {
    target: Target,
    prefix: String,
}

/// Runs the generator.
pub(crate) async fn run(args: Ockr, conf: &Configuration) -> Result<Report, FreonError> {
    let prefix = args.run.named_prefix("keys to remove")?;
    let target = Target::existing(args.run.clients, &args.bucket, conf)?;
    let remover = Remover { target, prefix: prefix.to_owned() };
    run_generator(&args.run, prefix, remover).await
}

impl Generator for Remover {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        let key = self.target.key(&self.prefix, number);
        self.target.client(number).delete_key(&key).await?;
        tally.timed("remove", began);
        Ok(())
    }
}
