//! Scans of a running DataNode: damage is reported, healthy replicas do not change, and the times
//! of scans are reported.

use std::net::SocketAddr;
use std::path::PathBuf;

use config::Configuration;
use datanode::{Datanode, DatanodeOptions};
use proto::scm_datanode::container_replica_proto::State;
use serde_json::Value;
use testkit::until;
use types::DatanodeId;

use crate::copying::get;
use crate::failing_disk::{container_parents, disk_of};
use crate::support::{Cluster, Pipe, block, bytes, conf};

/// Scans at once, again and again.
fn eager(conf: Configuration) -> Configuration {
    conf.with("hdds.container.scrub.data.scan.interval", "200ms")
        .with("hdds.container.scrub.metadata.scan.interval", "200ms")
        .with("hdds.container.scrub.volume.bytes.per.second", "100MB")
        .with("hdds.container.scrub.min.gap", "0s")
}

/// A closed container with large and small blocks on all nodes.
async fn closed_container(cluster: &Cluster) -> Pipe {
    let mut pipe = cluster.pipeline().await;
    pipe.put_large(block(1, 1), &bytes(1, 300_000), 100_000).await.unwrap();
    for local in 2..6 {
        pipe.put_small(block(1, local), bytes(local, 1_000)).await.unwrap();
    }
    for node in cluster.ids() {
        cluster.scm.scm.send_close_container(node, 1, pipe.id, false);
    }
    for node in cluster.ids() {
        cluster.scm.scm.wait_for_replica(node, 1, State::Closed).await;
    }
    pipe
}

fn http(cluster: &Cluster, node: DatanodeId) -> SocketAddr {
    let node = cluster.nodes.iter().find(|other| other.id == node).unwrap();
    node.handle.as_ref().unwrap().addresses().http.unwrap()
}

async fn containers(cluster: &Cluster, node: DatanodeId) -> Value {
    serde_json::from_str(&get(http(cluster, node), "/containers.json").await).unwrap()
}

/// A number of `/metrics`, over all disks.
async fn metric(cluster: &Cluster, node: DatanodeId, name: &str) -> u64 {
    let text = get(http(cluster, node), "/metrics").await;
    let prefix = format!("datanode_{name}_total{{disk=\"disk");
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with(&prefix)).collect();
    assert_eq!(lines.len(), 2, "one for each disk: {text}");
    lines.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn container_dir(cluster: &mut Cluster, node: DatanodeId) -> PathBuf {
    let disk = disk_of(&cluster.node(node).dir);
    let parents = container_parents(&disk);
    parents.iter().map(|parent| parent.join("1")).find(|dir| dir.is_dir()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_disk_and_each_log_has_its_figures_under_a_label() {
    let mut cluster = Cluster::start(1).await;
    let node = cluster.ids()[0];
    cluster.scm.scm.create_pipeline(&[node]).await;
    // One line for each disk, or it panics.
    metric(&cluster, node, "disk_sync_operations").await;
    let at = http(&cluster, node);
    let text = get(at, "/metrics").await;
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    };
    for n in 0..2 {
        let disk = format!("{{disk=\"disk{n}\"}}");
        assert!(value(&format!("datanode_disk_capacity_bytes{disk}")) > 0.0);
        assert!(value(&format!("datanode_disk_available_bytes{disk}")) > 0.0);
    }
    assert!(value("datanode_raft_log_writes_total{log=\"log0\"}") >= 0.0);
    // The registry keeps no disk open.
    cluster.node(node).stop().await;
    cluster.node(node).restart().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_that_nobody_reads_is_found_and_reported() {
    let mut cluster = Cluster::start_with(3, eager).await;
    let _pipe = closed_container(&cluster).await;
    let ids = cluster.ids();
    for node in &ids {
        let scanned = async || metric(&cluster, *node, "data_scan_containers").await > 1;
        until("the container to be read twice", scanned).await;
    }
    let path = container_dir(&mut cluster, ids[1]).join("chunks/1.block");
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", 250_000).unwrap();
    cluster.scm.scm.wait_for_replica(ids[1], 1, State::Unhealthy).await;
    assert_eq!(metric(&cluster, ids[1], "data_scan_damaged").await, 1);
    let page = get(http(&cluster, ids[1]), "/status.json").await;
    let page: Value = serde_json::from_str(&page).unwrap();
    let scans = page["Scans"].as_array().unwrap();
    assert_eq!(scans.len(), 2, "{page}");
    let found = |row: &&Value| row["last damage"].as_str().unwrap().contains("container 1: block");
    let row = scans.iter().find(found).unwrap();
    assert_eq!((row["damaged"].as_str(), row["containers"].as_str()), (Some("1"), Some("1")));
    assert_eq!(containers(&cluster, ids[1]).await[0]["state"], "UNHEALTHY");
    for node in [ids[0], ids[2]] {
        let before = metric(&cluster, node, "data_scan_containers").await;
        let again = async || metric(&cluster, node, "data_scan_containers").await > before;
        until("the others to be read once more", again).await;
        let state = cluster.scm.scm.with(|known| known.replicas[&(node, 1)].state());
        assert_eq!(state, State::Closed);
        assert_eq!(metric(&cluster, node, "data_scan_damaged").await, 0);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_removed_is_found_and_reported() {
    let mut cluster = Cluster::start_with(1, |conf| {
        eager(conf).with("hdds.container.scrub.data.scan.interval", "7d")
    })
    .await;
    let mut pipe = cluster.pipeline().await;
    // It is open: the metadata scan looks at all states.
    pipe.put_small(block(1, 1), bytes(1, 1_000)).await.unwrap();
    let node = cluster.ids()[0];
    cluster.scm.scm.wait_for_container(node, 1).await;
    std::fs::remove_dir_all(container_dir(&mut cluster, node).join("chunks")).unwrap();
    cluster.scm.scm.wait_for_replica(node, 1, State::Unhealthy).await;
    let damaged = async || metric(&cluster, node, "metadata_scan_damaged").await == 1;
    until("the damage to be counted", damaged).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_scanned_is_known_after_a_restart_and_left_for_the_shortest_gap() {
    let mut cluster =
        Cluster::start_with(1, |conf| eager(conf).with("hdds.container.scrub.min.gap", "15m"))
            .await;
    let _pipe = closed_container(&cluster).await;
    let node = cluster.ids()[0];
    let scanned = async || containers(&cluster, node).await[0]["scanned"].is_string();
    until("the container to be read", scanned).await;
    let before = containers(&cluster, node).await[0]["scanned"].clone();
    assert_eq!(metric(&cluster, node, "data_scan_containers").await, 1);
    cluster.node(node).stop().await;
    cluster.node(node).restart().await;
    assert_eq!(containers(&cluster, node).await[0]["scanned"], before);
    assert_eq!(metric(&cluster, node, "data_scan_containers").await, 0);
    let names = get(http(&cluster, node), "/status.json").await;
    for name in
        ["ContainerMetadataScanner", "ContainerDataScanner-disk0", "ContainerDataScanner-disk1"]
    {
        assert!(names.contains(name), "{name} in {names}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn settings_of_scans_that_make_no_sense_keep_a_datanode_from_starting() {
    let dir = tempfile::tempdir().unwrap();
    let nobody: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let conf = conf(dir.path(), 1, nobody).with("hdds.container.scrub.off-peak.hour", "22-26");
    let Err(error) = Datanode::start(&conf, DatanodeOptions::default()).await else {
        panic!("it starts")
    };
    let expected = "hdds.container.scrub.off-peak.hour is \"22-26\": expected hours from 0 to 23";
    assert!(error.to_string().starts_with(expected), "{error}");
}
