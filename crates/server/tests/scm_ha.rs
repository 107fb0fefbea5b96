//! Three SCMs, real DataNodes, an OM and a client: the cluster continues without the SCM that led.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

use client::{BucketSpec, Client, CreateKey, KeyPath};
use config::Configuration;
use datanode::{Datanode, DatanodeHandle, DatanodeOptions};
use om::{Om, OmHandle, OmOptions};
use scm::{Scm, ScmHandle};
use testkit::{free_addresses, until};

const NODES: [&str; 3] = ["scm1", "scm2", "scm3"];
/// Timeout of any operation on a busy machine.
const TIMEOUT: Duration = testkit::LIMIT;

/// Writes the common configuration file with the SCMs.
fn write_file(dir: &Path, properties: &[(String, String)]) {
    let property = |(key, value): &(String, String)| {
        format!("<property><name>{key}</name><value>{value}</value></property>")
    };
    let all: String = properties.iter().map(property).collect();
    std::fs::write(dir.join("ozone-site.xml"), format!("<configuration>{all}</configuration>"))
        .unwrap();
}

fn configuration(dir: &Path) -> Configuration {
    write_file(dir, &[("ozone.scm.nodes.service".into(), NODES.join(","))]);
    let mut conf = Configuration::builder().file(dir).unwrap().build().unwrap();
    for (key, value) in [
        ("ozone.scm.service.ids", "service"),
        ("ozone.scm.http.enabled", "false"),
        ("ozone.om.address", "127.0.0.1:0"),
        ("ozone.om.grpc.port", "0"),
        ("ozone.om.http.enabled", "false"),
        ("trioxide.audit.enabled", "false"),
        // OM soon requests blocks from SCM again.
        ("trioxide.om.block.pool.size", "4"),
        ("trioxide.om.scm.refresh.interval", "200ms"),
        ("hdds.container.ipc.random.port", "true"),
        ("hdds.container.ratis.ipc.random.port", "true"),
        ("trioxide.datanode.bind.host", "127.0.0.1"),
        ("hdds.datanode.http-address", "127.0.0.1:0"),
        ("hdds.datanode.volume.min.free.space", "1MB"),
        ("hdds.heartbeat.interval", "200ms"),
    ] {
        conf = conf.with(key, value);
    }
    let addresses = free_addresses(4 * NODES.len());
    for (node, of) in NODES.iter().zip(addresses.chunks(4)) {
        conf = conf
            .with(&format!("ozone.scm.client.address.service.{node}"), of[0])
            .with(&format!("ozone.scm.block.client.address.service.{node}"), of[1])
            .with(&format!("ozone.scm.datanode.address.service.{node}"), of[2])
            .with(&format!("ozone.scm.address.service.{node}"), "127.0.0.1")
            .with(&format!("ozone.scm.ratis.port.service.{node}"), of[3].port())
            .with(&format!("ozone.scm.db.dirs.service.{node}"), dir.join(node).display());
    }
    conf
}

struct Cluster {
    conf: Configuration,
    scms: Vec<Option<ScmHandle>>,
    om: OmHandle,
    datanodes: Vec<DatanodeHandle>,
    client: Client,
    dir: tempfile::TempDir,
}

async fn start_scm(conf: &Configuration, number: usize) -> ScmHandle {
    Scm::start(&conf.with("ozone.scm.node.id", NODES[number])).await.unwrap()
}

impl Cluster {
    async fn start() -> Self {
        testkit::log();
        let dir = tempfile::tempdir().unwrap();
        let conf = configuration(dir.path());
        let scms = tokio::join!(start_scm(&conf, 0), start_scm(&conf, 1), start_scm(&conf, 2));
        let scms = vec![Some(scms.0), Some(scms.1), Some(scms.2)];
        let home = |name: &str| conf.with("ozone.metadata.dirs", dir.path().join(name).display());
        let mut datanodes = Vec::new();
        for name in ["dn1", "dn2", "dn3", "dn4"] {
            let conf = home(name).with("hdds.datanode.dir", dir.path().join(name).display());
            datanodes.push(Datanode::start(&conf, DatanodeOptions::default()).await.unwrap());
        }
        let om = Om::start(&home("om"), OmOptions::default()).await.unwrap();
        let address = om.addresses().framed;
        let client = Client::connect(&conf.with("ozone.om.address", address)).unwrap();
        client.create_volume("volume", None, -1, -1).await.unwrap();
        client.create_bucket("volume", "bucket", BucketSpec::default()).await.unwrap();
        Self { conf, scms, om, datanodes, client, dir }
    }

    /// Waits for a leader; returns it.
    async fn leader(&self) -> usize {
        let leads = |scm: &Option<ScmHandle>| scm.as_ref().is_some_and(ScmHandle::leads);
        until("an SCM that leads", async || self.scms.iter().position(leads)).await
    }

    /// Writes keys that are carried in the log and keys that are not, and reads them back.
    async fn write(&self, round: &str) {
        for number in 0..12u8 {
            let path = KeyPath::new("volume", "bucket", format!("{round}-{number}"));
            let data = Bytes::from(vec![number; if number % 2 == 0 { 5_000 } else { 300_000 }]);
            let put = self.client.put_key(CreateKey::new(path.clone()), data.clone());
            tokio::time::timeout(TIMEOUT, put).await.expect("in time").unwrap();
            assert_eq!(self.client.open_key(&path).await.unwrap().read_all().await.unwrap(), data);
        }
    }

    async fn stop_scm(&mut self, number: usize) {
        self.scms[number].take().unwrap().shutdown().await;
    }

    async fn stop(self) {
        self.om.shutdown().await;
        futures::future::join_all(self.datanodes.into_iter().map(DatanodeHandle::shutdown)).await;
        futures::future::join_all(self.scms.into_iter().flatten().map(ScmHandle::shutdown)).await;
        drop(self.dir);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_goes_on_without_the_scm_that_led() {
    let mut cluster = Cluster::start().await;
    cluster.write("before").await;
    let ids: Vec<_> =
        cluster.scms.iter().flatten().map(|scm| scm.cluster_id().to_owned()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "one cluster: {ids:?}");

    // A new SCM does not vote before its first contact with a leader.
    let first = cluster.leader().await;
    let know = |scm: &ScmHandle| scm.leader().is_some();
    until("all to know the leader", async || cluster.scms.iter().flatten().all(know)).await;
    cluster.stop_scm(first).await;
    cluster.write("without the first").await;
    let second = cluster.leader().await;
    assert_ne!(first, second);

    // The first restarts and catches up; then the second stops.
    cluster.scms[first] = Some(start_scm(&cluster.conf, first).await);
    cluster.write("with the first again").await;
    cluster.stop_scm(second).await;
    cluster.write("without the second").await;
    cluster.scms[second] = Some(start_scm(&cluster.conf, second).await);
    cluster.stop().await;
}
