//! Final contents of the DataNodes: each block of each key is read from every DataNode that has it,
//! after all machines lost power at once, so that their responses show the contents of their disks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, ScmClient};
use framed::ClientPool;
use types::{BlockId, DatanodeDetails};

use super::Board;
use super::client::{Reads, bytes_of, connect, path};
use super::configuration::Layout;
use crate::scenario::process::on_runtime;
use crate::scenario::replica::{Absent, read, striped};
use crate::scenario::safe_mode::Operator;

/// Required number of a block's replicas.
const REPLICAS: usize = 3;

/// A block that was acknowledged.
struct Wanted {
    key: String,
    block: BlockId,
    /// Expected contents of each kind of replica: one for full copies, one for each index of an
    /// erasure coded group.
    parts: Vec<Bytes>,
    is_striped: bool,
}

/// State of a block on a DataNode.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    /// All of it, of this index; 0 for a full copy.
    Good(u32),
    /// It returns that the block does not exist.
    Nothing,
    /// It does not answer, or not yet.
    Silent(String),
    /// It has an earlier state of the block.
    Behind(u64),
    /// Its contents differ from the acknowledged ones.
    Wrong(String),
}

impl Found {
    fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(_))
    }
}

/// Checks until every block of every key has its required number of good replicas, and no wrong
/// one.
pub fn count(layout: &Layout, board: &Board, done: &AtomicBool) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        let mut wanted = wanted(&client, board).await;
        let scm = ScmClient::connect(layout.client());
        let pool = ClientPool::new(framed::ClientOptions::default());
        let mut operator = Operator::default();
        while !wanted.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let Ok(nodes) = scm.nodes(None, None).await else { continue };
            let of_wire = |node: &proto::hdds::Node| DatanodeDetails::from_wire(&node.node_id).ok();
            let nodes: Vec<_> = nodes.iter().filter_map(of_wire).collect();
            let mut lacking = Vec::new();
            let mut left = Vec::new();
            for block in wanted {
                let mut all = Vec::new();
                for node in &nodes {
                    all.push((node.host.clone(), inspect(&pool, node, &block).await));
                }
                for (host, found) in
                    all.iter().filter(|(_, found)| board.honest && found.is_wrong())
                {
                    let told = format!("{} block {} on {host}: {found:?}", block.key, block.block);
                    board.violations.lock().push(told);
                }
                let is_rotten = |host: &String| board.corrupt.lock().contains(host);
                let wrong = |(host, found): &&(String, Found)| found.is_wrong() && !is_rotten(host);
                // A node that got a new disk is registered under two ids.
                let good = all.iter().filter_map(|(host, found)| match found {
                    Found::Good(index) => Some((host, *index)),
                    _ => None,
                });
                let good: BTreeSet<(&String, u32)> = good.collect();
                let is_good = |host: &String| good.iter().any(|(of, _)| *of == host);
                let corrupt = all.iter().any(|(host, _)| is_rotten(host) && !is_good(host));
                let (count, needed) = match block.is_striped {
                    true => {
                        let indexes: BTreeSet<u32> = good.iter().map(|(_, index)| *index).collect();
                        (indexes.len(), block.parts.len())
                    }
                    false => (good.len(), REPLICAS),
                };
                if count + usize::from(corrupt) < needed || all.iter().any(|of| wrong(&of)) {
                    lacking.push(format!("{} block {}: {all:?}", block.key, block.block));
                    left.push(block);
                }
            }
            if !left.is_empty() {
                lacking.extend(operator.look(&scm).await);
            }
            *board.lacking.lock() = lacking;
            wanted = left;
        }
        done.store(true, Ordering::Release);
    });
}

/// The blocks of all keys, as OM has them, with the contents of their last reads.
async fn wanted(client: &Client, board: &Board) -> Vec<Wanted> {
    let kept = board.kept.lock().clone();
    let mut wanted = Vec::new();
    for ((bucket, key), content) in kept {
        let name = format!("bucket {bucket} key {key}");
        let info = loop {
            match client.key_info(&path(bucket, key)).await {
                Ok(info) => break info,
                Err(error) => *board.lacking.lock() = vec![format!("{name}: {error}")],
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        let mut rest = bytes_of(content);
        for location in info.key_location_list.iter().flat_map(|list| &list.key_locations) {
            let block = BlockId::from_wire(&location.block_id);
            let bytes = rest.split_to((location.length as usize).min(rest.len()));
            board.containers.lock().insert(block.container.to_wire() as u64);
            let parts = match board.coding {
                Some(config) => striped(config, &bytes),
                None => vec![bytes],
            };
            let (key, is_striped) = (name.clone(), board.coding.is_some());
            wanted.push(Wanted { key, block, parts, is_striped });
        }
        if !rest.is_empty() {
            let told = format!("{name}: {} of its bytes are in no block", rest.len());
            board.violations.lock().push(told);
        }
    }
    wanted
}

/// Reads a DataNode's replica of a block.
async fn inspect(pool: &ClientPool, node: &DatanodeDetails, wanted: &Wanted) -> Found {
    let replica = match read(pool, node, wanted.block).await {
        Ok(replica) => replica,
        Err(Absent::Nothing) => return Found::Nothing,
        Err(Absent::Silent(why)) => return Found::Silent(why),
        Err(Absent::Wrong(why)) => return Found::Wrong(why),
    };
    let (index, bytes) = (replica.index, replica.bytes);
    let part = usize::try_from(index.saturating_sub(1)).ok().and_then(|at| wanted.parts.get(at));
    let Some(part) = part.filter(|_| wanted.is_striped == (index > 0)) else {
        return Found::Wrong(format!("it is of index {index}"));
    };
    if replica.bcsid < wanted.block.bcsid {
        return Found::Behind(replica.bcsid);
    }
    // A replica of a group may have stripes after the acknowledged ones.
    let is_good = match wanted.is_striped {
        true => bytes.starts_with(part),
        false => bytes == *part,
    };
    match is_good {
        true => Found::Good(index),
        false => Found::Wrong(format!("{} bytes that no client wrote there", bytes.len())),
    }
}
