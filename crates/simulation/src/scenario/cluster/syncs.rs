//! Syncs of blocks and segments fail on one DataNode for seconds at a time, and what they were to
//! sync is dropped, while its Raft logs and tables are on disks that work. Keys that are packed
//! into segments are written all the time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Board;
use super::client::{Reads, connect};
use super::configuration::{DATANODES, Layout, OMS, SCMS};
use super::lasting::{self, Size};
use super::server::on_runtime;
use crate::world::random::Random;
use crate::world::world;

/// Between two times, in seconds.
const INTERVAL: (u64, u64) = (5, 20);
/// How long syncs fail, in seconds.
const FAILS: (u64, u64) = (1, 10);
/// One sync in so many fails at least.
const OFTEN: u64 = 4;
/// Between two keys.
const BETWEEN_KEYS: Duration = Duration::from_millis(500);

/// Has them fail again and again.
pub fn work(layout: &Layout, random: Random, board: &Board) {
    on_runtime(async { tokio::join!(fail(random, board), write(layout, board)) });
}

async fn fail(mut random: Random, board: &Board) {
    let machine = 1 + SCMS + OMS + random.below(DATANODES as u64) as usize;
    while !board.stop.load(Ordering::Acquire) {
        board.pass(random.range(INTERVAL.0, INTERVAL.1)).await;
        let often = 1 + random.below(OFTEN);
        tracing::info!(machine, often, "syncs of blocks fail");
        world().machines[machine].disk.errors.sync_blocks = often;
        board.pass(random.range(FAILS.0, FAILS.1)).await;
        world().machines[machine].disk.errors.sync_blocks = 0;
        tracing::info!(machine, "syncs of blocks succeed");
    }
}

async fn write(layout: &Layout, board: &Board) {
    let Ok(client) = connect(layout, Reads::Leader) else { return };
    while !board.stop.load(Ordering::Acquire) {
        lasting::put(&client, board, Size::Small).await;
        tokio::time::sleep(BETWEEN_KEYS).await;
    }
}
