//! Replicas that are UNHEALTHY by their container files.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::configuration::{DATANODES, OMS, SCMS};
use crate::world::node;

/// DataNodes and the containers that they hold as UNHEALTHY now.
pub fn replicas() -> BTreeSet<(usize, u64)> {
    let mut found = BTreeSet::new();
    for datanode in 0..DATANODES {
        for dir in directories(datanode) {
            let name = dir.file_name().and_then(|name| name.to_str()?.parse::<u64>().ok());
            let Some(container) = name else { continue };
            let file = dir.join("metadata").join(format!("{container}.container"));
            let text = fs::read_to_string(file).unwrap_or_default();
            if text.lines().any(|line| line == "state: UNHEALTHY") {
                found.insert((datanode, container));
            }
        }
    }
    found
}

/// The directories of a DataNode's containers.
pub fn directories(datanode: usize) -> Vec<PathBuf> {
    let home = node::home(1 + SCMS + OMS + datanode);
    let below =
        |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let clusters = below(home.join("data/hdds"));
    clusters.flat_map(|cluster| below(cluster.join("current"))).flat_map(below).collect()
}
