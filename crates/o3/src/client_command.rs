//! Commands that use a running cluster: `o3 freon`.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use config::Configuration;
use freon::FreonCommand;

use crate::settings::Settings;

/// Load generators, with Ozone's names and flags
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon ockg -n 1000 -t 8 --size 10KB      create a thousand keys of 10 KB, eight at a time\n  \
    o3 freon ockv -n 1000 -t 8                  read them back and compare\n  \
    o3 freon ommg -n 100000 -t 64               metadata operations only\n  \
    o3 freon ockg --help                        what a generator can do")]
pub struct FreonArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: FreonCommand,
}

pub fn freon(args: FreonArgs) -> anyhow::Result<ExitCode> {
    with_runtime(&args.settings, async |conf| freon::run(args.command, conf).await)
}

/// Runs a client command on a runtime of its own.
fn with_runtime(
    settings: &Settings,
    command: impl AsyncFnOnce(Configuration) -> ExitCode,
) -> anyhow::Result<ExitCode> {
    let conf = settings.load_and_warn()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("o3")
        .build()
        .context("cannot start the threads of the runtime")?;
    let code = runtime.block_on(command(conf));
    runtime.shutdown_background();
    Ok(code)
}
