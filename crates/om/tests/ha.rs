//! Several OMs as one: which one answers, and what survives when leaders go.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use client::Client;
use framed::Code;
use prost::Message;
use proto::method;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::service::{NODES, Service, ok};
use crate::support::{TIMEOUT, World};

fn delete_volume(volume: &str) -> OmRequest {
    OmRequest {
        delete_volume_request: Some(Box::new(DeleteVolumeRequest { volume_name: volume.into() })),
        ..request(Type::DeleteVolume)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_send_clients_to_the_leader_and_the_leader_names_all() {
    let service = Service::start(World::new().await).await;
    let leader = service.leader().await;
    for n in (0..3).filter(|n| *n != leader) {
        assert!(service.om(n).ready(TIMEOUT).await);
        let at = service.om(n).addresses().framed.to_string();
        let direct = framed::Client::new(at, framed::ClientOptions::default());
        for asked in [request(Type::ServiceList), info_volume("s3v"), create_volume("vol")] {
            let header = Bytes::from(asked.encode_to_vec());
            let refused = direct.call(method::OM, header, Bytes::new(), TIMEOUT).await.unwrap_err();
            let status = refused.status().unwrap();
            assert_eq!(status.code, Code::NotLeader);
            let there = service.om(leader).addresses().framed.to_string();
            assert_eq!(status.hint(), Some(there.as_str()));
            let expected = format!(
                "OM:{} is not the leader. Suggested leader is OM:{}[127.0.0.1].",
                NODES[n], NODES[leader]
            );
            assert_eq!(status.message, expected);
        }
    }
    let client = service.client();
    let list = ok(&client, request(Type::ServiceList)).await.service_list_response.unwrap();
    let roles: Vec<(String, String)> = list
        .service_info
        .iter()
        .filter_map(|s| s.om_role.as_ref())
        .map(|r| (r.node_id.clone(), r.server_role.clone()))
        .collect();
    let role = |n: usize| if n == leader { "LEADER" } else { "FOLLOWER" };
    let expected: Vec<_> = (0..3).map(|n| (NODES[n].to_owned(), role(n).to_owned())).collect();
    assert_eq!(roles, expected);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_oms_have_one_root_key_pair_and_the_volume_of_s3() {
    let mut service = Service::start(World::new().await).await;
    let client = service.client();
    // The first leader answers before it has made what a cluster begins with.
    let made = async || {
        client.submit(info_volume("s3v")).await.is_ok_and(|answer| answer.status() == Status::Ok)
    };
    testkit::until("the volume of S3 is there", made).await;
    let leader = service.leader().await;
    let mut pairs = BTreeSet::new();
    for n in 0..3 {
        let known = async || service.om(n).root_credentials();
        let pair = testkit::until(format!("the root key pair of {n}"), known).await;
        pairs.insert((pair.access_key, pair.secret_key));
    }
    assert_eq!(pairs.len(), 1);
    // The next leader finds it made.
    service.kill(leader).await;
    let next = service.leader().await;
    let pair = service.om(next).root_credentials().unwrap();
    assert!(pairs.contains(&(pair.access_key, pair.secret_key)));
    service.stop().await;
}

/// What writers know.
#[derive(Default)]
struct Ledger {
    /// Volumes that were made and not deleted, by what clients were told.
    there: Mutex<BTreeSet<String>>,
    /// Volumes whose deletion was acknowledged.
    gone: Mutex<BTreeSet<String>>,
    answers: AtomicU64,
    longest_wait: AtomicU64,
    stop: AtomicBool,
}

/// Makes volumes, and deletes every third again. Names are used once and every call is sent until
/// it is answered, so an answer other than OK means that a call was done twice.
async fn write(ledger: Arc<Ledger>, client: Client, writer: usize) {
    let mut n = 0;
    while !ledger.stop.load(Ordering::Relaxed) {
        let volume = format!("volume-{writer}-{n}");
        let asked = Instant::now();
        let mut create = create_volume(&volume);
        // No user may own many volumes.
        let owner = format!("owner-{writer}-{}", n / 100);
        create.create_volume_request.as_mut().unwrap().volume_info.owner_name = owner;
        ok(&client, create).await;
        let waited = asked.elapsed().as_millis() as u64;
        ledger.longest_wait.fetch_max(waited, Ordering::Relaxed);
        ledger.there.lock().unwrap().insert(volume.clone());
        if n % 3 == 0 {
            ok(&client, delete_volume(&volume)).await;
            ledger.there.lock().unwrap().remove(&volume);
            ledger.gone.lock().unwrap().insert(volume);
        }
        ledger.answers.fetch_add(1, Ordering::Relaxed);
        n += 1;
    }
}

async fn verify(ledger: &Ledger, client: &Client) {
    let there = ledger.there.lock().unwrap().clone();
    for volume in there {
        let answer = client.submit(info_volume(&volume)).await.unwrap();
        assert_eq!(answer.status(), Status::Ok, "{volume} was acknowledged");
    }
    let gone = ledger.gone.lock().unwrap().clone();
    for volume in gone {
        let answer = client.submit(info_volume(&volume)).await.unwrap();
        assert_eq!(answer.status(), Status::VolumeNotFound, "{volume} was deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_their_leaders_and_no_call_is_done_twice() {
    const ROUNDS: usize = 6;
    let mut service = Service::start(World::new().await).await;
    service.leader().await;
    let ledger = Arc::new(Ledger::default());
    let client = service.client();
    let writers: Vec<_> =
        (0..8).map(|w| tokio::spawn(write(Arc::clone(&ledger), client.clone(), w))).collect();
    for round in 0..ROUNDS {
        let before = ledger.answers.load(Ordering::Relaxed);
        testkit::until(format!("writes of round {round}"), async || {
            ledger.answers.load(Ordering::Relaxed) >= before + 40
        })
        .await;
        let leader = service.leader().await;
        service.kill(leader).await;
        service.leader().await;
        service.revive(leader).await;
    }
    ledger.stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    // The leader has everything.
    let mut seen = BTreeSet::new();
    while seen.len() < 3 {
        let leader = service.leader().await;
        if seen.insert(leader) {
            verify(&ledger, &service.client()).await;
        }
        service.kill(leader).await;
        service.leader().await;
        service.revive(leader).await;
    }
    let (answers, longest) = (&ledger.answers, &ledger.longest_wait);
    eprintln!(
        "{} writes over {ROUNDS} lost leaders, the longest waited {} ms",
        answers.load(Ordering::Relaxed),
        longest.load(Ordering::Relaxed)
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_comes_again_at_another_leader_gets_its_first_answer() {
    let mut service = Service::start(World::new().await).await;
    let client = service.client();
    ok(&client, create_volume("vol")).await;
    ok(&client, create_bucket("vol", "bucket")).await;
    let call = |number, asked: OmRequest| OmRequest {
        rpc_client_id: Some(Bytes::from_static(&[9; 16])),
        rpc_call_id: Some(number),
        ..asked
    };
    let create = call(1, create_key(key_args("vol", "bucket", "key", 100)));
    let first = ok(&client, create.clone()).await;
    let leader = service.leader().await;
    service.kill(leader).await;
    service.leader().await;
    let second = ok(&client, create.clone()).await;
    let (first, second) = (first.create_key_response.unwrap(), second.create_key_response.unwrap());
    assert_eq!(first.id, second.id, "one session, not two");
    let places = |info: &KeyInfo| {
        let versions = info.key_location_list.iter().flat_map(|v| v.key_locations.clone());
        versions.map(|l| (l.block_id, l.pipeline.map(|p| p.id))).collect::<Vec<_>>()
    };
    let (first, second) = (first.key_info.unwrap(), second.key_info.unwrap());
    assert_eq!(places(&first), places(&second), "the same blocks, with their pipelines");
    assert!(places(&second).iter().all(|(_, pipeline)| pipeline.is_some()));
    service.stop().await;
}
