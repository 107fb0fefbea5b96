//! `ockrw`: reads, writes and lists keys of a range in a mix.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use client::{CreateKey, ListKeys};
use config::Configuration;
use rand::RngExt;

use crate::FreonError;
use crate::args::RunArgs;
use crate::content::Content;
use crate::names::{RANGE_BUCKET, RANGE_VOLUME, md5_name};
use crate::report::Report;
use crate::runner::{Generator, Tally, run_generator};
use crate::target::Target;

/// Read, write and list keys of a range, whose names several clients can share. Without
/// --percentage-read and --percentage-list every test writes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon ockrw -n 1000 -r 1000 --linear --size 1024 -p run1          write the range\n  \
    o3 freon ockrw -n 10000 -r 1000 --percentage-read 90 --percentage-list 5 -p run1")]
pub struct Ockrw {
    #[command(flatten)]
    run: RunArgs,
    /// Volume; created if missing.
    #[arg(short = 'v', long, default_value = RANGE_VOLUME, value_name = "NAME")]
    volume: String,
    /// Bucket; created if missing (layout OBJECT_STORE).
    #[arg(short = 'b', long, default_value = RANGE_BUCKET, value_name = "NAME")]
    bucket: String,
    /// Request only the metadata of a key instead of reading it.
    #[arg(short = 'm', long)]
    read_metadata_only: bool,
    /// Number of the first key.
    #[arg(short = 's', long, default_value_t = 0, value_name = "N")]
    start_index: u64,
    /// Number of keys in the range.
    #[arg(short = 'r', long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    range: u64,
    /// Bytes to write or to read; a shorter key is read completely.
    #[arg(long, default_value_t = 1, value_name = "BYTES")]
    size: u64,
    /// Name keys by their numbers; otherwise by the MD5 of the number, so that consecutive keys are
    /// not adjacent.
    #[arg(long)]
    contiguous: bool,
    /// Use the keys in the order of their numbers instead of at random.
    #[arg(long)]
    linear: bool,
    /// Percentage of tests that read a key.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100), value_name = "PERCENT")]
    percentage_read: u32,
    /// Percentage of tests that list keys.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100), value_name = "PERCENT")]
    percentage_list: u32,
    /// Maximum number of keys of a listing.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    max_list_result: u32,
}

struct Mix {
    target: Target,
    prefix: String,
    content: Content,
    next: AtomicU64,
    args: Ockrw,
}

/// Runs the generator.
pub(crate) async fn run(args: Ockrw, conf: &Configuration) -> Result<Report, FreonError> {
    if args.percentage_read + args.percentage_list > 100 {
        return Err(FreonError::Usage(
            "--percentage-read and --percentage-list add up to more than 100".into(),
        ));
    }
    // As in Ozone, each task has a client.
    let clients = args.run.clients.max(args.run.threads);
    let target = Target::named(clients, &args.volume, &args.bucket, None, conf)?;
    target.ensure().await?;
    let content = Content::new(args.size);
    let (run, prefix) = (args.run.clone(), args.run.prefix.clone());
    let mix = Mix { target, prefix: prefix.clone(), content, next: AtomicU64::new(0), args };
    run_generator(&run, &prefix, mix).await
}

impl Mix {
    /// The key of a test.
    fn name(&self) -> String {
        let within = match self.args.linear {
            true => self.next.fetch_add(1, Ordering::Relaxed) % self.args.range,
            false => rand::rng().random_range(0..self.args.range),
        };
        let number = self.args.start_index.saturating_add(within);
        match self.args.contiguous {
            true => format!("{}/{number}", self.prefix),
            false => format!("{}/{}", self.prefix, md5_name(number)),
        }
    }

    async fn read(&self, test: u64, name: String, tally: &mut Tally) -> Result<(), FreonError> {
        let path = self.target.path(name);
        let client = self.target.client(test);
        if self.args.read_metadata_only {
            client.key_info(&path).await?;
            return Ok(());
        }
        let reader = client.open_key(&path).await?;
        let read: Bytes = reader.read(0..self.args.size.min(reader.len())).await?;
        tally.bytes += read.len() as u64;
        Ok(())
    }

    async fn write(&self, test: u64, name: String, tally: &mut Tally) -> Result<(), FreonError> {
        let key = CreateKey::new(self.target.path(name));
        self.target.write(test, key, &self.content).await?;
        tally.bytes += self.content.size();
        Ok(())
    }

    async fn list(&self, test: u64, tally: &mut Tally) -> Result<(), FreonError> {
        let Target { volume, bucket, .. } = &self.target;
        let list = ListKeys::new(volume, bucket).prefix(&self.prefix);
        let page = self.target.client(test).list_key_infos_page(&list, self.args.max_list_result);
        tally.entries += page.await?.0.len() as u64;
        Ok(())
    }
}

impl Generator for Mix {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let dice = rand::rng().random_range(0..100);
        let name = self.name();
        let began = Instant::now();
        if dice < self.args.percentage_read {
            self.read(number, name, tally).await?;
        } else if dice < self.args.percentage_read + self.args.percentage_list {
            self.list(number, tally).await?;
        } else {
            self.write(number, name, tally).await?;
        }
        tally.timed("key-read-write-list", began);
        Ok(())
    }
}
