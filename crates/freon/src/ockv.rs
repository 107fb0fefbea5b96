//! `ockv`: read keys that ockg created and compare their content.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use client::{Client, KeyPath};
use config::Configuration;
use futures::TryStreamExt;
use sha2::{Digest, Sha256};

use crate::FreonError;
use crate::args::{RunArgs, TargetArgs};
use crate::report::Report;
use crate::runner::run_tests;
use crate::target::Target;

/// Read keys that `ockg` created under the same prefix and compare the digest of each with the
/// first one's.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  o3 freon ockv -n 10000 -t 16 -v vol1 -b bucket1 -p run1")]
pub struct Ockv {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
}

/// Runs it.
pub(crate) async fn run(args: Ockv, conf: &Configuration) -> Result<Report, FreonError> {
    if args.run.prefix.is_empty() {
        return Err(FreonError::Usage("--prefix must name the keys to validate".into()));
    }
    let target = Arc::new(Target::open(args.run.clients, &args.target, conf)?);
    let prefix: Arc<str> = args.run.prefix.as_str().into();
    // A run without an end has more tests than there are keys.
    let keys = args.run.number_of_tests.max(1);
    let first = digest(target.client(0), &target.key(&prefix, 0)).await?;
    run_tests(&args.run, &args.run.prefix, move |test, _, mut tally| {
        let (target, prefix, first) = (target.clone(), prefix.clone(), first.clone());
        async move {
            let began = Instant::now();
            let key = target.key(&prefix, test % keys);
            let result = match digest(target.client(test), &key).await {
                Ok((found, bytes)) if found == first.0 => {
                    tally.timed("key-validate", began);
                    tally.bytes += bytes;
                    Ok(())
                }
                Ok((found, _)) => Err(FreonError::Content {
                    key: key.to_string(),
                    expected: hex(&first.0),
                    found: hex(&found),
                }),
                Err(e) => Err(e),
            };
            (tally, result)
        }
    })
    .await
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

async fn digest(client: &Client, key: &KeyPath) -> Result<(Vec<u8>, u64), FreonError> {
    let (_, mut pieces) = client.begin_key(key).await?;
    let mut sha = Sha256::new();
    let mut bytes = 0;
    while let Some(piece) = pieces.try_next().await? {
        sha.update(&piece);
        bytes += piece.len() as u64;
    }
    Ok((sha.finalize().to_vec(), bytes))
}
