//! Several OMs as one: the OM that answers, and the state after failures of leaders.

use std::collections::BTreeSet;

use bytes::Bytes;
use framed::Code;
use prost::Message;
use proto::method;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::service::{NODES, Service, ok};
use crate::support::{TIMEOUT, World};

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
    // The first leader answers before it has created the initial state of a cluster.
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
