//! Reads that any OM answers.

use bytes::Bytes;
use framed::Code;
use prost::Message;
use proto::method;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::service::{Service, ok};
use crate::support::{TIMEOUT, World};

/// A request with a bound on the staleness of its answer.
fn hinted(asked: OmRequest, consistency: ReadConsistencyProto) -> OmRequest {
    let hint = ReadConsistencyHint {
        read_consistency: Some(consistency as i32),
        local_lease_context: None,
    };
    OmRequest { read_consistency_hint: Some(Box::new(hint)), ..asked }
}

/// Asks one OM and no other.
async fn ask_one(service: &Service, n: usize, asked: &OmRequest) -> Result<OmResponse, Code> {
    let at = service.om(n).addresses().framed.to_string();
    let direct = framed::Client::new(at, framed::ClientOptions::default());
    let header = Bytes::from(asked.encode_to_vec());
    match direct.call(method::OM, header, Bytes::new(), TIMEOUT).await {
        Ok(reply) => Ok(OmResponse::decode(reply.header).unwrap()),
        Err(e) => Err(e.status().unwrap().code),
    }
}

/// An OM answers as soon as it has a leader.
async fn answered_soon(service: &Service, n: usize, asked: &OmRequest) {
    let answer = testkit::until("an answer", async || {
        let asked = ask_one(service, n, asked).await;
        asked.inspect_err(|code| assert_eq!(*code, Code::NotLeader))
    })
    .await;
    assert_eq!(answer.status(), Status::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_answers_requests_that_allow_it() {
    let world = World::new().await.with("ozone.om.follower.read.local.lease.enabled", true);
    let service = Service::start(world).await;
    let client = service.client();
    ok(&client, create_volume("vol")).await;
    let leader = service.leader().await;
    let followers = [(leader + 1) % 3, (leader + 2) % 3];
    for n in 0..30 {
        let bucket = format!("bucket-{n}");
        ok(&client, create_bucket("vol", &bucket)).await;
        for follower in followers {
            let plain = info_bucket("vol", &bucket);
            let refused = ask_one(&service, follower, &plain).await.unwrap_err();
            assert_eq!(refused, Code::NotLeader);
            let asked = hinted(plain, ReadConsistencyProto::LinearizableAllowFollower);
            let answer = ask_one(&service, follower, &asked).await.unwrap();
            assert_eq!(answer.status(), Status::Ok, "{bucket} was acknowledged");
        }
    }
    let local = hinted(info_bucket("vol", "bucket-1"), ReadConsistencyProto::LocalLease);
    for follower in followers {
        answered_soon(&service, follower, &local).await;
        // Writes are the leader's, whatever they say.
        let write = hinted(create_volume("other"), ReadConsistencyProto::LocalLease);
        assert_eq!(ask_one(&service, follower, &write).await.unwrap_err(), Code::NotLeader);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn local_reads_must_be_allowed() {
    let service = Service::start(World::new().await).await;
    let client = service.client();
    ok(&client, create_volume("vol")).await;
    ok(&client, create_bucket("vol", "bucket")).await;
    let leader = service.leader().await;
    let local = hinted(info_bucket("vol", "bucket"), ReadConsistencyProto::LocalLease);
    let refused = ask_one(&service, (leader + 1) % 3, &local).await.unwrap_err();
    assert_eq!(refused, Code::NotLeader, "not enabled");
    service.stop().await;
}
