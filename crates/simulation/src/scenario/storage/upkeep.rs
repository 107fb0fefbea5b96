//! An operator during faults: starts and stops the container balancer, takes DataNodes out of
//! service, at times point to point, and back, has replicas reconciled and containers closed.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::ScmClient;
use types::{BlockId, ContainerId};

use crate::scenario::erasure::board::{Board, connect, path};
use crate::scenario::erasure::layout::{Layout, machine};
use crate::scenario::process::on_runtime;
use crate::world::node::address;
use crate::world::random::Random;

/// Settings with which the balancer soon moves a few small containers. It refuses to start unless
/// nine minutes of a move's time are left for the deletion.
pub const SETTINGS: [(&str, &str); 5] = [
    ("hdds.container.balancer.utilization.threshold", "0.1"),
    ("hdds.container.balancer.datanodes.involved.max.percentage.per.iteration", "100"),
    ("hdds.container.balancer.balancing.iteration.interval", "5s"),
    ("hdds.container.balancer.move.timeout", "12m"),
    ("hdds.container.balancer.move.replication.timeout", "40s"),
];

/// Between two things that the operator does, in seconds.
const INTERVAL: (u64, u64) = (5, 25);
/// Duration of the balancer's run, or of a DataNode's time out of service, in seconds.
const WHILE: (u64, u64) = (20, 90);

/// One thing after the other.
pub fn work(layout: &Layout, board: &Board, seed: u64) {
    let mut random = Random::new(seed);
    on_runtime(async {
        let scm = ScmClient::connect(layout.client());
        let Ok(client) = connect(layout) else { return };
        loop {
            pass(board, random.range(INTERVAL.0, INTERVAL.1)).await;
            board.while_quiet().await;
            let stays = random.range(WHILE.0, WHILE.1);
            let what = random.below(6);
            match what {
                0 | 5 => balance(&scm, board, stays).await,
                1 | 2 => {
                    let datanode = random.below(layout.datanodes() as u64) as usize;
                    let hosts = [address(machine(datanode))];
                    let to = random.one_in(2).then_some("auto");
                    let left = match what {
                        1 => scm.decommission(&hosts, true, to).await,
                        _ => scm.start_maintenance(&hosts, 0, true, None).await,
                    };
                    tracing::info!(datanode, ?to, ?left, "is taken out of service");
                    if matches!(left, Ok(failed) if failed.is_empty()) {
                        board.upkeep(match (what, to) {
                            (1, Some(_)) => "left to one",
                            (1, None) => "left",
                            _ => "maintained",
                        });
                        pass(board, stays).await;
                    }
                    while !matches!(scm.recommission(&hosts).await, Ok(none) if none.is_empty()) {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
                _ => {
                    let Some((number, _)) = board.any_key(&mut random) else { continue };
                    let Ok(info) = client.key_info(&path(number)).await else { continue };
                    let blocks = info.key_location_list.iter().flat_map(|l| &l.key_locations);
                    let Some(block) = blocks.map(|l| BlockId::from_wire(&l.block_id)).next() else {
                        continue;
                    };
                    tend(&scm, board, block.container, what == 3).await;
                }
            }
        }
    });
}

/// Lets the container balancer run for this many seconds.
async fn balance(scm: &ScmClient, board: &Board, seconds: u64) {
    let started = scm.start_container_balancer(Default::default()).await;
    tracing::info!(?started, "the balancer is started");
    if !matches!(started, Ok(answer) if answer.start) {
        return;
    }
    board.upkeep("balancer started");
    // Moves that completed in each iteration; it reports no more of them once it has stopped.
    let mut moved: BTreeMap<i32, u64> = BTreeMap::new();
    for _ in 0..seconds {
        pass(board, 1).await;
        if let Ok(status) = scm.container_balancer_status().await
            && let Some(info) = status.container_balancer_status_info
        {
            for iteration in &info.iterations_status_info {
                let completed = iteration.container_moves_completed().cast_unsigned();
                let before = moved.entry(iteration.iteration_number()).or_default();
                *before = completed.max(*before);
            }
        }
        if board.is_quiet.load(Ordering::Acquire) {
            break;
        }
    }
    while scm.stop_container_balancer().await.is_err() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    board.count("containers moved", moved.values().sum());
}

/// Has a container closed, or its replicas reconciled.
async fn tend(scm: &ScmClient, board: &Board, container: ContainerId, closes: bool) {
    match closes {
        true if scm.close_container(container).await.is_ok() => board.upkeep("closed"),
        false if scm.reconcile_container(container).await.is_ok() => board.upkeep("reconciled"),
        _ => {}
    }
}

/// Lets this many seconds pass; fewer if the run is quiet.
async fn pass(board: &Board, seconds: u64) {
    for _ in 0..seconds {
        if board.is_quiet.load(Ordering::Acquire) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
