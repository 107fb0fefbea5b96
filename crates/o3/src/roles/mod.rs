//! `o3 om`, `o3 scm`, `o3 datanode`, `o3 s3g`: one role per process.

mod datanode;
mod om;
mod s3g;
mod scm;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::daemon;
use crate::print;
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub enum RoleCommand {
    /// Run an Ozone Manager: volumes, buckets, keys
    #[command(after_help = "Examples:\n  \
        o3 om --conf /etc/ozone/ozone-site.xml\n  \
        o3 om -D ozone.om.db.dirs=/data/om -D ozone.scm.names=scm1 -D ozone.om.address=om1:9862\n\n\
        The first start initializes the directory, and creates the root S3 key pair unless\n\
        O3_ACCESS_KEY and O3_SECRET_KEY are set.\n\n\
        To add an OM to a running service, list it in ozone.om.nodes.SERVICE of all OMs, then\n  \
        o3 om --bootstrap -D ozone.om.node.id=om4")]
    Om(OmArgs),
    /// Run a Storage Container Manager: nodes, pipelines, containers, blocks
    #[command(after_help = "Examples:\n  \
        o3 scm --conf /etc/ozone/ozone-site.xml\n  \
        o3 scm -D ozone.scm.db.dirs=/data/scm -D ozone.scm.names=scm1\n\n\
        The first start creates the cluster id.\n\n\
        To add an SCM to a running service, list it in ozone.scm.nodes.SERVICE of all SCMs, then\n  \
        o3 scm --bootstrap -D ozone.scm.node.id=scm4")]
    Scm(ScmArgs),
    /// Run a DataNode: blocks on disks
    #[command(after_help = "Examples:\n  \
        o3 datanode --conf /etc/ozone/ozone-site.xml\n  \
        o3 datanode -D hdds.datanode.dir=/disk1,/disk2 -D ozone.metadata.dirs=/data/dn -D ozone.scm.names=scm1\n\n\
        Another one on the same host with random free ports:\n  \
        o3 datanode -D hdds.datanode.dir=/disk3 -D ozone.metadata.dirs=/data/dn2 -D ozone.scm.names=scm1 \\\n    \
        -D hdds.container.ipc.random.port=true -D hdds.container.ratis.ipc.random.port=true \\\n    \
        -D hdds.datanode.http-address=0.0.0.0:0")]
    Datanode(RoleArgs),
    /// Run an S3 gateway
    #[command(after_help = "Examples:\n  \
        o3 s3g --conf /etc/ozone/ozone-site.xml\n  \
        o3 s3g -D ozone.om.address=om1:9862 -D ozone.s3g.http-address=0.0.0.0:9878\n\n\
        Any number of gateways may run. O3_ACCESS_KEY and O3_SECRET_KEY set a key pair\n\
        that the gateway accepts without a request to OM.")]
    S3g(RoleArgs),
}

#[derive(Debug, Args)]
pub struct OmArgs {
    /// Join a running service; no effect on an OM that is a member already
    #[arg(long)]
    bootstrap: bool,
    /// Join even if the other OMs do not have this one in their configuration, or do not answer
    #[arg(long, requires = "bootstrap")]
    force: bool,
    #[command(flatten)]
    role: RoleArgs,
}

#[derive(Debug, Args)]
pub struct ScmArgs {
    /// Join a running service; no effect on an SCM that is a member already
    #[arg(long)]
    bootstrap: bool,
    #[command(flatten)]
    role: RoleArgs,
}

#[derive(Debug, Args)]
pub struct RoleArgs {
    /// Print one line of JSON when ready
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(command: RoleCommand, began: Instant) -> anyhow::Result<ExitCode> {
    match command {
        RoleCommand::Om(args) => {
            let bootstrap = args.bootstrap.then_some(::om::Bootstrap { force: args.force });
            let om = om::Om { json: args.role.json, bootstrap };
            daemon::run(om, args.role.settings.load_and_warn()?, began)
        }
        RoleCommand::Scm(args) => {
            let scm = scm::Scm { json: args.role.json, bootstrap: args.bootstrap };
            daemon::run(scm, args.role.settings.load_and_warn()?, began)
        }
        RoleCommand::Datanode(args) => {
            daemon::run(datanode::Datanode(args.json), args.settings.load_and_warn()?, began)
        }
        RoleCommand::S3g(args) => {
            daemon::run(s3g::S3Gateway(args.json), args.settings.load_and_warn()?, began)
        }
    }
}

/// A running role, and the format of its readiness report.
pub struct Running<H> {
    handle: H,
    json: bool,
}

/// Reports that a role is ready: one line of JSON, or a few lines for people.
fn announce(
    json: bool,
    role: &str,
    addresses: &[(&str, String)],
    took: Duration,
) -> anyhow::Result<()> {
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let text = if json {
        let addresses: Map<String, Value> = addresses
            .iter()
            .map(|(name, address)| ((*name).to_string(), address.clone().into()))
            .collect();
        format!(
            "{}\n",
            json!({ "event": "ready", "role": role, "ready_ms": ms, "addresses": addresses })
        )
    } else {
        let lines: String =
            addresses.iter().map(|(name, address)| format!("  {name:<12}{address}\n")).collect();
        format!("{role} is ready ({ms} ms)\n{lines}")
    };
    print::out(&text).map(|_| ())
}
