//! `o3 admin datanode status`.

use std::collections::BTreeMap;

use clap::Args;
use config::Configuration;
use proto::hdds::NodeOperationalState;
use serde_json::{Value, json};
use service::readable_bytes;
use types::DatanodeDetails;

use crate::admin::container::time;
use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// Show the progress of DataNodes that are being decommissioned or enter maintenance.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin datanode status\n  \
    o3 admin datanode status decommission --json")]
pub struct Status {
    /// Only nodes in this workflow: decommission or maintenance.
    #[arg(value_name = "WAY", value_parser = ["decommission", "maintenance"])]
    way: Option<String>,
    /// Only the DataNode with this id.
    #[arg(long, value_name = "UUID")]
    id: Option<types::DatanodeId>,
    /// Only the DataNode with this IP address.
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Maximum number of containers listed in a line.
const NAMED: usize = 20;

/// Progress of a node, as reported by SCM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) bytes_done: u64,
    pub(crate) bytes_left: u64,
    pub(crate) bytes_per_second: Option<u64>,
    pub(crate) millis_left: Option<u64>,
    pub(crate) blocked_by: Option<String>,
    /// The id of the only node that receives its replicas, if any.
    pub(crate) destination: Option<String>,
}

impl Progress {
    fn json(&self) -> Value {
        json!({
            "bytesDone": self.bytes_done,
            "bytesLeft": self.bytes_left,
            "bytesPerSecond": self.bytes_per_second,
            "millisLeft": self.millis_left,
            "waitsFor": self.blocked_by,
            "destination": self.destination,
        })
    }

    /// The human-readable lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let all = self.bytes_done.saturating_add(self.bytes_left);
        let (done, all) = (readable_bytes(self.bytes_done), readable_bytes(all));
        let rate = match self.bytes_per_second {
            Some(rate) => format!("{} a second", readable_bytes(rate)),
            None => "rate unknown yet".to_owned(),
        };
        let left = match self.millis_left {
            Some(left) => format!("about {} left", time(left)),
            None => "time left unknown".to_owned(),
        };
        let mut lines = vec![format!("Data elsewhere: {done} of {all}, {rate}, {left}")];
        lines.extend(self.destination.as_ref().map(|node| format!("Goes to: {node}")));
        lines.extend(self.blocked_by.as_ref().map(|what| format!("Waits for: {what}")));
        lines
    }
}

/// Progress of each node that is leaving, by node id, from SCM's metrics.
pub(crate) fn progress_of_all(metrics: &str) -> Result<BTreeMap<String, Progress>, ShellError> {
    let document: Value = serde_json::from_str(metrics).map_err(|error| {
        ShellError::Refused(format!("SCM sent metrics that are not JSON: {error}"))
    })?;
    let Some(bean) = document.pointer("/beans/0").and_then(Value::as_object) else {
        return Ok(BTreeMap::new());
    };
    let numbers = bean.keys().filter_map(|name| name.strip_prefix("UuidDN."));
    let of_one = |number: &str| {
        let value = |name: &str| bean.get(&format!("{name}DN.{number}"));
        let count = |name: &str| value(name).and_then(Value::as_u64);
        let text = |name: &str| value(name).and_then(Value::as_str).map(str::to_owned);
        let progress = Progress {
            bytes_done: count("BytesDone").unwrap_or_default(),
            bytes_left: count("BytesLeft").unwrap_or_default(),
            bytes_per_second: count("BytesPerSecond"),
            millis_left: count("MillisLeft"),
            blocked_by: text("BlockedBy"),
            destination: text("Destination"),
        };
        Some((value("Uuid")?.as_str()?.to_owned(), progress))
    };
    Ok(numbers.filter_map(of_one).collect())
}

/// Runs the command.
pub(crate) async fn run(args: Status, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let states: &[NodeOperationalState] = match args.way.as_deref() {
        Some("decommission") => &[NodeOperationalState::Decommissioning],
        Some("maintenance") => &[NodeOperationalState::EnteringMaintenance],
        _ => &[NodeOperationalState::Decommissioning, NodeOperationalState::EnteringMaintenance],
    };
    let pipelines = scm.pipelines().await?;
    let progress = progress_of_all(&scm.metrics_json().await?)?;
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
            let progress = progress.get(&details.id.to_string()).cloned().unwrap_or_default();
            rows.push((node, details, open, containers, progress));
        }
    }
    if args.json {
        let list: Vec<Value> = rows
            .iter()
            .map(|(node, details, pipelines, containers, progress)| {
                let lists: serde_json::Map<String, Value> = containers
                    .iter()
                    .map(|(name, ids)| (name.clone(), ids.clone().into()))
                    .collect();
                json!({
                    "datanodeDetails": render::node::details(details),
                    "operationalState": render::node::operational(node, details),
                    "metrics": { "numOfUnclosedPipelines": pipelines },
                    "progress": progress.json(),
                    "containers": lists,
                })
            })
            .collect();
        return output::value(&list.into());
    }
    if rows.is_empty() {
        return output::line("No datanode is on its way out of service.");
    }
    for (node, d, pipelines, containers, progress) in &rows {
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
        progress.lines().into_iter().try_for_each(output::line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_node_is_told_from_others_of_its_host_and_says_what_it_waits_for() {
        let metrics = json!({ "beans": [{
            "NumPipelines": 3,
            "tag.datanode.1": "host", "UuidDN.1": "a", "BytesDoneDN.1": 1_u64 << 30,
            "BytesLeftDN.1": 3_u64 << 30, "BytesPerSecondDN.1": 1 << 20, "MillisLeftDN.1": 3_072_000,
            "BlockedByDN.1": "container 7 is queued for copying",
            "tag.datanode.2": "host", "UuidDN.2": "b", "BytesDoneDN.2": 0, "BytesLeftDN.2": 5,
        }]});
        let all = progress_of_all(&metrics.to_string()).unwrap();
        assert_eq!(
            all["a"].lines(),
            [
                "Data elsewhere: 1.00 GB of 4.00 GB, 1.00 MB a second, about 51 min 12 s left",
                "Waits for: container 7 is queued for copying"
            ]
        );
        assert_eq!(
            all["b"].lines(),
            ["Data elsewhere: 0 B of 5 B, rate unknown yet, time left unknown"]
        );
        assert!(progress_of_all("{}").unwrap().is_empty());
        assert!(progress_of_all("no JSON").is_err());
    }
}
