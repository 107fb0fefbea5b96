//! `o3 admin storagepolicy usageinfo`.

use std::collections::BTreeMap;

use clap::Args;
use config::Configuration;
use proto::hdds::{DatanodeUsageInfoProto, StorageTypeUsageProto};
use serde_json::{Value, json};
use types::{DatanodeDetails, StorageType};

use crate::admin::scm_client::{ScmArgs, nonsense};
use crate::{ShellError, output};

/// Show space on the disks of each storage type.
#[derive(Debug, Clone, Args)]
pub struct UsageInfo {
    /// Also show each DataNode.
    #[arg(long)]
    with_datanode: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// The disks of one type.
#[derive(Debug, Clone, Copy, Default)]
struct Space {
    disks: u64,
    capacity: u64,
    used: u64,
    remaining: u64,
}

type ByType = BTreeMap<StorageType, Space>;

/// Runs the command.
pub(crate) async fn run(args: UsageInfo, conf: &Configuration) -> Result<(), ShellError> {
    let nodes = args.scm.client(conf).usage(true, i32::MAX.cast_unsigned()).await?;
    let mut all = ByType::new();
    let mut each = Vec::new();
    for node in &nodes {
        let space = of_node(node)?;
        for (of, one) in &space {
            add(all.entry(*of).or_default(), one);
        }
        let missing =
            types::WireError::Missing { message: "DatanodeUsageInfoProto", field: "node" };
        let details = node.node.as_ref().ok_or_else(|| nonsense(missing))?;
        each.push((DatanodeDetails::from_wire(details).map_err(nonsense)?, space));
    }
    if args.json {
        let mut value = json!({ "storageTypes": as_json(&all) });
        if args.with_datanode {
            let one = |(node, space): &(DatanodeDetails, ByType)| json!({ "uuid": node.id.to_string(), "hostName": node.host, "storageTypes": as_json(space) });
            value["datanodes"] = each.iter().map(one).collect();
        }
        return output::value(&value);
    }
    print("all datanodes", &all)?;
    if args.with_datanode {
        each.iter().try_for_each(|(node, space)| print(&node.to_string(), space))?;
    }
    Ok(())
}

fn of_node(node: &DatanodeUsageInfoProto) -> Result<ByType, ShellError> {
    let one = |usage: &StorageTypeUsageProto| {
        let of = StorageType::from_wire(usage.storage_type).map_err(nonsense)?;
        let (capacity, used) = (usage.capacity, usage.used);
        Ok((of, Space { disks: usage.disks, capacity, used, remaining: usage.remaining }))
    };
    node.usage_by_type.iter().map(one).collect()
}

fn add(sum: &mut Space, more: &Space) {
    sum.disks = sum.disks.saturating_add(more.disks);
    sum.capacity = sum.capacity.saturating_add(more.capacity);
    sum.used = sum.used.saturating_add(more.used);
    sum.remaining = sum.remaining.saturating_add(more.remaining);
}

fn as_json(space: &ByType) -> Value {
    let one = |(of, s): (&StorageType, &Space)| {
        json!({
            "storageType": of.to_string(), "disks": s.disks, "capacity": s.capacity,
            "used": s.used, "remaining": s.remaining,
        })
    };
    space.iter().map(one).collect()
}

fn print(of: &str, space: &ByType) -> Result<(), ShellError> {
    output::line(format!("{of}:"))?;
    if space.is_empty() {
        output::line("  no healthy disk")?;
    }
    for (of, s) in space {
        let Space { disks, capacity, used, remaining } = s;
        output::line(format!(
            "  {:<8}{disks} disks, {capacity} bytes, {used} used, {remaining} left",
            of.to_string()
        ))?;
    }
    Ok(())
}
