//! Six DataNodes as processes in two racks: what dies, comes back, is wiped or gets a new disk is
//! healed.

use testkit::until;

use super::cluster::{Cluster, close_all, containers, dead, is_healed};
use super::ledger::Ledger;
use super::{make_bucket, runtime};

const NODES: usize = 6;

#[test]
fn containers_return_to_three_replicas_on_two_racks_whatever_happens_to_a_datanode() {
    let runtime = runtime();
    let mut cluster = Cluster::start(NODES);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let ledger = std::sync::Arc::new(Ledger::default());
    runtime.block_on(async {
        until("the nodes are in their racks and the pipelines span both", async || {
            let pipelines = scm.pipelines().await.unwrap();
            let open = pipelines.iter().filter(|p| {
                let mut racks: Vec<_> = p.members.iter().map(|m| m.network_location()).collect();
                racks.sort_unstable();
                racks.dedup();
                p.members.len() == 3
                    && p.state() == proto::hdds::PipelineState::PipelineOpen
                    && racks.len() == 2
            });
            open.count() == 4
        })
        .await;
        make_bucket(&client).await;
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 0, 7, stop.clone()));
        until("something is written", async || ledger.acknowledged() > 60).await;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writer.await.unwrap().is_none());
        close_all(&scm).await;
    });

    // A node dies for good.
    cluster.kill(0);
    runtime.block_on(async {
        until("it is dead", async || dead(&scm, 1).await).await;
        until("it is replaced", async || is_healed(&scm, Some("dn0")).await).await;
        ledger.verify(&client).await;
    });

    // It comes back with what it had: what is too many goes.
    cluster.restart(0);
    runtime.block_on(async {
        until("it is back", async || dead(&scm, 0).await).await;
        until("replicas too many are gone", async || is_healed(&scm, None).await).await;
    });

    // A node's disk is replaced: what was on it is made again.
    let lost = cluster.on_disk(1, &["d1"]);
    assert!(!lost.is_empty(), "nothing to heal");
    cluster.kill(1);
    std::fs::remove_dir_all(cluster.home(1).join("d1")).unwrap();
    assert!(!cluster.are_on_three(&lost));
    cluster.restart(1);
    runtime.block_on(async {
        until("the disk's replicas are made again", async || {
            cluster.are_on_three(&lost) && is_healed(&scm, None).await
        })
        .await;
        ledger.verify(&client).await;
    });

    // A node comes back as somebody else, with nothing.
    let lost = cluster.on_disk(2, &["d1", "d2"]);
    assert!(!lost.is_empty(), "nothing to heal");
    cluster.kill(2);
    std::fs::remove_dir_all(cluster.home(2)).unwrap();
    cluster.restart(2);
    runtime.block_on(async {
        until("the old one is dead", async || dead(&scm, 1).await).await;
        until("its replicas are made again", async || {
            cluster.are_on_three(&lost) && is_healed(&scm, None).await
        })
        .await;
        ledger.verify(&client).await;
    });

    // A node is away until its pipelines are closed, and their logs with them, while the others
    // write on: what it has of their containers is old.
    runtime.block_on(async {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 1, 7, stop.clone()));
        let more = ledger.acknowledged() + 30;
        until("there are open containers again", async || ledger.acknowledged() > more).await;
        cluster.kill(3);
        let more = ledger.acknowledged() + 60;
        until("it is dead", async || dead(&scm, 2).await).await;
        until("much was written without it", async || ledger.acknowledged() > more).await;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writer.await.unwrap().is_none());
        cluster.restart(3);
        until("it is back", async || dead(&scm, 1).await).await;
        close_all(&scm).await;
        until("all is on three", async || {
            let all = containers(&scm).await.into_iter();
            let ids = all.filter(|(_, _, keys)| *keys > 0).map(|(id, _, _)| id).collect();
            cluster.are_on_three(&ids)
        })
        .await;
        ledger.verify(&client).await;
    });
}
