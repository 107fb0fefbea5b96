//! An operator who takes DataNodes out of service and back during faults.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::ScmClient;

use super::Board;
use super::configuration::{DATANODES, Layout, OMS, SCMS};
use crate::scenario::process::on_runtime;
use crate::world::node::address;
use crate::world::random::Random;

/// Minimum time of a node out of service, and maximum addition to it, in seconds.
const OUT_OF_SERVICE: (u64, u64) = (30, 180);
/// Between two nodes at most, in seconds.
const MAX_INTERVAL: u64 = 60;

/// The operator's process.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let scm = ScmClient::connect(layout.client());
        while !board.stop.load(Ordering::Acquire) {
            board.pass(random.below(MAX_INTERVAL)).await;
            let number = random.below(DATANODES as u64) as usize;
            let hosts = [address(1 + SCMS + OMS + number)];
            // Point to point for every other node.
            let to = number.is_multiple_of(2).then_some("auto");
            let left = match random.one_in(2) {
                true => scm.decommission(&hosts, true, to).await,
                false => scm.start_maintenance(&hosts, 0, true, to).await,
            };
            tracing::info!(number, ?left, "a node is taken out of service");
            board.pass(random.range(OUT_OF_SERVICE.0, OUT_OF_SERVICE.0 + OUT_OF_SERVICE.1)).await;
            while !matches!(scm.recommission(&hosts).await, Ok(failed) if failed.is_empty()) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tracing::info!(number, "a node is back in service");
        }
    });
}
