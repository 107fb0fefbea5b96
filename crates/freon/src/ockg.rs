//! `ockg`: creates keys with content.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use client::CreateKey;
use config::Configuration;

use crate::FreonError;
use crate::args::{RunArgs, TargetArgs, size};
use crate::content::Content;
use crate::report::Report;
use crate::runner::{prefix, run_tests};
use crate::target::Target;

/// Create keys with content. Keys are named `PREFIX/NUMBER`, and all have the same content.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Example:\n  o3 freon ockg -n 10000 -t 16 --size 10KB -v vol1 -b bucket1 -p run1"
)]
pub struct Ockg {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    target: TargetArgs,
    /// Size of a key: 10240, 10KB, 4MB.
    #[arg(short = 's', long, default_value = "10KB", value_parser = size, value_name = "SIZE")]
    size: u64,
}

/// Runs the generator.
pub(crate) async fn run(args: Ockg, conf: &Configuration) -> Result<Report, FreonError> {
    let target = Arc::new(Target::open(args.run.clients, &args.target, conf)?);
    target.ensure().await?;
    let content = Content::new(args.size);
    let prefix: Arc<str> = prefix(&args.run.prefix).into();
    let shared = prefix.clone();
    run_tests(&args.run, &prefix, move |test, _, mut tally| {
        let (target, content, prefix) = (target.clone(), content.clone(), shared.clone());
        async move {
            let began = Instant::now();
            let key = CreateKey::new(target.key(&prefix, test));
            let result = target.write(test, key, &content).await;
            if result.is_ok() {
                tally.timed("key-create", began);
                tally.bytes += content.size();
            }
            (tally, result)
        }
    })
    .await
}
