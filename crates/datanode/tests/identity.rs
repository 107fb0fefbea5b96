//! Identity, ports, clusters.

use datanode::{Datanode, DatanodeOptions};

use crate::support::{Cluster, RunningScm, conf};

#[tokio::test(flavor = "multi_thread")]
async fn random_ports_and_the_id_are_kept_over_a_restart() {
    let mut cluster = Cluster::start(2).await;
    let id = cluster.ids()[0];
    let node = cluster.node(id);
    // While it is down, another process on the machine may take one of its ports.
    for attempt in 1.. {
        let before = node.handle.as_ref().unwrap().addresses();
        assert!(before.grpc.port() != 0 && before.native.port() != 0 && before.http.is_some());
        node.stop().await;
        let text = std::fs::read_to_string(node.dir.join("meta/datanode.id")).unwrap();
        assert!(text.contains(&format!("STANDALONE: {}", before.grpc.port())), "{text}");
        node.restart().await;
        let handle = node.handle.as_ref().unwrap();
        assert_eq!(handle.id(), id);
        if handle.addresses() == before {
            break;
        }
        assert!(attempt < 5, "{before:?} became {:?}", handle.addresses());
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_in_use_is_refused() {
    let cluster = Cluster::start(1).await;
    let second = Datanode::start(&cluster.nodes[0].conf, DatanodeOptions::default()).await;
    let error = second.err().unwrap().to_string();
    assert!(error.contains("in use"), "{error}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_is_refused() {
    let mut cluster = Cluster::start(1).await;
    let id = cluster.ids()[0];
    cluster.node(id).stop().await;
    let other = RunningScm::start_for("CID-another").await;
    let conf = cluster.nodes[0].conf.with("ozone.scm.datanode.address", other.address);
    let handle = Datanode::start(&conf, DatanodeOptions::default()).await.unwrap();
    let error = handle.ready().await.unwrap_err().to_string();
    assert!(error.contains("CID-another"), "{error}");
    assert!(handle.failed().await.contains("CID-another"));
    handle.shutdown().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_of_another_cluster_is_refused() {
    let mut cluster = Cluster::start(1).await;
    let id = cluster.ids()[0];
    cluster.node(id).stop().await;
    // The disks of a node that was in another cluster, under a new identity.
    let other = RunningScm::start_for("CID-another").await;
    let home = cluster.nodes[0].dir.clone();
    let conf =
        conf(&home, 2, other.address).with("ozone.metadata.dirs", home.join("new").display());
    let handle = Datanode::start(&conf, DatanodeOptions::default()).await.unwrap();
    let error = handle.ready().await.unwrap_err().to_string();
    assert!(error.contains("cluster"), "{error}");
    handle.shutdown().await;
    cluster.stop().await;
}
