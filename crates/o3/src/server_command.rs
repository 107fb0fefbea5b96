//! `o3 server`: all roles in one process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::om::OmOptions;
use anyhow::anyhow;
use clap::Args;
use config::keys::{om, scm, trioxide};
use config::{Configuration, HostPort, Key};
use serde_json::json;
use server::{Credentials, Server, ServerOptions};

use crate::daemon::{self, Daemon};
use crate::print;
use crate::settings::Settings;

/// Run a whole cluster in one process: OM, SCM, DataNodes, S3 gateway
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    o3 server --dir ./data                                    1 OM, 1 SCM, 3 DataNodes, S3 on port 9878\n  \
    o3 server --dir ./data --datanodes 1                      the smallest cluster, with one replica\n  \
    o3 server --dir ./data --oms 3 --scms 3 --datanodes 6     no single point of failure\n  \
    o3 server --dir /tmp/t --json -D trioxide.server.ports=free    for scripts: one line when ready\n  \
    O3_ACCESS_KEY=me O3_SECRET_KEY=secret o3 server --dir ./data   with your own key pair\n\n\
    The key pair is created at the first start and kept. Stop with Ctrl-C or SIGTERM.")]
pub struct ServerArgs {
    /// Directory of all data; created if missing
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Number of OMs, one Raft group; default: the number in the directory, or 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=7))]
    oms: Option<u16>,
    /// Number of SCMs, one Raft group; default: the number in the directory, or 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=7))]
    scms: Option<u16>,
    /// Number of DataNodes; default: the number in the directory, or 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    datanodes: Option<u16>,
    /// Number of disks (directories) of each DataNode; default: that of the first DataNode, or 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    disks: Option<u16>,
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    bind: String,
    /// Print one line of JSON when ready
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Default log filter; the terminal is for the report of readiness.
const LOG_FILTER: &str = "warn,raft_engine=error,s3s=off";

pub fn run(args: ServerArgs, began: Instant) -> anyhow::Result<ExitCode> {
    let mut conf = args.settings.load_and_warn()?;
    if !conf.is_set(&trioxide::TRIOXIDE_LOG_FILTER) {
        conf = conf.with(trioxide::TRIOXIDE_LOG_FILTER.name(), LOG_FILTER);
    }
    daemon::run(args, conf, began)
}

/// The server, and the format of its readiness report.
pub struct Running {
    server: Server,
    json: bool,
}

impl Daemon for ServerArgs {
    type Running = Running;
    const SERVICE: &'static str = "o3 server";

    async fn start(self, conf: Configuration) -> anyhow::Result<Running> {
        let options = ServerOptions {
            dir: self.dir,
            oms: self.oms.map(usize::from),
            scms: self.scms.map(usize::from),
            datanodes: self.datanodes.map(usize::from),
            disks: self.disks.map(usize::from),
            bind: self.bind,
            conf,
            credentials: OmOptions::from_env()
                .root_credentials
                .map(|c| Credentials { access_key: c.access_key, secret_key: c.secret_key }),
        };
        Ok(Running { server: Server::start(options).await?, json: self.json })
    }

    fn announce(running: &Running, took: Duration) -> anyhow::Result<()> {
        let text =
            if running.json { line(&running.server, took) } else { block(&running.server, took) };
        print::out(&text).map(|_| ())
    }

    async fn failed(running: &Running) -> anyhow::Error {
        anyhow!(running.server.failed().await)
    }

    async fn stop(running: Running) {
        running.server.shutdown().await;
    }
}

/// The JSON line for scripts.
fn line(server: &Server, took: Duration) -> String {
    let (endpoints, credentials) = (server.endpoints(), server.credentials());
    let ready = json!({
        "event": "ready",
        "ready_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "om": endpoints.oms.first(),
        "scm": endpoints.scms.first(),
        "oms": endpoints.oms,
        "scms": endpoints.scms,
        "conf": server.directory().site(),
        "pages": endpoints.pages.iter().cloned().collect::<BTreeMap<_, _>>(),
        "s3": endpoints.s3,
        "access_key": credentials.access_key,
        "secret_key": credentials.secret_key,
    });
    format!("{ready}\n")
}

/// The definition by which a client finds the endpoints; empty if they are at their defaults.
fn definition(key: &'static Key<HostPort>, addresses: &[String], site: &Path) -> String {
    let default = HostPort::parse_with(key.spec().default, None).map(|d| d.connect().to_string());
    match addresses {
        [one] if default.as_ref() == Some(one) => String::new(),
        [one] => format!(" -D {}={one}", key.name()),
        _ => format!(" --conf {}", site.display()),
    }
}

/// "1 OM", "3 OMs".
fn count(of: &[String], role: &str) -> String {
    format!("{} {role}{}", of.len(), if of.len() == 1 { "" } else { "s" })
}

/// Commands that try S3 with the aws CLI.
fn try_s3(endpoint: &str, pair: &Credentials) -> String {
    format!(
        "  Try the aws CLI
    export AWS_ACCESS_KEY_ID={access} AWS_SECRET_ACCESS_KEY={secret} AWS_REGION=us-east-1
    export AWS_ENDPOINT_URL={endpoint}
    aws s3 mb s3://first
    aws s3 cp README.md s3://first/
    aws s3 ls s3://first

",
        access = pair.access_key,
        secret = pair.secret_key,
    )
}

/// The human-readable report: all addresses, and commands to copy.
fn block(server: &Server, took: Duration) -> String {
    let (e, c) = (server.endpoints(), server.credentials());
    let site = server.directory().site();
    let pages: String =
        e.pages.iter().map(|(role, url)| format!("    {role:<12}{url}\n")).collect();
    let s3 = e.s3.as_deref();
    let try_s3 = s3.map(|s3| try_s3(s3, c)).unwrap_or_default();
    format!(
        "\
Trioxide is ready ({ms} ms): {oms}, {scms}, {datanodes}{gateway}, data in {dir}

  S3          {s3}
  OM          {om}
  SCM         {scm}
  access key  {access}
  secret key  {secret}
  for clients {site}

  Status pages
{pages}
{try_s3}  Try Ozone's shell
    {o3} sh{at_om} volume list
    {o3} sh{at_om} key list /s3v/first
    {o3} admin{at_scm} datanode list

  Stop with Ctrl-C.
",
        ms = took.as_millis(),
        o3 = std::env::args().next().unwrap_or_else(|| "o3".to_owned()),
        at_om = definition(&om::OZONE_OM_ADDRESS, &e.oms, &site),
        at_scm = definition(&scm::OZONE_SCM_CLIENT_ADDRESS, &e.scms, &site),
        oms = count(&e.oms, "OM"),
        scms = count(&e.scms, "SCM"),
        datanodes = count(&e.datanodes, "DataNode"),
        dir = server.directory().path().display(),
        gateway = if s3.is_some() { ", S3 gateway" } else { "" },
        s3 = s3.unwrap_or("off: ozone.s3g.http.enabled is false"),
        om = e.oms.join(" "),
        scm = e.scms.join(" "),
        site = site.display(),
        access = c.access_key,
        secret = c.secret_key,
    )
}
