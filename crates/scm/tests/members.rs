//! SCMs that join a running service and leave it.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use config::Configuration;
use framed::{Client, ClientOptions};
use proto::block_location::{self, ScmBlockLocationRequest, ScmBlockLocationResponse};
use proto::container_location::{
    DecommissionScmRequestProto, DecommissionScmResponseProto, ScmContainerLocationRequest,
    ScmContainerLocationResponse, Type,
};
use proto::hdds::{AddScmRequestProto, GetScmInfoResponseProto};
use proto::method;
use scm::{Scm, ScmHandle, ScmOptions};
use testkit::{free_addresses, until};

/// Time limit of each step on a busy machine.
pub const TIMEOUT: Duration = testkit::LIMIT;

/// Writes the file that all read: the members and their addresses.
pub fn write_file(dir: &Path, nodes: &[(String, Vec<SocketAddr>)]) {
    let property = |key: String, value: String| {
        format!("<property><name>ozone.scm.{key}</name><value>{value}</value></property>")
    };
    let names: Vec<&str> = nodes.iter().map(|(node, _)| node.as_str()).collect();
    let mut all = property("nodes.s".into(), names.join(","));
    for (node, at) in nodes {
        all += &property(format!("client.address.s.{node}"), at[0].to_string());
        all += &property(format!("block.client.address.s.{node}"), at[1].to_string());
        all += &property(format!("datanode.address.s.{node}"), at[2].to_string());
        all += &property(format!("ratis.port.s.{node}"), at[3].port().to_string());
        all += &property(format!("db.dirs.s.{node}"), dir.join(node).display().to_string());
    }
    let xml = format!("<configuration>{all}</configuration>");
    std::fs::write(dir.join("ozone-site.xml"), xml).unwrap();
}

pub fn configuration(dir: &Path, node: &str) -> Configuration {
    let conf = Configuration::builder().file(dir).unwrap().build().unwrap();
    conf.with("ozone.scm.service.ids", "s")
        .with("ozone.scm.http.enabled", "false")
        .with("ozone.scm.node.id", node)
}

async fn call(
    scm: &ScmHandle,
    request: &ScmContainerLocationRequest,
) -> ScmContainerLocationResponse {
    let address = scm.addresses().client.to_string();
    let client = Client::new(address, ClientOptions::default());
    let method = method::SCM_CONTAINER_LOCATION;
    framed::message::call(&client, method, request, TIMEOUT).await.unwrap()
}

async fn info(scm: &ScmHandle) -> GetScmInfoResponseProto {
    let mut request = ScmContainerLocationRequest::default();
    request.set_cmd_type(Type::GetScmInfo);
    request.get_scm_info_request = Some(Default::default());
    call(scm, &request).await.get_scm_info_response.unwrap()
}

async fn decommission(scm: &ScmHandle, id: &str) -> DecommissionScmResponseProto {
    let mut request = ScmContainerLocationRequest::default();
    request.set_cmd_type(Type::DecommissionScm);
    request.decommission_scm_request = Some(DecommissionScmRequestProto { scm_id: id.to_owned() });
    call(scm, &request).await.decommission_scm_response.unwrap()
}

pub async fn leader(scms: &[Option<ScmHandle>]) -> usize {
    let leads = |scm: &Option<ScmHandle>| scm.as_ref().is_some_and(ScmHandle::leads);
    until("one leads", async || scms.iter().any(leads)).await;
    scms.iter().position(leads).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fourth_scm_joins_and_the_leader_is_decommissioned() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes: Vec<(String, Vec<SocketAddr>)> = free_addresses(16)
        .chunks(4)
        .enumerate()
        .map(|(n, at)| (format!("scm{}", n + 1), at.to_vec()))
        .collect();
    let new = nodes.pop().unwrap();
    write_file(dir.path(), &nodes);
    let start = |node: &str| {
        let conf = configuration(dir.path(), node);
        async move { Scm::start(&conf).await }
    };
    let (one, two, three) = tokio::join!(start("scm1"), start("scm2"), start("scm3"));
    let mut scms = vec![Some(one.unwrap()), Some(two.unwrap()), Some(three.unwrap())];
    leader(&scms).await;
    // All have met a leader.
    for scm in scms.iter().flatten() {
        until("it follows", async || {
            info(scm).await.peer_roles.iter().any(|role| role.contains(":LEADER:"))
        })
        .await;
    }
    nodes.push(new);
    write_file(dir.path(), &nodes);
    let alone = start("scm4").await.err().unwrap().to_string();
    assert!(alone.contains("--bootstrap"), "{alone}");
    let options = ScmOptions::from_configuration(&configuration(dir.path(), "scm4")).unwrap();
    let joined = Scm::start_with(ScmOptions { bootstrap: true, ..options }).await.unwrap();
    assert_eq!(joined.cluster_id(), scms[0].as_ref().unwrap().cluster_id());
    let id = joined.scm_id().to_string();
    scms.push(Some(joined));
    let first = leader(&scms).await;
    until("it votes", async || {
        let roles = info(scms[first].as_ref().unwrap()).await.peer_roles;
        roles.len() == 4 && roles.iter().any(|r| r.contains(&id) && r.contains(":FOLLOWER:"))
    })
    .await;
    // The leader is decommissioned by its own request, and stops by itself.
    let leads = scms[first].take().unwrap();
    let nobody = decommission(&leads, "scm9").await;
    assert!(!nobody.success && nobody.error_msg.unwrap().contains("scm9"));
    let gone = leads.scm_id().to_string();
    assert!(decommission(&leads, &gone).await.success);
    tokio::time::timeout(TIMEOUT, leads.stopped()).await.expect("it stops by itself");
    leads.shutdown().await;
    let second = leader(&scms).await;
    until("three are left", async || {
        let roles = info(scms[second].as_ref().unwrap()).await.peer_roles;
        roles.len() == 3 && !roles.iter().any(|role| role.contains(&gone))
    })
    .await;
    // The fourth counts: with one more down two of three continue.
    let down = (0..3).find(|n| *n != second && scms[*n].is_some());
    if let Some(down) = down {
        scms[down].take().unwrap().shutdown().await;
        let leads = leader(&scms).await;
        assert!(!decommission(scms[leads].as_ref().unwrap(), "scm9").await.success);
        scms[down] = Some(start(&format!("scm{}", down + 1)).await.unwrap());
    }
    futures::future::join_all(scms.into_iter().flatten().map(ScmHandle::shutdown)).await;
}

/// Files and addresses of SCMs, of which the first three run.
pub async fn three_of(count: usize) -> (tempfile::TempDir, Vec<Option<ScmHandle>>) {
    let dir = tempfile::tempdir().unwrap();
    let nodes: Vec<(String, Vec<SocketAddr>)> = free_addresses(count * 4)
        .chunks(4)
        .enumerate()
        .map(|(n, at)| (format!("scm{}", n + 1), at.to_vec()))
        .collect();
    write_file(dir.path(), &nodes[..3]);
    let conf = |node: &str| configuration(dir.path(), node);
    let (a, b, c) = (conf("scm1"), conf("scm2"), conf("scm3"));
    let (a, b, c) = tokio::join!(Scm::start(&a), Scm::start(&b), Scm::start(&c));
    let scms = vec![Some(a.unwrap()), Some(b.unwrap()), Some(c.unwrap())];
    leader(&scms).await;
    for scm in scms.iter().flatten() {
        until("it has met a leader", async || {
            info(scm).await.peer_roles.iter().any(|role| role.contains(":LEADER:"))
        })
        .await;
    }
    write_file(dir.path(), &nodes);
    (dir, scms)
}

/// Has the leader add an SCM that does not run, with a directory and without a log: as if it had
/// stopped before it got the response.
async fn let_in(leads: &ScmHandle, options: &ScmOptions) {
    let me = &options.members.as_ref().unwrap().me;
    let version = service::VersionFile::new("SCM", leads.cluster_id(), 1, 1);
    let version = version.with("scmUuid", me.scm_id).with("scmHA", true);
    version.write(&options.dir.join("scm/current/VERSION")).unwrap();
    let request = ScmBlockLocationRequest {
        cmd_type: block_location::Type::AddScm as i32,
        add_scm_request_proto: Some(AddScmRequestProto {
            cluster_id: leads.cluster_id().to_owned(),
            scm_id: me.scm_id.to_string(),
            ratis_addr: me.node.raft.to_string(),
        }),
        ..Default::default()
    };
    let client = Client::new(leads.addresses().block.to_string(), ClientOptions::default());
    let answer: ScmBlockLocationResponse =
        framed::message::call(&client, method::SCM_BLOCK, &request, TIMEOUT).await.unwrap();
    assert!(answer.add_scm_response.unwrap().success);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_scm_that_ended_while_it_joined_goes_on_when_it_is_started_again() {
    let (dir, mut scms) = three_of(5).await;
    let options =
        |node: &str| ScmOptions::from_configuration(&configuration(dir.path(), node)).unwrap();
    let votes = async |scms: &[Option<ScmHandle>], count: usize| {
        let roles = info(scms[leader(scms).await].as_ref().unwrap()).await.peer_roles;
        roles.len() == count && !roles.iter().any(|role| role.contains(":LEARNER:"))
    };
    // It ended while it searched for a leader to add it.
    for scm in &mut scms[..2] {
        scm.take().unwrap().shutdown().await;
    }
    let note = dir.path().join("scm4/scm/current/JOIN");
    tokio::select! {
        started = Scm::start_with(ScmOptions { bootstrap: true, ..options("scm4") }) => {
            panic!("nobody leads: {:?}", started.err())
        }
        () = until("it asks", async || note.exists()) => {}
    }
    for (n, scm) in scms[..2].iter_mut().enumerate() {
        let conf = configuration(dir.path(), &format!("scm{}", n + 1));
        *scm = Some(Scm::start(&conf).await.unwrap());
    }
    scms.push(Some(Scm::start_with(options("scm4")).await.unwrap()));
    until("the fourth votes", async || votes(&scms, 4).await).await;
    assert!(!note.exists(), "its log knows the members now");
    // It was added, and stopped before its log was created.
    let_in(scms[leader(&scms).await].as_ref().unwrap(), &options("scm5")).await;
    scms.push(Some(Scm::start_with(options("scm5")).await.unwrap()));
    until("the fifth votes", async || votes(&scms, 5).await).await;
    futures::future::join_all(scms.into_iter().flatten().map(ScmHandle::shutdown)).await;
}
