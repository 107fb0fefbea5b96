//! OMs that join a running service and leave it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use client::Client;
use om::{Bootstrap, Om, OmOptions};
use prost::Message;
use proto::method;
use proto::om_admin::{BootstrapOmRequest, BootstrapOmResponse, OmAdminCall};
use proto::ozone::*;

use crate::support::service::{Service, ok};
use crate::support::{World, requests};

fn service_list() -> OmRequest {
    OmRequest {
        cmd_type: Type::ServiceList as i32,
        service_list_request: Some(Box::default()),
        ..OmRequest::default()
    }
}

async fn roles(client: &Client) -> Vec<(String, String)> {
    let answer = ok(client, service_list()).await;
    let services = answer.service_list_response.unwrap().service_info;
    let mut roles: Vec<_> = services
        .into_iter()
        .filter_map(|s| s.om_role)
        .map(|role| (role.node_id, role.server_role))
        .collect();
    roles.sort();
    roles
}

/// Writes volumes until it is stopped; each must be acknowledged.
fn writer(
    client: Client,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicUsize>,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while !stop.load(Ordering::Acquire) {
            let n = written.load(Ordering::Acquire);
            ok(&client, requests::create_volume(&format!("written{n}"))).await;
            written.fetch_add(1, Ordering::AcqRel);
            // A user may have 1,024 volumes.
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fourth_om_joins_while_clients_write_and_the_leader_is_decommissioned() {
    let mut service = Service::start(World::new().await).await;
    let client = service.client();
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writing = writer(service.client(), stop.clone(), written.clone());
    // The running ones read their file again; it does not name the new one yet.
    let new = service.grow("om4");
    let start = |service: &Service, force| {
        let options = OmOptions { bootstrap: Some(Bootstrap { force }), ..OmOptions::default() };
        let conf = service.conf(new);
        async move { Om::start(&conf, options).await }
    };
    let refused = start(&service, false).await.err().unwrap().to_string();
    assert!(refused.contains("configuration"), "{refused}");
    // Nor does it begin a service of its own.
    let alone = Om::start(&service.conf(new), OmOptions::default()).await;
    assert!(alone.err().unwrap().to_string().contains("--bootstrap"));
    service.write_file(&[]);
    let om = start(&service, false).await.unwrap();
    service.oms[new] = Some(om);
    let member = |roles: &[(String, String)], role: &str| {
        roles.iter().any(|(node, known)| node == "om4" && known == role)
    };
    testkit::until("it votes", async || member(&roles(&client).await, "FOLLOWER")).await;
    assert_eq!(roles(&client).await.len(), 4);
    testkit::until("all have it as a member", async || {
        let known = client.om_configurations().await;
        known.iter().all(|(_, answer)| {
            let answer = answer.as_ref().unwrap();
            answer.nodes_in_memory.len() == 4 && answer.nodes_in_new_conf.len() == 4
        })
    })
    .await;
    // The leader stops; the caller is redirected to the next one.
    let leader = service.leader().await;
    let gone = service.node(leader).to_owned();
    service.write_file(&[&gone]);
    let wrong = client.decommission_om(&gone, "192.0.2.1").await.unwrap();
    assert!(!wrong.success, "that is not where it is");
    let answer = client.decommission_om(&gone, "127.0.0.1").await.unwrap();
    assert!(answer.success, "{answer:?}");
    testkit::ended("the leader", service.om(leader).stopped()).await;
    service.kill(leader).await;
    let left = roles(&client).await;
    assert!(left.len() == 3 && !left.iter().any(|(node, _)| *node == gone), "{left:?}");
    let again = Om::start(&service.conf(leader), OmOptions::default()).await;
    assert!(again.is_err(), "it is decommissioned in the configuration");
    let unknown = client.decommission_om("om9", "127.0.0.1").await.unwrap();
    assert!(!unknown.success);
    // All that were acknowledged are there, whichever OM leads.
    let before = written.load(Ordering::Acquire);
    testkit::until("writes go on", async || written.load(Ordering::Acquire) > before + 10).await;
    stop.store(true, Ordering::Release);
    writing.await.unwrap();
    let next = service.leader().await;
    service.kill(next).await;
    service.leader().await;
    let client = service.client();
    for n in 0..written.load(Ordering::Acquire) {
        ok(&client, requests::info_volume(&format!("written{n}"))).await;
    }
    // The change survives a restart of all.
    service.revive(next).await;
    for n in service.up() {
        service.kill(n).await;
        service.revive(n).await;
    }
    service.leader().await;
    service.settled().await;
    assert_eq!(roles(&service.client()).await.len(), 3);
    service.stop().await;
}

/// Makes the leader admit a stopped OM: as if it had stopped before it received the answer.
async fn let_in(service: &Service, new: usize) {
    let conf = service.conf(new);
    let node = service.node(new);
    let of = |key: &str| conf.raw(&format!("{key}.svc.{node}")).unwrap().to_owned();
    let request = BootstrapOmRequest {
        node_id: node.to_owned(),
        host_address: String::from("127.0.0.1"),
        ratis_port: of("ozone.om.ratis.port").parse().unwrap(),
        is_listener: Some(false),
        force: Some(false),
    };
    let call = OmAdminCall {
        method: String::from("bootstrap"),
        user: String::from("om"),
        body: request.encode_to_vec().into(),
    };
    let leader = service.om(service.leader().await).addresses().framed.to_string();
    let asked = framed::Client::new(leader, framed::ClientOptions::default());
    let answer: BootstrapOmResponse =
        framed::message::call(&asked, method::OM_ADMIN, &call, testkit::LIMIT).await.unwrap();
    assert!(answer.success, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_om_that_ended_while_it_joined_goes_on_when_it_is_started_again() {
    let mut service = Service::start(World::new().await).await;
    let (fourth, fifth) = (service.grow("om4"), service.grow("om5"));
    service.write_file(&[]);
    // It stopped while it searched for an OM to admit it.
    let majority: Vec<usize> = service.up().into_iter().take(2).collect();
    for n in &majority {
        service.kill(*n).await;
    }
    let note = service.dir(fourth).join("om/current/JOIN");
    let options = OmOptions { bootstrap: Some(Bootstrap { force: true }), ..OmOptions::default() };
    let conf = service.conf(fourth);
    tokio::select! {
        started = Om::start(&conf, options) => panic!("no OM leads: {:?}", started.err()),
        () = testkit::until("it asks", async || note.exists()) => {}
    }
    for n in majority {
        service.revive(n).await;
    }
    service.leader().await;
    service.revive(fourth).await;
    let client = service.client();
    let votes = async |count: usize| {
        let roles = roles(&client).await;
        roles.len() == count && roles.iter().all(|(_, role)| role != "LEARNER")
    };
    testkit::until("the fourth votes", async || votes(4).await).await;
    assert!(!note.exists(), "its log has the members now");
    // It was let in, and ended when its log was there and nothing in it.
    let_in(&service, fifth).await;
    std::fs::create_dir_all(service.dir(fifth).join("om/ratis")).unwrap();
    service.revive(fifth).await;
    testkit::until("the fifth votes", async || votes(5).await).await;
    // They count: two of five may stop.
    for _ in 0..2 {
        let leader = service.leader().await;
        service.kill(leader).await;
    }
    service.leader().await;
    ok(&service.client(), requests::create_volume("after")).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_om_joins_while_another_one_is_still_to_join() {
    let mut service = Service::start(World::new().await).await;
    let (fourth, _fifth) = (service.grow("om4"), service.grow("om5"));
    service.write_file(&[]);
    // A member has to report its configuration.
    let silent = (0..3).find(|n| !service.om(*n).is_leader()).unwrap();
    service.kill(silent).await;
    let bootstrap =
        || OmOptions { bootstrap: Some(Bootstrap { force: false }), ..OmOptions::default() };
    let refused = Om::start(&service.conf(fourth), bootstrap()).await.err().unwrap().to_string();
    let expected = format!("OM {} does not report", service.node(silent));
    assert!(refused.contains(&expected), "{refused}");
    service.revive(silent).await;
    // The one that joins at the same time has not, and cannot yet.
    service.oms[fourth] = Some(Om::start(&service.conf(fourth), bootstrap()).await.unwrap());
    let client = service.client();
    let votes = |(node, role): &(String, String)| node == "om4" && role == "FOLLOWER";
    testkit::until("it votes", async || roles(&client).await.iter().any(votes)).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_om_does_not_count_those_that_the_file_names_and_nobody_let_in() {
    let mut service = Service::start(World::new().await).await;
    service.grow("om4");
    service.grow("om5");
    service.write_file(&[]);
    let wiped = (0..3).find(|n| !service.om(*n).is_leader()).unwrap();
    service.kill(wiped).await;
    std::fs::remove_dir_all(service.dir(wiped)).unwrap();
    service.revive(wiped).await;
    service.settled().await;
    // With one more down two of three continue; two of five would not.
    let leader = service.leader().await;
    service.kill(leader).await;
    service.leader().await;
    ok(&service.client(), requests::create_volume("after")).await;
    service.stop().await;
}
