//! OMs that were away: longer than the log reaches back, or with their disks lost.

use client::Client;
use proto::hdds::TransferLeadershipRequestProto;
use proto::ozone::*;

use crate::support::World;
use crate::support::requests::*;
use crate::support::service::{NODES, Service, ok};

async fn write(client: &Client, range: std::ops::Range<usize>) {
    for n in range {
        ok(client, create_bucket("vol", &format!("bucket-{n}"))).await;
    }
}

fn info(n: usize) -> OmRequest {
    info_bucket("vol", &format!("bucket-{n}"))
}

/// Waits until an OM has the same entries as the leader.
async fn caught_up(service: &Service, n: usize) {
    testkit::until(format!("{n} to catch up"), async || {
        let client = service.client();
        let states = client.om_states().await;
        let states: Vec<_> = states.into_iter().filter_map(|(_, s)| s.ok()).collect();
        let newest = states.iter().map(|(s, _)| s.committed).max().unwrap();
        let own = states.iter().find(|(s, _)| s.node_id == NODES[n]);
        let has_all = own.is_some_and(|(s, _)| s.applied == newest && s.leader_id.is_some());
        if has_all { Ok(()) } else { Err(states) }
    })
    .await;
}

/// Makes an OM lead and asks it for everything.
async fn has_all(service: &Service, n: usize, count: usize) {
    let client = service.client();
    let asked = TransferLeadershipRequestProto { new_leader_id: NODES[n].to_owned() };
    let transfer = OmRequest {
        transfer_om_leadership_request: Some(Box::new(asked)),
        ..request(Type::TransferLeadership)
    };
    ok(&client, transfer).await;
    assert_eq!(service.leader().await, n);
    for bucket in 0..count {
        ok(&client, info(bucket)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_om_that_was_away_past_the_log_or_lost_its_disk_comes_back() {
    let world = World::new().await.with("ozone.om.ratis.snapshot.auto.trigger.threshold", 20);
    let mut service = Service::start(world).await;
    let client = service.client();
    ok(&client, create_volume("vol")).await;
    write(&client, 0..5).await;
    let leader = service.leader().await;
    let (away, wiped) = ((leader + 1) % 3, (leader + 2) % 3);

    service.kill(away).await;
    write(&client, 5..150).await;
    service.revive(away).await;
    caught_up(&service, away).await;
    let text = service.om(away).metrics().encode();
    let restored = text.lines().find(|l| l.contains("snapshots_restored") && !l.starts_with('#'));
    assert!(restored.is_some_and(|l| !l.ends_with(" 0")), "{restored:?}");

    service.kill(wiped).await;
    std::fs::remove_dir_all(service.dir(wiped)).unwrap();
    write(&client, 150..160).await;
    service.revive(wiped).await;
    caught_up(&service, wiped).await;
    // A snapshot alone does not make it count in elections: the leader's next message does.
    has_all(&service, wiped, 160).await;

    // The disk of the leader itself, too.
    has_all(&service, leader, 160).await;
    service.kill(leader).await;
    service.leader().await;
    std::fs::remove_dir_all(service.dir(leader)).unwrap();
    service.revive(leader).await;
    caught_up(&service, leader).await;
    for n in 0..3 {
        has_all(&service, n, 160).await;
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_om_cannot_lead() {
    let service = Service::start(World::new().await).await;
    let asked = TransferLeadershipRequestProto { new_leader_id: "om9".to_owned() };
    let transfer = OmRequest {
        transfer_om_leadership_request: Some(Box::new(asked)),
        ..request(Type::TransferLeadership)
    };
    let answer = service.client().submit(transfer).await.unwrap();
    assert_eq!(answer.status(), Status::InvalidRequest);
    assert!(answer.message.unwrap().contains("om9"));
    service.stop().await;
}
