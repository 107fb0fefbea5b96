//! `obrwk`: many tasks list and write keys.

use std::sync::Arc;

use clap::Args;
use client::{CreateKey, ListKeys};
use config::Configuration;

use crate::FreonError;
use crate::args::{RunArgs, TargetArgs};
use crate::content::Content;
use crate::read_write::{Counts, ReadWrite, ReadWriteArgs, ReadWriteTarget};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Write keys, list them from many tasks, and write more from others, to measure how requests to
/// one bucket affect each other. Each test does all of it once.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon obrwk -n 1 -t 1 -k 1000 -c 50 -T 80 -R 20 -w 10 -W 10"
)]
pub struct Obrwk {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    read_write: ReadWriteArgs,
    /// Number of keys to list.
    #[arg(short = 'k', long, default_value_t = 100, value_name = "N")]
    key_count_for_read: u32,
    /// Number of keys that a task writes per round.
    #[arg(short = 'w', long, default_value_t = 10, value_name = "N")]
    key_count_for_write: u32,
}

/// A bucket with the keys of the run.
struct Bucket(Target);

impl ReadWriteTarget for Bucket {
    async fn make(&self, _: &str) -> Result<(), FreonError> {
        Ok(())
    }

    async fn write(&self, test: u64, name: String, content: &Content) -> Result<(), FreonError> {
        self.0.write(test, CreateKey::new(self.0.path(name)), content).await
    }

    async fn list(&self, test: u64, directory: &str, made: u32) -> Result<u64, FreonError> {
        let list = ListKeys::new(&self.0.volume, &self.0.bucket).prefix(format!("{directory}/"));
        let page = self.0.client(test).list_key_infos_page(&list, made.max(1)).await?;
        Ok(page.0.len() as u64)
    }
}

/// Runs the generator.
pub(crate) async fn run(args: Obrwk, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Target::open(args.run.clients, &args.target, conf)?;
    target.ensure().await?;
    let counts = Counts { for_read: args.key_count_for_read, for_write: args.key_count_for_write };
    let generator = Arc::new(ReadWrite::new(Bucket(target), args.read_write, counts));
    run_generator(&args.run, &prefix(&args.run.prefix), generator).await
}

impl Generator for Arc<ReadWrite<Bucket>> {
    async fn test(&self, _: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        ReadWrite::test(self, tally).await
    }
}
