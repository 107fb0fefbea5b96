//! Clocks that jump: leases and staleness on a machine that was suspended.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::{Cluster, until};

const MINUTE: Duration = Duration::from_secs(60);

/// Advances a machine's clock by a minute in which nothing ran on it.
fn suspend(cluster: &Cluster, n: usize) {
    cluster.nodes[n].jumped.fetch_add(MINUTE.as_millis() as u64, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_suspended_holds_no_lease_afterwards() {
    let mut cluster = Cluster::new(3);
    // The lease must not expire by itself during the test.
    cluster.election_timeout = MINUTE * 3;
    cluster.heartbeat = Duration::from_millis(50);
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let group = cluster.group(leader);
    group.read_index().await.unwrap();
    until("it has a lease", async || group.holds_lease() && group.can_read_now()).await;
    let others: Vec<_> = (0..3).filter(|n| *n != leader).map(|n| cluster.nodes[n].id).collect();
    cluster.network.cut(&[cluster.nodes[leader].id], &others);
    assert!(group.holds_lease(), "it holds without the others for a while");
    suspend(&cluster, leader);
    assert!(!group.holds_lease() && !group.can_read_now(), "others may lead by now");
    assert_eq!(group.staleness().behind, None, "the age of its state is unknown, too");
    cluster.network.heal();
    // It is still the leader: no other was elected. So it gets another lease.
    group.read_index().await.unwrap();
    until("it has a lease again", async || group.holds_lease()).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_was_suspended_counts_that_time_as_staleness() {
    let cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    let group = cluster.group(follower);
    let behind = || group.staleness().behind;
    until("the age of its state to be known", async || behind().is_some_and(|b| b < MINUTE)).await;
    let others: Vec<_> = (0..3).filter(|n| *n != follower).map(|n| cluster.nodes[n].id).collect();
    cluster.network.cut(&[cluster.nodes[follower].id], &others);
    suspend(&cluster, follower);
    let stale = group.staleness();
    assert!(stale.behind.is_none_or(|b| b >= MINUTE), "{stale:?}");
    assert!(stale.silent.is_some_and(|s| s >= MINUTE), "{stale:?}");
    cluster.network.heal();
    until("its state to be fresh again", async || behind().is_some_and(|b| b < MINUTE)).await;
    cluster.shutdown().await;
}
