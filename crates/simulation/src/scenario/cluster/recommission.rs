//! A DataNode comes back into service after its replicas were copied elsewhere, so that there are
//! surplus ones, while another one with replicas of the same containers is unreachable for all
//! SCMs. None may be deleted because of that one.

use std::sync::atomic::Ordering;

use client::ScmClient;
use proto::hdds::NodeOperationalState;
use types::DatanodeDetails;

use super::Board;
use super::client::{Reads, connect};
use super::configuration::{DATANODES, Layout, OMS, SCMS};
use super::isolated_leader::{reconnect, sever};
use super::write_once::{self, Size};
use crate::scenario::process::on_runtime;
use crate::world::node::address;
use crate::world::random::Random;

/// Keys that are written before a node leaves: their containers are the checked ones.
const KEYS: usize = 8;
/// Time limit for a node to leave, in seconds.
const LEAVE_TIMEOUT: u64 = 150;
/// Time for which the other one is unreachable for all SCMs before the first is back, in seconds:
/// it is stale after 15, and earlier orders have been carried out.
const SILENCE: (u64, u64) = (62, 70);
/// Time for which it stays unreachable afterwards, in seconds.
const SILENCE_AFTERWARDS: (u64, u64) = (40, 60);

/// Does it again and again.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        let scm = ScmClient::connect(layout.client());
        while !board.stop.load(Ordering::Acquire) {
            let first = random.below(DATANODES as u64);
            let other = (first + 1 + random.below(DATANODES as u64 - 1)) % DATANODES as u64;
            let machine_of = |number: u64| 1 + SCMS + OMS + number as usize;
            let (first, other) = (machine_of(first), machine_of(other));
            let hosts = [address(first)];
            board.pass(random.range(5, 15)).await;
            for _ in 0..KEYS {
                write_once::put(&client, board, Size::Large).await;
            }
            let asked = scm.decommission(&hosts, true, None).await;
            tracing::info!(first, ?asked, "a node is to leave");
            for _ in 0..LEAVE_TIMEOUT {
                if board.stop.load(Ordering::Acquire) || has_left(&scm, &hosts[0]).await {
                    break;
                }
                board.pass(1).await;
            }
            tracing::info!(first, other, "one node has left; the other is cut off from all SCMs");
            sever(other);
            board.pass(random.range(SILENCE.0, SILENCE.1)).await;
            while !matches!(scm.recommission(&hosts).await, Ok(failed) if failed.is_empty()) {
                board.pass(1).await;
            }
            tracing::info!(first, "the one is back in service");
            board.pass(random.range(SILENCE_AFTERWARDS.0, SILENCE_AFTERWARDS.1)).await;
            reconnect(other);
        }
    });
}

/// Returns `true` if a node is out of service, as SCM has it.
async fn has_left(scm: &ScmClient, host: &str) -> bool {
    let Ok(nodes) = scm.nodes(None, None).await else { return false };
    nodes.iter().any(|node| {
        let here = DatanodeDetails::from_wire(&node.node_id).is_ok_and(|d| d.host == host);
        here && node.node_operational_states().any(|s| s == NodeOperationalState::Decommissioned)
    })
}
