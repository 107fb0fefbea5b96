//! `ockv`: reads keys that ockg created and compares their content.

use std::time::Instant;

use clap::Args;
use config::Configuration;

use crate::FreonError;
use crate::args::{BucketArgs, RunArgs};
use crate::digest::Digest;
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};
use crate::target::Target;

/// Read keys that `ockg` created with the same prefix, and compare the digest of each with the
/// first one's.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ockv -n 10000 -t 16 -v vol1 -b bucket1 -p run1")]
pub struct Ockv {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    bucket: BucketArgs,
    /// Compute the digest while the key is read. Always the case here: a key is never held in
    /// memory as a whole.
    #[arg(short = 's', long)]
    stream: bool,
}

struct Validator {
    target: Target,
    prefix: String,
    first: Digest,
}

/// Runs the generator.
pub(crate) async fn run(args: Ockv, conf: &Configuration) -> Result<Report, FreonError> {
    let prefix = args.run.named_prefix("keys to validate")?;
    let target = Target::existing(args.run.clients, &args.bucket, conf)?;
    let first = Digest::of_key(target.client(0), &target.key(prefix, 0)).await?;
    let validator = Validator { target, prefix: prefix.to_owned(), first };
    run_generator(&args.run, prefix, validator).await
}

impl Generator for Validator {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let began = Instant::now();
        let key = self.target.key(&self.prefix, number);
        let found = Digest::of_key(self.target.client(number), &key).await?;
        found.compare(&self.first, &key)?;
        tally.timed("key-validate", began);
        tally.bytes += found.bytes();
        Ok(())
    }
}
