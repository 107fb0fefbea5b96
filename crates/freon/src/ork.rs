//! `ork`: writes ranges of keys, one range per test.

use std::time::Instant;

use clap::{Args, ValueEnum};
use client::CreateKey;
use config::Configuration;

use crate::FreonError;
use crate::args::{RunArgs, size};
use crate::content::Content;
use crate::names::{RANGE_BUCKET, RANGE_VOLUME, md5_name};
use crate::report::Report;
use crate::runner::{Generator, Tally, prefix, run_generator};
use crate::target::Target;

/// Encoding of a key's number as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyEncode {
    /// The number.
    #[value(name = "pureIndex")]
    PureIndex,
    /// The first seven digits of the number's MD5.
    #[value(name = "md5")]
    Md5,
}

/// Write ranges of keys. Test I writes the keys from START + I * RANGE to RANGE after it,
/// inclusive, as Ozone's does.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ork -n 10 -t 4 -r 100 -k pureIndex -p run1")]
pub struct Ork {
    #[command(flatten)]
    run: RunArgs,
    /// Volume; created if missing.
    #[arg(short = 'v', long, default_value = RANGE_VOLUME, value_name = "NAME")]
    volume: String,
    /// Bucket; created if missing (layout OBJECT_STORE).
    #[arg(short = 'b', long, default_value = RANGE_BUCKET, value_name = "NAME")]
    bucket: String,
    /// Number of keys per test.
    #[arg(short = 'r', long = "range-each-client-write", default_value_t = 0, value_name = "N")]
    range: u32,
    /// Number of the first key.
    #[arg(short = 's', long = "key-start-index", default_value_t = 0, value_name = "N")]
    start: u64,
    /// Encoding of a key's number as its name.
    #[arg(short = 'k', long, value_enum, default_value = "md5")]
    key_encode: KeyEncode,
    /// Size of a key: 10240, 10KB, 4MB.
    #[arg(short = 'g', long, default_value = "1B", value_parser = size, value_name = "SIZE")]
    size: u64,
}

struct Ranges {
    target: Target,
    prefix: String,
    args: Ork,
    content: Content,
}

/// Runs the generator.
pub(crate) async fn run(args: Ork, conf: &Configuration) -> Result<Report, FreonError> {
    // As in Ozone, each task has a client.
    let clients = args.run.clients.max(args.run.threads);
    let target = Target::named(clients, &args.volume, &args.bucket, None, conf)?;
    target.ensure().await?;
    let prefix = prefix(&args.run.prefix);
    let run = args.run.clone();
    let content = Content::new(args.size);
    run_generator(&run, &prefix.clone(), Ranges { target, prefix, args, content }).await
}

impl Generator for Ranges {
    async fn test(&self, number: u64, _: usize, tally: &mut Tally) -> Result<(), FreonError> {
        let range = u64::from(self.args.range);
        let first = self.args.start.saturating_add(number.saturating_mul(range));
        let began = Instant::now();
        for index in first..=first.saturating_add(range) {
            let name = match self.args.key_encode {
                KeyEncode::PureIndex => index.to_string(),
                KeyEncode::Md5 => md5_name(index),
            };
            let key = CreateKey::new(self.target.path(format!("{}/{name}", self.prefix)));
            self.target.write(number, key, &self.content).await?;
            tally.bytes += self.content.size();
        }
        tally.timed("key-read-write", began);
        Ok(())
    }
}
