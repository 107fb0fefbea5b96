//! Cluster ids of a service's SCMs when some of them start with an empty disk.

use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use framed::{Client, ClientOptions, Code};
use proto::block_location::{ScmBlockLocationRequest, ScmBlockLocationResponse, Type};
use proto::method;
use scm::{Scm, ScmError, ScmHandle, ScmOptions};
use testkit::{free_addresses, until};
use tokio::runtime::Handle;

use crate::members::{TIMEOUT, configuration, leader, write_file};

/// Longer than an SCM needs to ask all others several times.
const ROUNDS: Duration = Duration::from_millis(1500);

/// An SCM that starts, on a thread of its own: it may wait until the end of the test.
struct Starting(JoinHandle<Result<ScmHandle, ScmError>>);

impl Starting {
    fn new(dir: &Path, node: &str) -> Self {
        let (conf, runtime) = (configuration(dir, node), Handle::current());
        Self(std::thread::spawn(move || runtime.block_on(Scm::start(&conf))))
    }

    fn waits(&self) -> bool {
        !self.0.is_finished()
    }

    async fn ended(self) -> Result<ScmHandle, ScmError> {
        until("the start comes to an end", async || !self.waits()).await;
        self.0.join().unwrap()
    }
}

/// Addresses of three SCMs that are not started yet.
fn service(dir: &Path) -> Vec<(String, Vec<SocketAddr>)> {
    let addresses = free_addresses(12);
    let nodes = addresses.chunks(4).enumerate();
    let nodes: Vec<_> = nodes.map(|(n, at)| (format!("scm{}", n + 1), at.to_vec())).collect();
    write_file(dir, &nodes);
    nodes
}

fn is_formatted(dir: &Path, node: &str) -> bool {
    dir.join(node).join("scm/current/VERSION").exists()
}

/// Gives an SCM that does not run the directory of a cluster, and no log.
fn format(dir: &Path, node: &str, cluster_id: &str) {
    let options = ScmOptions::from_configuration(&configuration(dir, node)).unwrap();
    let version = ::service::VersionFile::new("SCM", cluster_id, 1, 1);
    let id = options.members.as_ref().unwrap().me.scm_id;
    let version = version.with("scmUuid", id).with("scmHA", true);
    version.write(&options.dir.join("scm/current/VERSION")).unwrap();
}

/// SCM's response to OM's request for its cluster.
async fn asked_by_om(block: SocketAddr) -> Option<Code> {
    let request = ScmBlockLocationRequest {
        cmd_type: Type::GetScmInfo as i32,
        get_scm_info_request: Some(Default::default()),
        ..Default::default()
    };
    let client = Client::new(block.to_string(), ClientOptions::default());
    let answer: Result<ScmBlockLocationResponse, _> =
        framed::message::call(&client, method::SCM_BLOCK, &request, TIMEOUT).await;
    answer.err().and_then(|error| error.status().map(|status| status.code))
}

/// Waits for the starts; gives the cluster that all of them are of.
async fn one_cluster(starts: Vec<Starting>) -> (String, Vec<Option<ScmHandle>>) {
    let mut scms = Vec::new();
    for starting in starts {
        scms.push(Some(starting.ended().await.unwrap()));
    }
    let mut ids: Vec<_> = scms.iter().flatten().map(|scm| scm.cluster_id().to_owned()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "one cluster: {ids:?}");
    (ids.remove(0), scms)
}

async fn stop(scms: Vec<Option<ScmHandle>>) {
    futures::future::join_all(scms.into_iter().flatten().map(ScmHandle::shutdown)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_primordial_scm_makes_a_cluster_when_all_others_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let nodes = service(dir.path());
    let first = Starting::new(dir.path(), "scm1");
    let second = Starting::new(dir.path(), "scm2");
    until("the second answers", async || asked_by_om(nodes[1].1[1]).await.is_some()).await;
    // OM asks another one, or this one again.
    assert_eq!(asked_by_om(nodes[1].1[1]).await, Some(Code::Unavailable));
    tokio::time::sleep(ROUNDS).await;
    assert!(first.waits() && second.waits());
    assert!(!is_formatted(dir.path(), "scm1"));
    let (_, scms) = one_cluster(vec![first, second, Starting::new(dir.path(), "scm3")]).await;
    leader(&scms).await;
    assert_eq!(asked_by_om(nodes[1].1[1]).await, None, "it serves");
    stop(scms).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primordial_scm_without_its_log_begins_no_group_that_another_may_have() {
    let dir = tempfile::tempdir().unwrap();
    service(dir.path());
    for node in ["scm1", "scm3"] {
        format(dir.path(), node, "CID-before");
    }
    let (first, second) = (Starting::new(dir.path(), "scm1"), Starting::new(dir.path(), "scm2"));
    // The second has got the cluster from the first.
    until("it is told", async || is_formatted(dir.path(), "scm2")).await;
    tokio::time::sleep(ROUNDS).await;
    assert!(first.waits() && second.waits());
    let (found, scms) = one_cluster(vec![first, second, Starting::new(dir.path(), "scm3")]).await;
    assert_eq!(found, "CID-before");
    leader(&scms).await;
    stop(scms).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scms_of_two_clusters_do_not_start_as_one_service() {
    let dir = tempfile::tempdir().unwrap();
    service(dir.path());
    format(dir.path(), "scm2", "CID-one");
    format(dir.path(), "scm3", "CID-other");
    let (second, third) = (Starting::new(dir.path(), "scm2"), Starting::new(dir.path(), "scm3"));
    until("one of them has seen the other", async || !(second.waits() && third.waits())).await;
    let (ended, why) = match second.waits() {
        false => (second, "SCM scm2 is of cluster CID-one, SCM scm3 of CID-other"),
        true => (third, "SCM scm3 is of cluster CID-other, SCM scm2 of CID-one"),
    };
    let error = ended.ended().await.err().unwrap().to_string();
    assert!(error.contains(why), "{error}");
}
