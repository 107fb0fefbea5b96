//! `ockr`: read keys that ockg created.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use config::Configuration;
use futures::TryStreamExt;

use crate::FreonError;
use crate::args::{RunArgs, TargetArgs};
use crate::report::Report;
use crate::runner::run_tests;
use crate::target::Target;

/// Read keys that `ockg` created under the same prefix; checksums are verified, content is dropped.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ockr -n 10000 -t 16 -v vol1 -b bucket1 -p run1")]
pub struct Ockr {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
    /// Number of keys that ockg made, when more tests than that are wanted: keys are then read
    /// again and again.
    #[arg(long, value_name = "N")]
    keys: Option<u64>,
}

/// Runs it.
pub(crate) async fn run(args: Ockr, conf: &Configuration) -> Result<Report, FreonError> {
    if args.run.prefix.is_empty() {
        return Err(FreonError::Usage("--prefix must name the keys to read".into()));
    }
    let target = Arc::new(Target::open(args.run.clients, &args.target, conf)?);
    let prefix: Arc<str> = args.run.prefix.as_str().into();
    let keys = args.keys.unwrap_or(args.run.number_of_tests).max(1);
    run_tests(&args.run, &args.run.prefix, move |test, _, mut tally| {
        let (target, prefix) = (target.clone(), prefix.clone());
        async move {
            let began = Instant::now();
            let result = read(&target, &prefix, test, keys).await;
            let result = result.map(|bytes| {
                tally.timed("key-read", began);
                tally.bytes += bytes;
            });
            (tally, result)
        }
    })
    .await
}

async fn read(target: &Target, prefix: &str, test: u64, keys: u64) -> Result<u64, FreonError> {
    let (_, mut pieces) = target.client(test).begin_key(&target.key(prefix, test % keys)).await?;
    let mut bytes = 0;
    while let Some(piece) = pieces.try_next().await? {
        bytes += piece.len() as u64;
    }
    Ok(bytes)
}
