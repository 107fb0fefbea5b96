//! Payloads that are stored outside of the log.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use multiraft::{PayloadStore, Placement, Proposal, ProposeError};
use parking_lot::Mutex;

use crate::support::{Cluster, until};

/// Keeps payloads in memory; headers are `write <n>`, `barrier <n>` (to be prepared, without
/// payload) or anything else (in the log). Earlier writes take longer.
#[derive(Default)]
struct Chunks {
    kept: Mutex<BTreeMap<Bytes, Bytes>>,
    started: Mutex<Vec<Bytes>>,
    fail: Mutex<u32>,
    reads: Mutex<u32>,
}

#[derive(Clone, Default)]
struct Payloads(Arc<Chunks>);

impl PayloadStore for Payloads {
    fn placement(&self, header: &Bytes, _: usize) -> Placement {
        let outside = header.starts_with(b"write") || header.starts_with(b"barrier");
        if outside { Placement::External } else { Placement::InLog }
    }

    fn prepare(&self, _: u64, header: Bytes, payload: Bytes) -> BoxFuture<'static, io::Result<()>> {
        self.0.started.lock().push(header.clone());
        let this = self.0.clone();
        Box::pin(async move {
            let wait = payload.first().copied().unwrap_or(0) % 5;
            tokio::time::sleep(Duration::from_millis(u64::from(5 - wait))).await;
            let failing = {
                let mut fail = this.fail.lock();
                *fail = fail.saturating_sub(1);
                *fail > 0
            };
            if failing {
                return Err(io::Error::other("disk is full"));
            }
            this.kept.lock().insert(header, payload);
            Ok(())
        })
    }

    fn read(&self, header: Bytes) -> BoxFuture<'static, io::Result<Bytes>> {
        *self.0.reads.lock() += 1;
        let found = self.0.kept.lock().get(&header).cloned();
        Box::pin(async move { found.ok_or_else(|| io::ErrorKind::NotFound.into()) })
    }
}

fn with_payloads(size: usize) -> (Cluster, Vec<Payloads>) {
    let mut cluster = Cluster::new(size);
    let stores: Vec<Payloads> = (0..size).map(|_| Payloads::default()).collect();
    for (node, store) in cluster.nodes.iter_mut().zip(&stores) {
        node.payloads = Some(Arc::new(store.clone()));
    }
    (cluster, stores)
}

fn write(n: u32, len: usize) -> Proposal {
    let payload = vec![n as u8; len];
    let header = format!("write {n:04}").into();
    Proposal { header, payload: payload.into(), ..Proposal::default() }
}

/// Returns `true` if all payloads were begun in log order. A replaced leader resends entries that
/// others may lack: from one of them on they are begun once more.
fn begun_in_order(started: &[Bytes], log: &[&Bytes]) -> bool {
    let mut next = 0;
    for header in started {
        match log.iter().position(|entry| *entry == header) {
            Some(at) if at <= next => next = at + 1,
            _ => return false,
        }
    }
    next == log.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_replica_stores_the_payload_before_the_entry_and_the_machine_sees_the_header() {
    let (mut cluster, stores) = with_payloads(3);
    (0..3).for_each(|n| cluster.start(n));
    let leader = cluster.leader().await;
    let group = cluster.group(leader);
    let mut answers = Vec::new();
    for n in 0..40 {
        answers.push(group.submit(write(n, 100_000)).unwrap());
        answers.push(group.submit(Proposal::new(format!("barrier {n:04}"))).unwrap());
    }
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    cluster.agree(80).await;
    let entries = cluster.entries(leader);
    let log: Vec<&Bytes> = entries.values().collect();
    for (n, pair) in log.chunks(2).enumerate() {
        assert_eq!(pair[0], &format!("write {n:04}"), "proposals keep their order");
        assert_eq!(pair[1], &format!("barrier {n:04}"));
    }
    for store in &stores {
        let started = store.0.started.lock();
        assert!(begun_in_order(&started, &log), "payloads are begun in log order: {started:?}");
        let kept = store.0.kept.lock();
        assert_eq!(kept.len(), 80);
        for n in 0..40u32 {
            let header = Bytes::from(format!("write {n:04}"));
            assert_eq!(kept[&header], vec![n as u8; 100_000]);
        }
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_refused_on_the_leader_refuses_only_its_proposal() {
    let (mut cluster, stores) = with_payloads(1);
    cluster.start(0);
    cluster.leader().await;
    *stores[0].0.fail.lock() = 2;
    let group = cluster.group(0);
    let refused = group.propose(write(1, 10)).await.unwrap_err();
    assert!(matches!(refused, ProposeError::Payload(_)), "{refused}");
    group.propose(write(2, 10)).await.unwrap();
    assert_eq!(cluster.entries(0).into_values().collect::<Vec<_>>(), ["write 0002"]);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_refused_on_a_follower_is_sent_again() {
    let (mut cluster, stores) = with_payloads(3);
    (0..3).for_each(|n| cluster.start(n));
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    *stores[follower].0.fail.lock() = 4;
    for n in 0..10 {
        cluster.group(leader).propose(write(n, 3000)).await.unwrap();
    }
    cluster.agree(10).await;
    assert_eq!(stores[follower].0.kept.lock().len(), 10);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lagging_follower_gets_payloads_read_back_from_the_leaders_store() {
    let (mut cluster, stores) = with_payloads(3);
    cluster.cache = 0;
    (0..3).for_each(|n| cluster.start(n));
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.stop(follower, false).await;
    for n in 0..30 {
        cluster.group(leader).propose(write(n, 70_000)).await.unwrap();
    }
    assert_eq!(stores[follower].0.kept.lock().len(), 0);
    cluster.start(follower);
    cluster.agree(30).await;
    assert_eq!(*stores[follower].0.kept.lock(), *stores[leader].0.kept.lock());
    assert!(*stores[leader].0.reads.lock() > 0);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_leader_can_send_payloads_that_it_got_as_a_follower() {
    let (mut cluster, stores) = with_payloads(3);
    (0..3).for_each(|n| cluster.start(n));
    // A new member that no leader has contacted would not vote later on.
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    let leader = cluster.leader().await;
    let (heir, late) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.stop(late, false).await;
    for n in 0..10 {
        cluster.group(leader).propose(write(n, 5000)).await.unwrap();
    }
    until("the next leader to have everything", async || cluster.entries(heir).len() == 11).await;
    cluster.stop(leader, false).await;
    cluster.start(late);
    cluster.put(&[heir, late], "after").await;
    cluster.agree(12).await;
    assert_eq!(stores[late].0.kept.lock().len(), 10);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_payload_is_fetched_from_a_peer() {
    let (mut cluster, stores) = with_payloads(3);
    (0..3).for_each(|n| cluster.start(n));
    let leader = cluster.leader().await;
    cluster.group(leader).propose(write(7, 100_000)).await.unwrap();
    cluster.agree(1).await;
    let header = Bytes::from("write 0007");
    for (n, store) in stores.iter().enumerate() {
        store.0.kept.lock().remove(&header);
        let fetched = cluster.group(n).fetch_payload(header.clone()).await.unwrap();
        assert_eq!(fetched, vec![7u8; 100_000]);
        store.0.kept.lock().insert(header.clone(), fetched);
    }
    assert!(cluster.group(0).fetch_payload(Bytes::from("write 9999")).await.is_err());
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_back_does_not_wait_for_entries_that_were_overwritten() {
    let (mut cluster, _payloads) = with_payloads(3);
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "common").await;
    cluster.agree(1).await;
    let old = cluster.leader().await;
    let rest: Vec<usize> = (0..3).filter(|n| *n != old).collect();
    let ids: Vec<_> = rest.iter().map(|n| cluster.nodes[*n].id).collect();
    cluster.network.cut(&[cluster.nodes[old].id], &ids);
    // With external payloads, proposals are not batched: each is in the log at once.
    let propose = |n: u32| cluster.group(old).submit(Proposal::new(format!("lost {n}"))).unwrap();
    let lost: Vec<_> = (0..8).map(propose).collect();
    let new = cluster.group(cluster.leader_of(&rest).await);
    let (id, term) = (cluster.nodes[old].id, new.leader().term);
    cluster.network.heal();
    until("it to be the leader again", async || {
        new.transfer_leader(id);
        let now = cluster.group(old).leader();
        now.leader == Some(id) && now.term > term
    })
    .await;
    // One entry of its own, at the index of a lost one, followed by lost ones.
    testkit::ended("a proposal to the old leader", cluster.put(&[old], "after")).await;
    for waiting in lost {
        assert!(matches!(waiting.await.unwrap(), Err(ProposeError::Dropped)));
    }
    cluster.shutdown().await;
}

/// Proposals, one after the other for `time`, accepted and rejected.
async fn propose_for(cluster: &Cluster, of: &[usize], time: Duration) -> (usize, usize) {
    let mut ended = std::pin::pin!(tokio::time::sleep(time));
    let (mut taken, mut refused) = (0, 0);
    while futures::poll!(&mut ended).is_pending() {
        let leader = cluster.group(cluster.leader_of(of).await);
        match leader.propose(Proposal::new("small")).await {
            Ok(_) => taken += 1,
            Err(_) => refused += 1,
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (taken, refused)
}

/// A leader accepts no proposals during a transfer.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_never_catches_up_is_not_handed_leadership_again_and_again() {
    let (mut cluster, stores) = with_payloads(3);
    cluster.priorities = vec![1, 3, 2];
    cluster.heartbeat = Duration::from_millis(50);
    cluster.election_timeout = Duration::from_millis(400);
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "common").await;
    cluster.agree(1).await;
    cluster.stop(1, false).await;
    *stores[1].0.fail.lock() = u32::MAX;
    let leader = cluster.leader().await;
    cluster.group(leader).propose(write(1, 3000)).await.unwrap();
    cluster.start(1);
    // The first attempts follow each other quickly.
    propose_for(&cluster, &[0, 2], Duration::from_secs(8)).await;
    let (taken, refused) = propose_for(&cluster, &[0, 2], Duration::from_secs(4)).await;
    assert!(refused * 4 < taken, "{taken} taken, {refused} refused");
    // The transfer happens once it can succeed.
    *stores[1].0.fail.lock() = 0;
    until("the preferred member to be the leader again", async || cluster.group(1).leader().ready)
        .await;
    cluster.shutdown().await;
}
