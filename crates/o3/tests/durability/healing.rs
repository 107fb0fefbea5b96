//! Six DataNodes as processes in two racks: the cluster heals after a dead node and a replaced
//! disk. More cases are in scripts of the simulation (`repair/`).

use testkit::until;

use super::cluster::{Cluster, close_all, dead, is_healed};
use super::ledger::Ledger;
use super::{make_bucket, runtime};

const NODES: usize = 6;

#[test]
fn containers_return_to_three_replicas_on_two_racks_when_a_node_dies_and_a_disk_is_replaced() {
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

    // A node dies permanently, with its disks.
    cluster.kill(0);
    for disk in ["d1", "d2"] {
        std::fs::remove_dir_all(cluster.home(0).join(disk)).unwrap();
    }
    runtime.block_on(async {
        until("it is dead", async || dead(&scm, 1).await).await;
        until("it is replaced", async || is_healed(&scm, Some("dn0")).await).await;
        ledger.verify(&client).await;
    });

    // A node's disk is replaced: its replicas are recreated.
    let lost = runtime.block_on(cluster.filled_on_disk(&scm, 1, &["d1"]));
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
}
