//! `o3 admin datanode status`.

use clap::Args;
use config::Configuration;
use proto::hdds::NodeOperationalState;
use serde_json::{Value, json};
use types::DatanodeDetails;

use crate::admin::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// What still keeps DataNodes from leaving that are being decommissioned or enter maintenance.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin datanode status\n  \
    o3 admin datanode status decommission --json")]
pub struct Status {
    /// Only those on this way: decommission or maintenance.
    #[arg(value_name = "WAY", value_parser = ["decommission", "maintenance"])]
    way: Option<String>,
    /// Only the DataNode with this id.
    #[arg(long, value_name = "UUID")]
    id: Option<types::DatanodeId>,
    /// Only the DataNode with this IP address.
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Containers named on a line at most.
const NAMED: usize = 20;

/// Runs the command.
pub(crate) async fn run(args: Status, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let states: &[NodeOperationalState] = match args.way.as_deref() {
        Some("decommission") => &[NodeOperationalState::Decommissioning],
        Some("maintenance") => &[NodeOperationalState::EnteringMaintenance],
        _ => &[NodeOperationalState::Decommissioning, NodeOperationalState::EnteringMaintenance],
    };
    let pipelines = scm.pipelines().await?;
    let mut rows = Vec::new();
    for state in states {
        for node in scm.nodes(None, Some(*state)).await? {
            let details = DatanodeDetails::from_wire(&node.node_id).map_err(nonsense)?;
            if args.id.is_some_and(|id| id != details.id)
                || args.ip.as_ref().is_some_and(|ip| *ip != details.ip)
            {
                continue;
            }
            let open = pipelines
                .iter()
                .filter_map(|p| types::Pipeline::from_wire(p).ok())
                .filter(|p| p.state != types::PipelineState::Closed)
                .filter(|p| p.member(details.id).is_some())
                .count();
            let containers = scm.containers_of_leaving_node(&details).await?;
            rows.push((node, details, open, containers));
        }
    }
    if args.json {
        let list: Vec<Value> = rows
            .iter()
            .map(|(node, details, pipelines, containers)| {
                let lists: serde_json::Map<String, Value> = containers
                    .iter()
                    .map(|(name, ids)| (name.clone(), ids.clone().into()))
                    .collect();
                json!({
                    "datanodeDetails": render::node::details(details),
                    "operationalState": render::node::operational(node, details),
                    "metrics": { "numOfUnclosedPipelines": pipelines },
                    "containers": lists,
                })
            })
            .collect();
        return output::value(&list.into());
    }
    if rows.is_empty() {
        return output::line("No datanode is on its way out of service.");
    }
    for (node, d, pipelines, containers) in &rows {
        let state = render::node::operational(node, d);
        output::line(format!(
            "Datanode: {} ({}/{}/{})\nOperational State: {state}\nNo. of Unclosed Pipelines: {pipelines}",
            d.id, d.network_location, d.ip, d.host
        ))?;
        for (name, ids) in containers {
            let mut named: Vec<_> = ids.iter().take(NAMED).map(ToString::to_string).collect();
            if ids.len() > NAMED {
                named.push("...".to_owned());
            }
            output::line(format!("{name} containers: {} [{}]", ids.len(), named.join(", ")))?;
        }
    }
    Ok(())
}
