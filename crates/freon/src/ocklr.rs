//! `ocklr`: reads keys of a list, or those that ockg created.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use client::KeyPath;
use config::Configuration;

use crate::FreonError;
use crate::args::{BucketArgs, RunArgs};
use crate::report::Report;
use crate::runner::{Tally, prefix, run_tests};
use crate::target::Target;

/// Read keys that are listed in a file, or that `ockg` created with the same prefix. Checksums are
/// verified, content is discarded.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon ocklr -n 10000 -t 16 -v vol1 -b bucket1 -p run1\n  \
    o3 freon ocklr -n 10000 -t 16 -v vol1 -b bucket1 --key-file keys.txt")]
pub struct Ocklr {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    bucket: BucketArgs,
    /// File with the names of the keys to read, one per line. Empty lines and lines that begin with
    /// '#' are ignored.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Number of keys that ockg created, if there are more tests than keys: keys are then read
    /// repeatedly.
    #[arg(long, value_name = "N", conflicts_with = "key_file")]
    keys: Option<u64>,
}

/// The keys to read.
enum Keys {
    Listed(Vec<String>),
    Generated { prefix: String, count: u64 },
}

impl Keys {
    fn path(&self, target: &Target, test: u64) -> KeyPath {
        match self {
            Self::Listed(names) => target.path(&names[(test % names.len() as u64) as usize]),
            Self::Generated { prefix, count } => target.key(prefix, test % count),
        }
    }
}

/// The names in a file, one per line.
fn listed(file: &Path) -> Result<Keys, FreonError> {
    let text = std::fs::read_to_string(file).map_err(|error| FreonError::KeyFile {
        file: file.display().to_string(),
        reason: error.to_string(),
    })?;
    let names =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names: Vec<String> = names.map(str::to_owned).collect();
    match names.is_empty() {
        false => Ok(Keys::Listed(names)),
        true => Err(FreonError::KeyFile {
            file: file.display().to_string(),
            reason: "it names no key".to_owned(),
        }),
    }
}

/// Runs the generator.
pub(crate) async fn run(args: Ocklr, conf: &Configuration) -> Result<Report, FreonError> {
    let (keys, prefix) = match &args.key_file {
        Some(file) => (listed(file)?, prefix(&args.run.prefix)),
        None => {
            let prefix = args.run.named_prefix("keys to read, or --key-file the file with them")?;
            let count = args.keys.unwrap_or(args.run.number_of_tests).max(1);
            (Keys::Generated { prefix: prefix.to_owned(), count }, prefix.to_owned())
        }
    };
    let target = Target::existing(args.run.clients, &args.bucket, conf)?;
    let shared = std::sync::Arc::new((target, keys));
    run_tests(&args.run, &prefix, move |test, _, mut tally: Tally| {
        let shared = shared.clone();
        async move {
            let (target, keys) = &*shared;
            let began = Instant::now();
            let result = target.read(test, &keys.path(target, test)).await.map(|bytes| {
                tally.timed("key-read", began);
                tally.bytes += bytes;
            });
            (tally, result)
        }
    })
    .await
}
