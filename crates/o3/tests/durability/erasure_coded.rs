//! Seven DataNodes as processes and keys of rs-3-2: any two are killed while clients write and
//! read, and restart with their data.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::{Client, KeyPath};
use proto::hdds::NodeState;
use rand::RngExt;
use rand::seq::index::sample;
use testkit::until;
use types::ReplicationConfig;

use super::cluster::Cluster;
use super::ledger::Ledger;
use super::{BUCKET, VOLUME, make_bucket_of, runtime};

/// Two more than the size of a block group, so that keys can be written without any two.
const NODES: usize = 7;
/// Number of rounds in which two of them are killed; `O3_KILL_ROUNDS` sets more.
const ROUNDS: u64 = 4;
/// No killed node becomes DEAD before it restarts, however slow the machine is: nothing is
/// reconstructed, or deleted after a reconstruction elsewhere, in place of the nodes' own data.
const OF_SCM: [(&str, &str); 1] = [("ozone.scm.dead.node.interval", "10m")];
const WRITERS: usize = 4;
const READERS: usize = 2;

#[test]
fn erasure_coded_keys_are_written_and_read_while_any_two_datanodes_are_killed() {
    let asked = std::env::var("O3_KILL_ROUNDS").ok();
    let rounds = asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let runtime = runtime();
    let mut cluster = Cluster::start_with_scm(NODES, &[], &OF_SCM);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let all_healthy = async || {
        let healthy = scm.nodes(Some(NodeState::Healthy), None).await.unwrap();
        healthy.len() == NODES
    };
    runtime.block_on(async {
        until("all nodes are there", &all_healthy).await;
        let config = ReplicationConfig::parse("EC", "rs-3-2-1024k").unwrap();
        make_bucket_of(&client, Some(config)).await;
    });
    let ledger = Arc::new(Ledger::default());
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|w| runtime.spawn(ledger.clone().write(client.clone(), w, 7, stop.clone())))
        .collect();
    let readers: Vec<_> = (0..READERS as u64)
        .map(|seed| runtime.spawn(ledger.clone().read(client.clone(), seed, stop.clone())))
        .collect();
    let ended = || {
        writers.iter().any(|writer| writer.is_finished())
            || readers.iter().any(|reader| reader.is_finished())
    };
    let goes_on = |what, more: u64| {
        let (writes, reads) = (ledger.acknowledged() + more, ledger.compared() + more / 10);
        let much = || ledger.acknowledged() > writes && ledger.compared() > reads;
        runtime.block_on(until(what, async || much() || ended()))
    };
    for _ in 0..rounds {
        // The test is about the random moment.
        goes_on("keys are written and read", rand::rng().random_range(20..60));
        let victims = sample(&mut rand::rng(), NODES, 2).into_vec();
        victims.iter().for_each(|n| cluster.kill(*n));
        goes_on("keys are written and read without two nodes", 60);
        victims.iter().for_each(|n| cluster.restart(*n));
        runtime.block_on(until("they are back", &all_healthy));
    }
    stop.store(true, Ordering::Relaxed);
    runtime.block_on(async {
        for writer in writers {
            let failed = writer.await.unwrap();
            assert!(failed.is_none(), "a writer saw the loss: {failed:?}");
        }
        for reader in readers {
            let failed = reader.await.unwrap();
            assert!(failed.is_none(), "a reader saw the loss: {failed:?}");
        }
        ledger.verify(&client).await;
        // All acknowledged data is on all five replicas, those of the killed nodes included.
        for key in ledger.keys() {
            are_on_five(&client, &key).await;
        }
        // Any two may be down permanently.
        for victims in [[0, 1], [2, 5]] {
            victims.iter().for_each(|n| cluster.kill(*n));
            ledger.verify(&client).await;
            victims.iter().for_each(|n| cluster.restart(*n));
            until("they are back", &all_healthy).await;
        }
    });
    println!("{} keys written, {} compared", ledger.acknowledged(), ledger.compared());
}

/// Panics unless SCM reports five replicas of each block of the key, with the right bytes. One in a
/// rack with too many may have moved since the request; SCM then reports another node.
async fn are_on_five(client: &Client, key: &str) {
    let mut told = Vec::new();
    loop {
        let (_, blocks) = client.key_replicas(&KeyPath::new(VOLUME, BUCKET, key)).await.unwrap();
        let (mut bad, mut nodes) = (Vec::new(), Vec::new());
        for block in &blocks {
            let failures = block.verify().await;
            assert_eq!(failures.len(), 5, "{key}: block {}: {failures:?}", block.id);
            if failures.iter().any(|of_replica| !of_replica.is_empty()) {
                bad.push(format!("block {}: {failures:?}", block.id));
            }
            nodes.extend(block.replicas.iter().map(|replica| (replica.index, replica.node.id)));
        }
        if bad.is_empty() {
            return;
        }
        assert_ne!(nodes, told, "{key}: {bad:?}");
        told = nodes;
    }
}
