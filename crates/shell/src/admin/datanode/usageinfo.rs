//! `o3 admin datanode usageinfo`.

use clap::Args;
use config::Configuration;
use proto::hdds::DatanodeUsageInfoProto;
use serde_json::{Value, json};
use types::DatanodeDetails;

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output, render};

/// Show space and containers of the most or least used DataNodes, or of one DataNode.
#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct UsageInfo {
    /// Show the most used DataNodes.
    #[arg(short = 'm', long, group = "which")]
    most_used: bool,
    /// Show the least used DataNodes.
    #[arg(short = 'l', long, group = "which")]
    least_used: bool,
    /// Only the DataNode with this id.
    #[arg(long, visible_aliases = ["uuid", "node-id"], group = "which", value_name = "UUID")]
    id: Option<types::DatanodeId>,
    /// Number of DataNodes to show.
    #[arg(short = 'c', long, default_value_t = 3, value_name = "N")]
    count: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: UsageInfo, conf: &Configuration) -> Result<(), ShellError> {
    let scm = args.scm.client(conf);
    let usage = match args.id {
        Some(id) => scm.usage_of_node(id).await?,
        None => scm.usage(args.most_used, args.count).await?,
    };
    if args.json {
        let list = usage.iter().map(as_json).collect::<Result<Vec<_>, _>>()?;
        return output::value(&list.into());
    }
    output::line(format!("Usage Information ({} Datanodes)\n", usage.len()))?;
    for info in &usage {
        output::line(text(info)?)?;
    }
    Ok(())
}

fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 10_000.0 / whole as f64).round() / 100.0 }
}

fn node(info: &DatanodeUsageInfoProto) -> Result<DatanodeDetails, ShellError> {
    let missing = types::WireError::Missing { message: "DatanodeUsageInfoProto", field: "node" };
    let node = info.node.as_ref().ok_or_else(|| nonsense(missing))?;
    DatanodeDetails::from_wire(node).map_err(nonsense)
}

fn as_json(info: &DatanodeUsageInfoProto) -> Result<Value, ShellError> {
    let fs_used = info.fs_capacity() - info.fs_available();
    Ok(json!({
        "datanodeDetails": render::node::details(&node(info)?),
        "filesystemCapacity": info.fs_capacity(),
        "filesystemAvailable": info.fs_available(),
        "filesystemUsed": fs_used,
        "ozoneCapacity": info.capacity(),
        "ozoneUsed": info.used(),
        "ozoneAvailable": info.remaining(),
        "committed": info.committed(),
        "freeSpaceToSpare": info.free_space_to_spare(),
        "containerCount": info.container_count(),
        "pipelineCount": info.pipeline_count(),
        "reserved": info.reserved(),
        "filesystemUsedPercent": percent(fs_used, info.fs_capacity()),
        "filesystemAvailablePercent": percent(info.fs_available(), info.fs_capacity()),
        "ozoneUsedPercent": percent(info.used(), info.capacity()),
        "ozoneAvailablePercent": percent(info.remaining(), info.capacity()),
    }))
}

fn size(bytes: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut scaled = bytes as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B ({bytes} B)")
    } else {
        format!("{bytes} B ({scaled:.2} {})", UNITS[unit])
    }
}

fn text(info: &DatanodeUsageInfoProto) -> Result<String, ShellError> {
    let node = node(info)?;
    let fs_used = info.fs_capacity() - info.fs_available();
    let share = |part, whole, of: &str| format!("{:.2}% ({of})", percent(part, whole));
    let rows = [
        ("ID", node.id.to_string()),
        ("IP Address", node.ip.clone()),
        ("Hostname", node.host.clone()),
        ("Filesystem Capacity", size(info.fs_capacity())),
        ("Filesystem Used", size(fs_used)),
        (
            "Filesystem Used %",
            share(fs_used, info.fs_capacity(), "Filesystem Used/Filesystem Capacity"),
        ),
        ("Filesystem Available", size(info.fs_available())),
        (
            "Filesystem Available %",
            share(
                info.fs_available(),
                info.fs_capacity(),
                "Filesystem Available/Filesystem Capacity",
            ),
        ),
        ("Ozone Capacity", size(info.capacity())),
        ("Ozone Used", size(info.used())),
        ("Ozone Used %", share(info.used(), info.capacity(), "Ozone Used/Ozone Capacity")),
        ("Ozone Available", size(info.remaining())),
        (
            "Ozone Available %",
            share(info.remaining(), info.capacity(), "Ozone Available/Ozone capacity"),
        ),
        ("Pipeline(s)", info.pipeline_count().to_string()),
        ("Container(s)", info.container_count().to_string()),
        ("Container Pre-allocated", size(info.committed())),
        ("Remaining Allocatable", size(info.remaining() - info.committed())),
        ("Free Space To Spare", size(info.free_space_to_spare())),
        ("Reserved", size(info.reserved())),
    ];
    Ok(rows.iter().map(|(label, value)| format!("{label:<24}: {value} \n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_look_like_ozones() {
        assert_eq!(size(0), "0 B (0 B)");
        assert_eq!(size(270_553_174_016), "270553174016 B (251.97 GB)");
        assert_eq!(percent(190_500_401_152, 270_553_174_016), 70.41);
        assert_eq!(percent(1, 0), 0.0);
    }
}
