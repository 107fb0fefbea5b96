//! `omkg`: creates keys without data.

use std::time::Instant;

use clap::Args;
use client::CreateKey;
use config::Configuration;

use crate::FreonError;
use crate::args::{RunArgs, TargetArgs};
use crate::content::Content;
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Create keys in OM's tables: each is opened and committed without data. Keys are named
/// `PREFIX/NUMBER`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon omkg -n 100000 -t 64 -v vol1 -b bucket1 -p run1")]
pub struct Omkg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
}

struct Keys {
    target: Target,
    prefix: String,
    nothing: Content,
}

/// Runs the generator.
pub(crate) async fn run(args: Omkg, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Target::open(args.run.clients, &args.target, conf)?;
    target.ensure().await?;
    let prefix = prefix(&args.run.prefix);
    let keys = Keys { target, prefix: prefix.clone(), nothing: Content::new(0) };
    run_generator(&args.run, &prefix, keys).await
}

impl Generator for Keys {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let key = CreateKey::new(self.target.key(&self.prefix, number));
        let began = Instant::now();
        self.target.write(number, key, &self.nothing).await?;
        tally.timed("key-create", began);
        Ok(())
    }
}
