//! `o3 why`: the conditions that a container, a DataNode and SCM wait for.

use testkit::until;

use super::cluster::{Cluster, close_all, containers, dead, free, role};
use super::ledger::Ledger;
use super::{make_bucket, runtime};
use crate::process::{Daemon, o3, stderr, stdout};

/// The sentences of `o3 why`, and the conditions waited for.
fn why(scm: &str, question: &[&str]) -> (Vec<String>, Vec<String>) {
    let address = format!("ozone.scm.client.address={scm}");
    let output = o3(&["why"]).args(question).args(["--json", "-D", &address]).output().unwrap();
    assert!(output.status.success(), "{question:?}: {}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let texts = |field: &str| {
        let list = answer[field].as_array().unwrap().iter();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    (texts("says"), texts("waitsFor"))
}

#[test]
fn a_container_that_lacks_a_replica_names_the_node_that_has_gone() {
    let runtime = runtime();
    let mut cluster = Cluster::start(3);
    let (client, scm, address) = (cluster.client(), cluster.scm_client(), cluster.scm_address());
    let ledger = std::sync::Arc::new(Ledger::default());
    let first = runtime.block_on(async {
        until("the nodes form a pipeline", async || {
            let pipelines = scm.pipelines().await.unwrap();
            pipelines.iter().any(|p| p.members.len() == 3 && p.leader_datanode_id.is_some())
        })
        .await;
        make_bucket(&client).await;
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writer = tokio::spawn(ledger.clone().write(client.clone(), 0, 7, stop.clone()));
        until("something is written", async || ledger.acknowledged() > 10).await;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writer.await.unwrap().is_none());
        containers(&scm).await[0].0.to_string()
    });
    assert_eq!(why(&address, &["safemode"]).0, ["SCM is out of safe mode."]);
    let (says, waits) = why(&address, &["container", &first]);
    assert!(says[0].contains("(RATIS/THREE) is OPEN"), "{says:?}");
    assert_eq!(waits, [""; 0], "{says:?}");

    let id = runtime.block_on(async {
        close_all(&scm).await;
        let fullest = containers(&scm).await.into_iter().max_by_key(|(_, _, blocks)| *blocks);
        let id = fullest.unwrap().0.to_string();
        until("it is whole", async || why(&address, &["container", &id]).1.is_empty()).await;
        id
    });
    let (says, _) = why(&address, &["container", &id]);
    assert!(says[0].contains("is CLOSED") && says[1].contains("dn0"), "{says:?}");
    assert!(why(&address, &["datanode", "dn0"]).1.is_empty());

    cluster.kill(0);
    runtime.block_on(until("it is dead", async || dead(&scm, 1).await));
    let (says, waits) = why(&address, &["datanode", "dn0"]);
    assert!(says[0].contains("is DEAD"), "{says:?}");
    assert!(waits[0].starts_with("its restart"), "{waits:?}");
    // SCM removes the replicas of a dead node: another node is needed, and there is none.
    let (says, waits) = why(&address, &["container", &id]);
    assert!(says[1].contains("dn1") && !says[1].contains("dn0"), "{says:?}");
    let last = says.last().unwrap();
    assert!(last.ends_with("dn0 is dead: its replica does not count"), "{says:?}");
    assert!(waits[0].starts_with("1 more replica to be copied"), "{waits:?}");
}

#[test]
fn safe_mode_names_what_it_waits_for() {
    let dir = tempfile::tempdir().unwrap();
    let scm = Daemon::start(role(
        "scm",
        &[
            ("ozone.metadata.dirs", dir.path().display().to_string()),
            ("ozone.scm.client.address", free()),
            ("ozone.scm.block.client.address", free()),
            ("ozone.scm.datanode.address", free()),
            ("ozone.scm.http-address", free()),
        ],
    ));
    let (says, waits) = why(&scm.address("client"), &["safemode"]);
    assert!(says[0].starts_with("SCM is in safe mode: "), "{says:?}");
    let nodes = waits.iter().find(|what| what.starts_with("more DataNodes"));
    assert!(nodes.is_some_and(|what| what.ends_with("none has registered")), "{waits:?}");
    // A node that does not exist.
    let address = format!("ozone.scm.client.address={}", scm.address("client"));
    let refused = o3(&["why", "datanode", "dn9", "-D", &address]).output().unwrap();
    assert_eq!(stderr(&refused), "SCM has no DataNode dn9\n");
}
