//! OM: failover, retried requests, paging.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::{Client, CreateKey, CreateUpload, ErrorKind, FinishOptions, ListKeys};
use futures::TryStreamExt;
use proto::ozone::{Status, Type};

use crate::om::{Om, State};
use crate::support::{Cluster, data, options, path};

#[tokio::test]
async fn the_leader_is_found_behind_others() {
    let state = Arc::<State>::default();
    let (a, b) = (Om::start(state.clone()).await, Om::start(state.clone()).await);
    *state.leader.lock() = Some(b.address.clone());
    // No server listens on the first address.
    let nobody = testkit::free_addresses(1)[0];
    let client = Client::new(options(vec![nobody.to_string(), a.address, b.address])).unwrap();
    let error = client.key_info(&path("absent")).await.unwrap_err();
    assert!(error.is_status(Status::KeyNotFound), "{error}");
    let before = state.requests.lock().len();
    client.key_info(&path("absent")).await.unwrap_err();
    assert_eq!(state.requests.lock().len(), before + 1, "the leader is remembered");
}

#[tokio::test]
async fn a_leader_that_hangs_is_left_for_the_one_that_leads() {
    let state = Arc::<State>::default();
    let (a, b) = (Om::start(state.clone()).await, Om::start(state.clone()).await);
    *state.leader.lock() = Some(a.address.clone());
    let client = Client::new(options(vec![a.address.clone(), b.address.clone()])).unwrap();
    client.key_info(&path("absent")).await.unwrap_err();
    *state.hangs.lock() = Some(a.address);
    let election = async {
        state.asked_hanging.notified().await;
        *state.leader.lock() = Some(b.address.clone());
    };
    let absent = path("absent");
    let both = async { tokio::join!(client.key_info(&absent), election) };
    let (asked, ()) = testkit::ended("the request to the one that hangs", both).await;
    assert!(asked.unwrap_err().is_status(Status::KeyNotFound));
    // The first request still hangs.
    assert_eq!(state.left_hanging.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn without_any_om_the_deadline_ends_it() {
    let nobody = testkit::free_addresses(1)[0];
    let mut options = options(vec![nobody.to_string()]);
    options.deadline = std::time::Duration::from_millis(50);
    let client = Client::new(options).unwrap();
    let error = client.key_info(&path("k")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_done() {
    let cluster = Cluster::start(1).await;
    *cluster.state().lose_answer_of.lock() = Some(Type::CommitKey);
    cluster.put("k", data(100_000)).await.unwrap();
    assert_eq!(cluster.state().asked(Type::CommitKey).len(), 2);
    assert_eq!(cluster.get("k").await.unwrap(), data(100_000));
}

#[tokio::test]
async fn a_part_whose_answer_was_lost_is_told_from_an_earlier_one_by_its_etag() {
    let cluster = Cluster::start(1).await;
    let state = cluster.state();
    let upload =
        CreateUpload { path: path("k"), replication: None, metadata: vec![], tags: vec![] };
    let id = cluster.client.create_upload(upload).await.unwrap();
    let put = async |etag: Option<&str>| {
        let key = CreateKey::new(path("k")).part_of(&id, 1);
        let mut writer = cluster.client.create_key(key).await.unwrap();
        writer.write(data(100)).await.unwrap();
        let etag = etag.map(|etag| ("ETag".to_owned(), etag.to_owned()));
        let options = FinishOptions { metadata: etag.into_iter().collect() };
        writer.finish(options).await.map(drop)
    };
    let lose = || *state.lose_answer_of.lock() = Some(Type::CommitMultiPartUpload);
    lose();
    put(Some("old")).await.unwrap();
    // Its session does not exist, and no attempt commits it: the listed part has other bytes.
    state.parts_refused.store(true, Ordering::Relaxed);
    for etag in [Some("new"), None] {
        lose();
        let error = put(etag).await.unwrap_err();
        assert!(error.is_status(Status::KeyNotFound), "{etag:?}: {error}");
    }
    // As if the first attempt had committed it.
    lose();
    put(Some("old")).await.unwrap();
}

#[tokio::test]
async fn a_deletion_whose_answer_was_lost_is_sent_again_as_the_same_call() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(10)).await.unwrap();
    *cluster.state().lose_answer_of.lock() = Some(Type::DeleteKey);
    // This OM lost the call. A real one returns the first result again, and only OM can: the key
    // may as well have been deleted by another client.
    let error = cluster.client.delete_key(&path("k")).await.unwrap_err();
    assert!(error.is_status(Status::KeyNotFound), "{error}");
    let asked = cluster.state().asked(Type::DeleteKey);
    assert_eq!(asked.len(), 2);
    let call = |n: usize| (asked[n].rpc_client_id.clone(), asked[n].rpc_call_id);
    assert!(call(0).1.is_some() && call(0) == call(1));
}

#[tokio::test]
async fn an_abort_whose_answer_was_lost_is_sent_again_as_the_same_call() {
    let cluster = Cluster::start(1).await;
    let upload =
        CreateUpload { path: path("k"), replication: None, metadata: vec![], tags: vec![] };
    let id = cluster.client.create_upload(upload).await.unwrap();
    *cluster.state().lose_answer_of.lock() = Some(Type::AbortMultiPartUpload);
    // This OM lost the call, too. The upload may as well have been completed concurrently, and a
    // client that considers it aborted would abandon an existing object.
    let error = cluster.client.abort_upload(&path("k"), &id).await.unwrap_err();
    assert!(error.is_status(Status::NoSuchMultipartUploadError), "{error}");
    let asked = cluster.state().asked(Type::AbortMultiPartUpload);
    assert_eq!(asked.len(), 2);
    let call = |n: usize| (asked[n].rpc_client_id.clone(), asked[n].rpc_call_id);
    assert!(call(0).1.is_some() && call(0) == call(1));
}

#[tokio::test]
async fn safe_mode_is_waited_out() {
    let cluster = Cluster::start(1).await;
    cluster.state().safe_mode.store(2, Ordering::Relaxed);
    cluster.client.create_key(CreateKey::new(path("k"))).await.unwrap();
    assert_eq!(cluster.state().asked(Type::CreateKey).len(), 3);
}

#[tokio::test]
async fn a_listing_goes_through_all_pages() {
    let cluster = Cluster::start(1).await;
    let names: Vec<_> = (0..25).map(|i| format!("k{i:02}")).collect();
    for name in &names {
        cluster.put(name, data(0)).await.unwrap();
    }
    let listed: Vec<_> = cluster
        .client
        .list_keys(ListKeys::new("vol", "bucket").prefix("k"))
        .map_ok(|key| key.key_name().to_owned())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(listed, names);
    let pages = cluster.state().asked(Type::ListKeysLight);
    assert_eq!(pages.len(), 3);
}

#[tokio::test]
async fn requests_name_their_user() {
    let cluster = Cluster::start(1).await;
    cluster.client.on_behalf_of("somebody").key_info(&path("k")).await.unwrap_err();
    let request = cluster.state().requests.lock().last().unwrap().clone();
    assert_eq!(request.user_info.unwrap().user_name(), "somebody");
    assert!(request.client_id.starts_with("client-"));
}
