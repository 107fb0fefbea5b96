//! `o3 admin printTopology`.

use std::collections::BTreeMap;

use clap::Args;
use config::Configuration;
use proto::hdds::Node;
use serde_json::{Value, json};
use types::{DatanodeDetails, PortName};

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// Health states in the order of output.
const STATES: [&str; 3] = ["HEALTHY", "STALE", "DEAD"];

/// Print the DataNodes of each rack.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin printTopology\n  o3 admin printTopology --order")]
pub struct PrintTopology {
    /// Group by rack.
    #[arg(short, long)]
    order: bool,
    /// Show the id of each DataNode.
    #[arg(short, long)]
    full: bool,
    /// Only DataNodes in this operational state: IN_SERVICE, DECOMMISSIONING, ...
    #[arg(long, visible_alias = "os", value_name = "STATE")]
    operational_state: Option<String>,
    /// Only DataNodes in this health state: HEALTHY, STALE, DEAD.
    #[arg(long, visible_alias = "ns", value_name = "STATE")]
    node_state: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
    /// More verbose output. Show the causes of errors.
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// Runs the command.
pub(crate) async fn run(args: PrintTopology, conf: &Configuration) -> Result<(), ShellError> {
    let is = |wanted: &Option<String>, value: &str| {
        wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(value))
    };
    let mut nodes = Vec::new();
    for node in args.scm.client(conf).nodes(None, None).await? {
        let details = DatanodeDetails::from_wire(&node.node_id).map_err(nonsense)?;
        let operational = render::node::operational(&node, &details);
        if is(&args.operational_state, operational)
            && is(&args.node_state, render::node::health(&node))
        {
            nodes.push((node, details));
        }
    }
    if args.json {
        return output::value(&as_json(&nodes));
    }
    for state in STATES {
        let of_state: Vec<_> =
            nodes.iter().filter(|(n, _)| render::node::health(n) == state).collect();
        if of_state.is_empty() {
            continue;
        }
        output::line(format!("State = {state}"))?;
        if args.order {
            print_by_rack(&of_state, args.full)?;
        } else {
            for (node, details) in of_state {
                output::line(text(node, details, args.full))?;
            }
        }
    }
    Ok(())
}

fn print_by_rack(nodes: &[&(Node, DatanodeDetails)], full: bool) -> Result<(), ShellError> {
    let mut racks: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (node, d) in nodes {
        let id = if full { format!("{}/", d.id) } else { String::new() };
        let operational = render::node::operational(node, d);
        let line = format!(" {id}{}({}) {operational}", d.ip, d.host);
        racks.entry(&d.network_location).or_default().push(line);
    }
    for (rack, nodes) in racks {
        output::line(format!("Location: {rack}"))?;
        nodes.iter().try_for_each(output::line)?;
    }
    Ok(())
}

fn text(node: &Node, d: &DatanodeDetails, full: bool) -> String {
    let operational = render::node::operational(node, d);
    let (ip, host, ports, rack) = (&d.ip, &d.host, ports(d), &d.network_location);
    match full {
        true => format!(" {}/{ip}({host}):{ports} {operational} {rack}", d.id),
        false => format!(" {ip}({host}):{ports}    {operational}    {rack}"),
    }
}

/// Ports that Ozone's tools support; ours is omitted.
fn ports(node: &DatanodeDetails) -> String {
    let known = node.ports.iter().filter(|p| p.name != PortName::Native);
    known.map(|p| format!("{}={}", p.name, p.value)).collect::<Vec<_>>().join(",")
}

fn as_json(nodes: &[(Node, DatanodeDetails)]) -> Value {
    let one = |(node, d): &(Node, DatanodeDetails)| {
        json!({
            "id": d.id.to_string(),
            "ipAddress": d.ip,
            "hostName": d.host,
            "nodeState": render::node::health(node),
            "operationalState": render::node::operational(node, d),
            "networkLocation": d.network_location,
        })
    };
    nodes.iter().map(one).collect::<Vec<_>>().into()
}
