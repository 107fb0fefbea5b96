//! Reads that any OM answers.

use std::time::Duration;

use bytes::Bytes;
use client::{BucketSpec, Client, FollowerReads};
use framed::Code;
use prost::Message;
use proto::method;
use proto::ozone::*;

use crate::support::requests::*;
use crate::support::service::{Service, ok};
use crate::support::{TIMEOUT, World};

/// A request that says how much its answer must show.
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

/// An OM answers as soon as it knows a leader.
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
async fn local_reads_must_be_allowed_and_recent() {
    let mut service = Service::start(World::new().await).await;
    let client = service.client();
    ok(&client, create_volume("vol")).await;
    ok(&client, create_bucket("vol", "bucket")).await;
    let leader = service.leader().await;
    let local = hinted(info_bucket("vol", "bucket"), ReadConsistencyProto::LocalLease);
    let refused = ask_one(&service, (leader + 1) % 3, &local).await.unwrap_err();
    assert_eq!(refused, Code::NotLeader, "not enabled");
    service.set("ozone.om.follower.read.local.lease.enabled", "true");
    service.set("ozone.om.follower.read.local.lease.time.ms", "10000");
    for n in 0..3 {
        service.kill(n).await;
        service.revive(n).await;
    }
    let leader = service.leader().await;
    ok(&client, info_bucket("vol", "bucket")).await;
    let follower = (leader + 1) % 3;
    assert!(service.om(follower).ready(TIMEOUT).await);
    answered_soon(&service, follower, &local).await;
    testkit::until("two heartbeats to prove what it has", async || {
        let groups = service.om(follower).raft().groups();
        let behind = groups.iter().filter_map(|group| group.staleness().behind);
        behind.max().is_some_and(|behind| behind < Duration::from_secs(2))
    })
    .await;
    // Left alone it answers all the same, by itself, and after a while no more. It was behind by
    // two seconds at most when that was last seen; what it answers to a question that was asked
    // later than its limit after it was left alone is behind by more than that.
    let seen = std::time::Instant::now();
    service.kill(leader).await;
    service.kill((leader + 2) % 3).await;
    let left = std::time::Instant::now();
    testkit::until("it to refuse", async || {
        let alone = left.elapsed();
        let asked = ask_one(&service, follower, &local).await;
        let refused = seen.elapsed();
        match asked {
            // OM counts whole milliseconds.
            Ok(_) if alone <= Duration::from_millis(10_001) => Err("an answer"),
            Err(Code::NotLeader) if refused >= Duration::from_secs(8) => Ok(()),
            other => panic!("{other:?} between {alone:?} and {refused:?}"),
        }
    })
    .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_anywhere_sees_its_writes_and_survives_any_om() {
    let world = World::new().await.with("ozone.om.follower.read.local.lease.enabled", true);
    let mut service = Service::start(world).await;
    service.leader().await;
    for reads in [FollowerReads::Local { max_lag: 1_000 }, FollowerReads::Linearizable] {
        let mut options = service.client_options();
        options.follower_reads = Some(reads);
        options.om_probe_interval = Duration::from_millis(200);
        let client = Client::new(options).unwrap();
        let volume = match reads {
            FollowerReads::Linearizable => "linear",
            FollowerReads::Local { .. } => "local",
        };
        ok(&client, create_volume(volume)).await;
        for n in 0..40 {
            let bucket = format!("bucket-{n}");
            client.create_bucket(volume, &bucket, BucketSpec::default()).await.unwrap();
            let seen = client.bucket_info(volume, &bucket).await;
            assert!(seen.is_ok(), "{reads:?}: {bucket} is its own: {seen:?}");
        }
        // One dies after the other: no read fails.
        for n in 0..3 {
            service.kill(n).await;
            for _ in 0..30 {
                client.bucket_info(volume, "bucket-1").await.unwrap();
            }
            service.leader().await;
            service.revive(n).await;
            service.leader().await;
        }
    }
    service.stop().await;
}
