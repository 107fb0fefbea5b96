//! Commands that use a running cluster: `o3 sh`, `o3 admin`, `o3 why`, `o3 debug`, `o3 freon`.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use config::Configuration;
use freon::FreonCommand;
use service::logging;
use shell::{AdminCommand, DebugCommand, RepairCommand, ShCommand, WhyCommand};

use crate::daemon::start_exporter;
use crate::settings::Settings;

/// Volumes, buckets and keys, with Ozone's commands
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 sh volume list\n  \
    o3 sh bucket create /vol1/bucket1\n  \
    o3 sh key put /vol1/bucket1/a.txt ./a.txt\n  \
    o3 sh key list /vol1/bucket1 --prefix logs/\n  \
    o3 sh key get o3://om1:9862/vol1/bucket1/a.txt ./copy\n\n\
    The cluster is that of the configuration, or of the address in an o3:// URI.")]
pub struct ShArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: ShCommand,
}

/// Nodes, pipelines, containers, safe mode, with Ozone's commands
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 admin safemode status\n  \
    o3 admin datanode list --json\n  \
    o3 admin pipeline list\n  \
    o3 admin container info 1 -D ozone.scm.client.address=scm1:9860")]
pub struct AdminArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: AdminCommand,
}

/// Explain the state of a container, a DataNode or safe mode
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 why safemode\n  \
    o3 why container 5\n  \
    o3 why datanode host7 --json")]
pub struct WhyArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: WhyCommand,
}

/// Inspect stored data, with Ozone's commands
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 debug replicas verify --checksums /vol1/bucket1    read all replicas of all keys\n  \
    o3 debug replicas chunk-info /vol1/bucket1/key1       chunks of each replica\n  \
    o3 debug ldb --db /data/om/om.db scan --cf keyTable    rows of a database on disk")]
pub struct DebugArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: DebugCommand,
}

/// Repair the databases of stopped servers, with Ozone's commands
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 repair ldb compact --db /data/om/om.db --cf keyTable --dry-run\n  \
    o3 repair om update-transaction --db /data/om/om.db --term 3 --index 1000")]
pub struct RepairArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: RepairCommand,
}

/// Load generators, with Ozone's names and flags
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 freon ockg -n 1000 -t 8 --size 10KB      create a thousand keys of 10 KB, eight at a time\n  \
    o3 freon ockv -n 1000 -t 8 -p PREFIX        read them back and compare\n  \
    o3 freon ommg -o CREATE_KEY -n 100000 -t 64 metadata operations only\n  \
    o3 freon ockc --duration 60s                overwrite, read, and check that nothing is lost or stale\n  \
    o3 freon ockg --help                        help of a generator")]
pub struct FreonArgs {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: FreonCommand,
}

pub fn sh(args: ShArgs) -> anyhow::Result<ExitCode> {
    with_runtime("o3 sh", &args.settings, async |conf| shell::run_sh(args.command, conf).await)
}

pub fn admin(args: AdminArgs) -> anyhow::Result<ExitCode> {
    with_runtime("o3 admin", &args.settings, async |conf| {
        shell::run_admin(args.command, conf).await
    })
}

pub fn why(args: WhyArgs) -> anyhow::Result<ExitCode> {
    with_runtime("o3 why", &args.settings, async |conf| shell::run_why(args.command, conf).await)
}

pub fn debug(args: DebugArgs) -> anyhow::Result<ExitCode> {
    with_runtime("o3 debug", &args.settings, async |conf| {
        shell::run_debug(args.command, conf).await
    })
}

pub fn repair(args: RepairArgs) -> anyhow::Result<ExitCode> {
    with_runtime("o3 repair", &args.settings, async |_| shell::run_repair(args.command).await)
}

pub fn freon(args: FreonArgs) -> anyhow::Result<ExitCode> {
    with_runtime("o3 freon", &args.settings, async |conf| freon::run(args.command, conf).await)
}

/// Runs a client command on its own runtime, as one trace.
fn with_runtime(
    name: &str,
    settings: &Settings,
    command: impl AsyncFnOnce(Configuration) -> ExitCode,
) -> anyhow::Result<ExitCode> {
    let conf = settings.load_and_warn()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("o3")
        .build()
        .context("cannot start the threads of the runtime")?;
    let exporter = {
        let _entered = runtime.enter();
        start_exporter(&conf, name)?
    };
    // These commands print their results; the log is for debugging.
    if exporter.is_some() || std::env::var_os("RUST_LOG").is_some() {
        logging::init("warn", logging::Format::Text, exporter.as_ref())?;
    }
    let code = runtime.block_on(telemetry::root(name, command(conf)));
    if let Some(exporter) = exporter {
        exporter.shutdown();
    }
    runtime.shutdown_background();
    Ok(code)
}
