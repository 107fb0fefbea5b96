//! Syncs of blocks and segments fail on one DataNode for seconds at a time, and the unsynced data
//! is dropped, while its Raft logs and tables are on disks that work. Keys that are packed into
//! segments are written all the time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Board;
use super::client::{Reads, connect};
use super::configuration::{DATANODES, Layout, OMS, SCMS};
use super::write_once::{self, Size};
use crate::scenario::process::on_runtime;
use crate::world::random::Random;
use crate::world::world;

/// Between two times, in seconds.
const INTERVAL: (u64, u64) = (5, 20);
/// Duration of the failures, in seconds.
const FAILURE_DURATION: (u64, u64) = (1, 10);
/// Minimum rate of failures: one sync in this many.
const MIN_FAILURE_RATE: u64 = 4;
/// Between two keys.
const KEY_INTERVAL: Duration = Duration::from_millis(500);

/// Has them fail again and again.
pub fn work(layout: &Layout, random: Random, board: &Board) {
    on_runtime(async { tokio::join!(fail(random, board), write(layout, board)) });
}

async fn fail(mut random: Random, board: &Board) {
    let machine = 1 + SCMS + OMS + random.below(DATANODES as u64) as usize;
    while !board.stop.load(Ordering::Acquire) {
        board.pass(random.range(INTERVAL.0, INTERVAL.1)).await;
        let often = 1 + random.below(MIN_FAILURE_RATE);
        tracing::info!(machine, often, "syncs of blocks fail");
        world().machines[machine].disk.errors.sync_blocks = often;
        board.pass(random.range(FAILURE_DURATION.0, FAILURE_DURATION.1)).await;
        world().machines[machine].disk.errors.sync_blocks = 0;
        tracing::info!(machine, "syncs of blocks succeed");
    }
}

async fn write(layout: &Layout, board: &Board) {
    let Ok(client) = connect(layout, Reads::Leader) else { return };
    while !board.stop.load(Ordering::Acquire) {
        write_once::put(&client, board, Size::Small).await;
        tokio::time::sleep(KEY_INTERVAL).await;
    }
}
