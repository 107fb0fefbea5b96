//! `o3 admin datanode decommission|maintenance|recommission`.

use clap::Args;
use config::Configuration;
use proto::container_location::DatanodeAdminErrorResponseProto;
use serde_json::{Value, json};

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// The DataNodes of a command, and the output format.
#[derive(Debug, Clone, Args)]
pub(crate) struct Hosts {
    /// Host names, IP addresses (with :PORT if a host has several DataNodes) or ids.
    #[arg(required = true, value_name = "HOST")]
    hosts: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Decommission DataNodes: replicate their containers to others, to remove the nodes permanently.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin datanode decommission dn7.example.com\n  \
    o3 admin datanode decommission dn7.example.com --to auto\n  \
    o3 admin datanode status decommission")]
pub struct Decommission {
    #[command(flatten)]
    nodes: Hosts,
    /// Continue even if too few DataNodes would remain.
    #[arg(long)]
    force: bool,
    /// Destination of the replicas: one DataNode (a host or id), auto for an idle one that SCM
    /// chooses, or any. The default is hdds.scm.datanode.decommission.point.to.point.
    #[arg(long, value_name = "HOST|auto|any")]
    to: Option<String>,
}

/// Put DataNodes into maintenance mode.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin datanode maintenance dn7.example.com --end 8")]
pub struct Maintenance {
    #[command(flatten)]
    nodes: Hosts,
    /// Hours after which the DataNodes return to service; never by default.
    #[arg(long, value_name = "HOURS", default_value_t = 0)]
    end: u32,
    /// Continue even if too few DataNodes would remain.
    #[arg(long)]
    force: bool,
    /// Destination of the replicas: one DataNode (a host or id), auto for an idle one that SCM
    /// chooses, or any. The default is hdds.scm.datanode.decommission.point.to.point.
    #[arg(long, value_name = "HOST|auto|any")]
    to: Option<String>,
}

/// Return DataNodes to service.
#[derive(Debug, Clone, Args)]
pub struct Recommission {
    #[command(flatten)]
    nodes: Hosts,
}

/// Runs `decommission`.
pub(crate) async fn decommission(
    args: Decommission,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let Decommission { nodes, force, to } = args;
    let failed = nodes.scm.client(conf).decommission(&nodes.hosts, force, to.as_deref()).await?;
    print_outcome(
        &nodes,
        failed,
        "Started decommissioning datanode(s):",
        "Some nodes could not enter the decommission workflow",
    )
}

/// Runs `maintenance`.
pub(crate) async fn maintenance(args: Maintenance, conf: &Configuration) -> Result<(), ShellError> {
    let Maintenance { nodes, end, force, to } = args;
    let scm = nodes.scm.client(conf);
    let failed = scm.start_maintenance(&nodes.hosts, end, force, to.as_deref()).await?;
    print_outcome(
        &nodes,
        failed,
        "Entering maintenance mode on datanode(s):",
        "Some nodes could not start the maintenance workflow",
    )
}

/// Runs `recommission`.
pub(crate) async fn recommission(
    args: Recommission,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let nodes = args.nodes;
    let failed = nodes.scm.client(conf).recommission(&nodes.hosts).await?;
    print_outcome(
        &nodes,
        failed,
        "Started recommissioning datanode(s):",
        "Some nodes could not be recommissioned",
    )
}

fn print_outcome(
    nodes: &Hosts,
    failed: Vec<DatanodeAdminErrorResponseProto>,
    begun: &str,
    refused: &str,
) -> Result<(), ShellError> {
    if nodes.json {
        let errors: Vec<Value> =
            failed.iter().map(|f| json!({ "host": f.host, "error": f.error })).collect();
        output::value(&json!({ "hosts": nodes.hosts, "errors": errors }))?;
    } else {
        output::line(begun)?;
        nodes.hosts.iter().try_for_each(output::line)?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    let lines = failed.iter().map(|f| format!("Error: {}: {}\n", f.host, f.error));
    Err(ShellError::Refused(format!("{}{refused}", lines.collect::<String>())))
}
