//! OMs that are prepared for another version.

use client::Client;
use proto::ozone::prepare_status_response::PrepareStatus;
use proto::ozone::*;

use crate::support::World;
use crate::support::requests::*;
use crate::support::service::{Service, ok};

async fn prepare(client: &Client) -> u64 {
    let prepare = PrepareRequest { args: PrepareRequestArgs::default() };
    let answer = ok(
        client,
        OmRequest { prepare_request: Some(Box::new(prepare)), ..request(Type::Prepare) },
    )
    .await;
    answer.prepare_response.unwrap().txn_id
}

async fn all_prepared(service: &Service, index: u64) {
    let client = service.client();
    testkit::until("all are prepared", async || {
        let states = client.om_prepare_states(index).await;
        states.iter().all(|(_, state)| {
            let state = state.as_ref().unwrap();
            state.status() == PrepareStatus::PrepareCompleted
                && state.current_txn_index == Some(index)
        })
    })
    .await;
}

async fn refused(client: &Client, name: &str) {
    let answer = client.submit(create_volume(name)).await.unwrap();
    assert_eq!(answer.status(), Status::NotSupportedOperationWhenPrepared);
    let expected = "Cannot apply write request CreateVolume when OM is in prepare mode.";
    assert_eq!(answer.message.as_deref(), Some(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_oms_refuse_writes_and_have_nothing_in_their_logs_until_it_is_taken_back() {
    let mut service = Service::start(World::new().await).await;
    let client = service.client();
    ok(&client, create_volume("before")).await;
    let states = client.om_prepare_states(0).await;
    assert!(states.iter().all(|(_, s)| s.as_ref().unwrap().status() == PrepareStatus::NotPrepared));
    let index = prepare(&client).await;
    refused(&client, "during").await;
    ok(&client, info_volume("before")).await;
    all_prepared(&service, index).await;
    assert_eq!(prepare(&client).await, index, "it is done once");
    // Another leader, and a restart of all.
    let leader = service.leader().await;
    service.kill(leader).await;
    service.leader().await;
    refused(&client, "during").await;
    service.revive(leader).await;
    for n in service.up() {
        service.kill(n).await;
        service.revive(n).await;
        service.leader().await;
    }
    service.settled().await;
    let client = service.client();
    refused(&client, "during").await;
    all_prepared(&service, index).await;
    // One that lost its disk is prepared, too.
    let follower = (service.leader().await + 1) % 3;
    service.kill(follower).await;
    std::fs::remove_dir_all(service.dir(follower)).unwrap();
    service.revive(follower).await;
    service.settled().await;
    all_prepared(&service, index).await;
    let cancel =
        OmRequest { cancel_prepare_request: Some(Box::default()), ..request(Type::CancelPrepare) };
    ok(&client, cancel.clone()).await;
    ok(&client, create_volume("after")).await;
    ok(&client, cancel).await;
    service.settled().await;
    let states = client.om_prepare_states(0).await;
    assert!(states.iter().all(|(_, s)| s.as_ref().unwrap().status() == PrepareStatus::NotPrepared));
    service.stop().await;
}
