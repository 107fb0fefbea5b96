//! The checks of each replica of a block, and their output.

use client::{BlockReplica, Error, ReplicatedBlock};
use futures::future::join_all;
use proto::datanode::Result as ResultCode;
use serde_json::{Value, json};

use super::container_state::ContainerStates;
use super::outcome::{Check, Outcome};

/// Results for one block.
pub(super) struct OfBlock {
    /// The output.
    pub(super) shown: Value,
    /// The checks that at least one replica failed.
    pub(super) failed: Vec<Check>,
}

/// Runs the checks on all replicas of a block.
pub(super) async fn of_block(
    block: &ReplicatedBlock,
    checks: &[Check],
    states: &mut ContainerStates,
) -> OfBlock {
    let mut outcomes: Vec<Vec<(Check, Outcome)>> = vec![Vec::new(); block.replicas.len()];
    for check in checks {
        let of_check = match check {
            Check::Checksum => checksums(block).await,
            Check::BlockExistence => join_all(block.replicas.iter().map(existence)).await,
            Check::ContainerState => states.check(block).await,
        };
        for (of_replica, outcome) in outcomes.iter_mut().zip(of_check) {
            of_replica.push((*check, outcome));
        }
    }
    let replicas: Vec<Value> =
        block.replicas.iter().zip(&outcomes).map(|(replica, of)| render(replica, of)).collect();
    let mut failed: Vec<Check> = outcomes
        .iter()
        .flatten()
        .filter(|(_, outcome)| !outcome.is_pass())
        .map(|(check, _)| *check)
        .collect();
    failed.sort_unstable();
    failed.dedup();
    let shown = json!({
        "containerID": block.id.container.0,
        "blockID": block.id.local.0,
        "replicas": replicas,
    });
    OfBlock { shown, failed }
}

async fn checksums(block: &ReplicatedBlock) -> Vec<Outcome> {
    block.verify().await.iter().map(|failures| Outcome::of_failures(failures)).collect()
}

async fn existence(replica: &BlockReplica) -> Outcome {
    match replica.block_data().await {
        Ok(_) => Outcome::passed(),
        Err(e @ Error::Container { result: ResultCode::NoSuchBlock, .. }) => {
            Outcome::failed(e.to_string())
        }
        Err(e) => Outcome::incomplete(e.to_string()),
    }
}

fn render(replica: &BlockReplica, outcomes: &[(Check, Outcome)]) -> Value {
    let check = |(check, outcome): &(Check, Outcome)| {
        let failures: Vec<Value> =
            outcome.failures.iter().map(|message| json!({ "message": message })).collect();
        json!({
            "type": check.name(),
            "completed": outcome.completed,
            "pass": outcome.is_pass(),
            "failures": failures,
        })
    };
    json!({
        "datanode": { "uuid": replica.node.id.to_string(), "hostname": replica.node.host },
        "checks": outcomes.iter().map(check).collect::<Vec<_>>(),
        "replicaIndex": replica.index,
    })
}
