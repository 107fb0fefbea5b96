//! `o3 admin datanode list`.

use clap::Args;
use config::Configuration;
use proto::hdds::Node;
use serde_json::Value;
use types::{DatanodeDetails, Pipeline};

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// Operational states, by SCM's names.
const OPERATIONAL: [&str; 5] =
    ["IN_SERVICE", "ENTERING_MAINTENANCE", "IN_MAINTENANCE", "DECOMMISSIONING", "DECOMMISSIONED"];

/// Health states, by SCM's names.
const HEALTH: [&str; 4] = ["HEALTHY", "STALE", "DEAD", "HEALTHY_READONLY"];

/// List DataNodes with their health and pipelines.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin datanode list\n  \
    o3 admin datanode list --node-state DEAD --json")]
pub struct List {
    /// Only the DataNode with this id.
    #[arg(long, visible_alias = "node-id", value_name = "UUID")]
    id: Option<String>,
    /// Only DataNodes with this IP address.
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,
    /// Only DataNodes with this host name.
    #[arg(long, value_name = "NAME")]
    hostname: Option<String>,
    /// Only DataNodes in this operational state.
    #[arg(long, value_name = "STATE", value_parser = OPERATIONAL, ignore_case = true)]
    operational_state: Option<String>,
    /// Only DataNodes in this health state.
    #[arg(long, value_name = "STATE", value_parser = HEALTH, ignore_case = true)]
    node_state: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

impl List {
    fn wants(&self, node: &Node, details: &DatanodeDetails) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(value))
        };
        is(&self.id, &details.id.to_string())
            && is(&self.ip, &details.ip)
            && is(&self.hostname, &details.host)
            && is(&self.operational_state, render::node::operational(node, details))
            && is(&self.node_state, render::node::health(node))
    }
}

/// Runs the command.
pub(crate) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let mut nodes = Vec::new();
    for node in scm.nodes(None, None).await? {
        let details = DatanodeDetails::from_wire(&node.node_id).map_err(nonsense)?;
        if args.wants(&node, &details) {
            nodes.push((node, details));
        }
    }
    if args.json {
        let list: Vec<Value> = nodes.iter().map(|(n, d)| render::node::listed(n, d)).collect();
        return output::value(&list.into());
    }
    let pipelines = scm
        .pipelines()
        .await?
        .iter()
        .map(Pipeline::from_wire)
        .collect::<Result<Vec<_>, _>>()
        .map_err(nonsense)?;
    for (node, details) in &nodes {
        output::line(text(node, details, &pipelines))?;
    }
    Ok(())
}

fn text(node: &Node, details: &DatanodeDetails, pipelines: &[Pipeline]) -> String {
    let related: Vec<String> = pipelines
        .iter()
        .filter(|p| p.member(details.id).is_some())
        .map(|p| render::pipeline::membership(p, details.id))
        .collect();
    let failed: String =
        node.failed_volumes.iter().map(|volume| format!("Failed volume: {volume}\n")).collect();
    format!(
        "Datanode: {} ({}/{}/{}/{} pipelines)\nOperational State: {}\nHealth State: {}\n\
         Total volume count: {}\nHealthy volume count: {}\n{failed}Related pipelines:\n{}\n",
        details.id,
        details.network_location,
        details.ip,
        details.host,
        related.len(),
        render::node::operational(node, details),
        render::node::health(node),
        node.total_volume_count(),
        node.healthy_volume_count(),
        if related.is_empty() { "No pipelines in cluster.".to_owned() } else { related.join("\n") },
    )
}
