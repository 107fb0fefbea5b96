//! A group of one.

use std::time::Duration;

use futures::future::join_all;
use multiraft::{GroupError, Proposal, ProposeError, Role, TrimOptions};

use crate::support::{Cluster, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_one_serves_at_once_and_sends_nothing() {
    let mut cluster = Cluster::new(1);
    // It does not wait for the election timeout.
    cluster.election_timeout = Duration::from_secs(100_000);
    cluster.start(0);
    let applied = cluster.put(&[0], "a").await;
    assert_eq!(applied.response, "did a");
    assert_eq!(cluster.network.frames(), 0);
    let status = cluster.group(0).status().await.unwrap();
    assert_eq!(
        (status.role, status.applied, status.commit),
        (Role::Leader, applied.index, applied.index)
    );
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_replayed_behind_what_the_machine_holds() {
    let mut cluster = Cluster::started(1);
    for n in 0..20 {
        cluster.put(&[0], &n.to_string()).await;
    }
    // Only the flushed part of the store survives; the log has the rest.
    let flushed = {
        let mut store = cluster.nodes[0].store.lock();
        store.durable = store.live.clone();
        store.durable.entries.len()
    };
    for n in 20..50 {
        cluster.put(&[0], &n.to_string()).await;
    }
    cluster.stop(0, true).await;
    assert_eq!((flushed, cluster.entries(0).len()), (20, 20));
    cluster.start(0);
    cluster.leader().await;
    let values: Vec<_> = cluster.entries(0).into_values().collect();
    let expected: Vec<_> = (0..50).map(|n| n.to_string()).collect();
    assert_eq!(values, expected);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_has_everything_gets_nothing_again() {
    let mut cluster = Cluster::started(1);
    for n in 0..10 {
        cluster.put(&[0], &n.to_string()).await;
    }
    cluster.stop(0, false).await;
    // The recorder asserts that no entry comes twice.
    cluster.start(0);
    cluster.put(&[0], "more").await;
    assert_eq!(cluster.entries(0).len(), 11);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_trimmed_behind_a_flush_and_never_before_it() {
    let mut cluster = Cluster::new(1);
    cluster.trim = TrimOptions { entries: 100, bytes: u64::MAX, keep: 10 };
    cluster.start(0);
    for n in 0..500 {
        cluster.put(&[0], &n.to_string()).await;
    }
    let group = cluster.group(0);
    let first =
        until("the log to be trimmed", async || match group.status().await.unwrap().first_index {
            first @ 300.. => Ok(first),
            first => Err(first),
        })
        .await;
    assert!(first <= cluster.nodes[0].store.lock().durable.at.index);
    cluster.stop(0, true).await;
    cluster.start(0);
    cluster.leader().await;
    assert_eq!(cluster.entries(0).len(), 500);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_behind_the_trimmed_log_is_refused() {
    let mut cluster = Cluster::new(1);
    cluster.trim = TrimOptions { entries: 10, bytes: u64::MAX, keep: 0 };
    cluster.start(0);
    for n in 0..100 {
        cluster.put(&[0], &n.to_string()).await;
    }
    let group = cluster.group(0);
    until("the log to be trimmed", async || group.status().await.unwrap().first_index >= 50).await;
    drop(group);
    cluster.stop(0, false).await;
    *cluster.nodes[0].store.lock() = Default::default();
    let transport = cluster.network.transport(cluster.nodes[0].id);
    let host = multiraft::RaftHost::start(cluster.options(0), transport).unwrap();
    let log = host.open_log(&cluster.nodes[0].dir.path().join("log"), cluster.log.clone()).unwrap();
    let machine = crate::support::Recorder { store: cluster.nodes[0].store.clone(), dir: None };
    let refused = host.start_group(cluster.config(0, log), Box::new(machine));
    assert!(matches!(refused, Err(GroupError::StateLost { applied: 0, .. })));
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_proposals_are_refused_and_the_rest_go_through() {
    let cluster = Cluster::started(1);
    cluster.leader().await;
    let group = cluster.group(0);
    let submitted: Vec<_> =
        (0..40_000).map(|n| group.submit(Proposal::new(format!("{n}")))).collect();
    let refused = submitted.iter().filter(|s| matches!(s, Err(ProposeError::Busy))).count();
    let taken: Vec<_> = submitted.into_iter().flatten().collect();
    let count = taken.len();
    assert_eq!(refused + count, 40_000);
    for answer in join_all(taken).await {
        answer.unwrap().unwrap();
    }
    assert_eq!(cluster.entries(0).len(), count);
    assert!(cluster.nodes[0].store.lock().rounds < count as u64, "entries were applied one by one");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_fails_stops_its_group_and_says_so() {
    let cluster = Cluster::started(1);
    cluster.put(&[0], "fine").await;
    cluster.nodes[0].store.lock().broken = true;
    let error = cluster.group(0).propose(Proposal::new("not")).await.unwrap_err();
    assert!(matches!(error, ProposeError::Failed(_)), "{error}");
    until("no leader", async || !cluster.group(0).is_leader()).await;
    assert!(cluster.group(0).read_index().await.is_err());
    let status = cluster.group(0).status().await.unwrap();
    assert_eq!(status.failed.as_deref(), Some("store is broken"));
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_after_a_write_sees_it() {
    let cluster = Cluster::started(1);
    for n in 0..100 {
        let applied = cluster.put(&[0], &n.to_string()).await;
        assert!(cluster.group(0).read_index().await.unwrap() >= applied.index);
        assert!(cluster.nodes[0].store.lock().live.at.index >= applied.index);
    }
    assert!(cluster.group(0).can_read_now());
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_the_only_member_waits_for_no_write_that_nobody_was_told_of() {
    let cluster = Cluster::started(1);
    let before = cluster.put(&[0], "told").await;
    let group = cluster.group(0);
    assert!(group.can_read_now());
    cluster.nodes[0].store.lock().hold_apply = true;
    let writer = group.clone();
    let write = tokio::spawn(async move { writer.propose(Proposal::new("slow")).await });
    until("the entry to be applied", async || cluster.nodes[0].store.lock().applying).await;
    assert!(group.status().await.unwrap().commit > group.applied());
    assert!(group.can_read_now());
    let read = testkit::ended("the read during the write", group.read_index());
    assert_eq!(read.await.unwrap(), before.index);
    cluster.nodes[0].store.lock().hold_apply = false;
    let after = write.await.unwrap().unwrap();
    assert!(group.read_index().await.unwrap() >= after.index);
    cluster.shutdown().await;
}
