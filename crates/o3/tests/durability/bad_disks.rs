//! DataNodes as processes with disks that cannot be opened or contain changed bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::{Client, CreateKey, KeyPath};
use serde_json::Value;
use testkit::until;
use types::{ContainerId, ReplicationConfig};

use super::cluster::{Cluster, close_all, is_healed};
use super::flipped_bits::{files, flip, read};
use super::ledger::{Ledger, content};
use super::{BUCKET, VOLUME, make_bucket, runtime};
use crate::process::{Daemon, run, stderr, stdout};

const NODES: usize = 4;

/// A node in the output of `o3 admin datanode list`.
fn listed(cluster: &Cluster, n: usize) -> Value {
    let define = format!("ozone.scm.client.address={}", cluster.scm_address());
    let name = format!("dn{n}");
    let list = ["admin", "-D", &define, "datanode", "list", "--hostname", &name];
    let output = run(&[&list[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let listed: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    // The same in human-readable form.
    let words = stdout(&run(&list));
    let failed = listed[0]["failedVolumes"].as_array().unwrap().len();
    assert_eq!(words.lines().filter(|line| line.starts_with("Failed volume: ")).count(), failed);
    listed[0].clone()
}

/// Waits until SCM reports these failed disks of a node.
async fn until_failed(cluster: &Cluster, n: usize, disks: &[&Path]) {
    until("the failed disks are known", async || {
        let node = listed(cluster, n);
        let failed: Vec<_> = node["failedVolumes"].as_array().unwrap().clone();
        let is =
            |disk: &&Path| failed.iter().any(|f| Path::new(f.as_str().unwrap()).starts_with(disk));
        node["totalVolumeCount"] == 2
            && node["healthyVolumeCount"] == 2 - disks.len()
            && failed.len() == disks.len()
            && disks.iter().all(is)
    })
    .await;
}

async fn write(client: &Client, ledger: &Arc<Ledger>) {
    make_bucket(client).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(ledger.clone().write(client.clone(), 0, 7, stop.clone()));
    until("something is written", async || ledger.acknowledged() > 60).await;
    stop.store(true, Ordering::Relaxed);
    assert!(writer.await.unwrap().is_none());
}

#[test]
fn a_datanode_starts_without_a_disk_that_cannot_be_opened_and_its_replicas_are_made_again() {
    let runtime = runtime();
    let mut cluster = Cluster::start(NODES);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let ledger = Arc::new(Ledger::default());
    runtime.block_on(async {
        write(&client, &ledger).await;
        close_all(&scm).await;
    });
    let lost = runtime.block_on(cluster.filled_on_disk(&scm, 0, &["d1"]));
    let disk = cluster.home(0).join("d1");
    let version = disk.join("hdds/VERSION");
    let was = std::fs::read(&version).unwrap();

    // Its VERSION file is damaged; then a file replaces the directory.
    cluster.kill(0);
    std::fs::write(&version, b"\0\0\0\0").unwrap();
    cluster.restart(0);
    runtime.block_on(async {
        until_failed(&cluster, 0, &[&disk]).await;
        until("its replicas are made again", async || is_healed(&scm, None).await).await;
        ledger.verify(&client).await;
    });
    cluster.kill(0);
    let aside = disk.with_extension("aside");
    std::fs::rename(&disk, &aside).unwrap();
    std::fs::write(&disk, b"a file is no disk").unwrap();
    cluster.restart(0);
    runtime.block_on(async {
        until_failed(&cluster, 0, &[&disk]).await;
        // New data is written to the other disk.
        let key = CreateKey::new(KeyPath::new(VOLUME, BUCKET, "later"));
        client.put_key(key, content("later", 1, 3 << 20)).await.unwrap();
        ledger.verify(&client).await;
    });

    // Unless that is not tolerated.
    cluster.kill(0);
    let strict = [("hdds.datanode.failed.data.volumes.tolerated", "0")];
    let refused = cluster.datanode(0, &strict).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    let last = said.lines().rev().find(|line| line.starts_with("o3: ")).unwrap_or_default();
    assert!(last.contains("1 of 2 have failed, the limit is 0"), "{said}");
    assert!(last.contains(disk.to_str().unwrap()), "{said}");

    // The disk is back with its data.
    std::fs::remove_file(&disk).unwrap();
    std::fs::rename(&aside, &disk).unwrap();
    std::fs::write(&version, was).unwrap();
    cluster.datanodes[0] = Some(Daemon::start(cluster.datanode(0, &strict)));
    runtime.block_on(async {
        until_failed(&cluster, 0, &[]).await;
        close_all(&scm).await;
        until("there are as many replicas as before", async || {
            is_healed(&scm, None).await && cluster.are_on_three(&lost)
        })
        .await;
        ledger.verify(&client).await;
    });
}

#[test]
fn a_replica_with_a_flipped_bit_is_replaced_after_a_client_read_it() {
    const SIZE: usize = 3 << 20;
    let runtime = runtime();
    let mut cluster = Cluster::start(NODES);
    let (client, scm) = (cluster.client(), cluster.scm_client());
    let path = KeyPath::new(VOLUME, BUCKET, "key");
    runtime.block_on(async {
        make_bucket(&client).await;
        let key = CreateKey::new(path.clone()).replication(ReplicationConfig::RATIS_THREE);
        client.put_key(key, content("key", 1, SIZE)).await.unwrap();
        close_all(&scm).await;
    });
    let on_node = |cluster: &Cluster, n: usize| files(&cluster.home(n), ".block");
    let mut holders = Vec::new();
    runtime.block_on(until("three nodes have it", async || {
        holders = (0..NODES).filter(|n| !on_node(&cluster, *n).is_empty()).collect::<Vec<_>>();
        holders.len() == 3
    }));
    let (damaged, others) = holders.split_first().unwrap();
    let file = on_node(&cluster, *damaged).remove(0);
    let container = file.parent().unwrap().parent().unwrap().file_name().unwrap();
    let container = ContainerId(container.to_str().unwrap().parse().unwrap());
    let flipped =
        || std::fs::read(&file).ok().filter(|bytes| bytes[..SIZE] != content("key", 1, SIZE));
    flip(&file, 1_234_567);
    assert!(flipped().is_some());

    // A client chooses the replica that it reads first, so only one is left.
    others.iter().for_each(|n| cluster.kill(*n));
    runtime.block_on(async {
        until("the damaged replica is known", async || {
            let read = tokio::time::timeout(Duration::from_secs(5), read(&client, &path)).await;
            assert!(!matches!(read, Ok(Ok(_))), "there are no right bytes to be read");
            scm.replicas(container).await.unwrap().iter().any(|r| r.state == "UNHEALTHY")
        })
        .await;
    });
    others.iter().for_each(|n| cluster.restart(*n));
    runtime.block_on(async {
        until("it is deleted", async || flipped().is_none()).await;
        until("there are three good ones", async || is_healed(&scm, None).await).await;
        let bytes = read(&client, &path).await.unwrap();
        assert!(bytes == content("key", 1, SIZE), "wrong bytes");
    });
    let copies: Vec<_> = (0..NODES).flat_map(|n| on_node(&cluster, n)).collect();
    let good =
        |file: &std::path::PathBuf| std::fs::read(file).unwrap()[..SIZE] == content("key", 1, SIZE);
    assert_eq!(copies.iter().filter(|file| good(file)).count(), 3, "{copies:?}");
}
