//! Groups of three: elections, replication, partitions, leaders.

use std::time::Duration;

use multiraft::{Group, LogPosition};

use crate::support::{Cluster, Recorder, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_catches_up_with_entries_that_left_the_leaders_memory() {
    let mut cluster = Cluster::new(3);
    cluster.keep_first_leader();
    cluster.cache = 0;
    (0..3).for_each(|n| cluster.start(n));
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.stop(follower, false).await;
    for n in 0..300 {
        cluster.put(&cluster.up(), &n.to_string()).await;
    }
    cluster.start(follower);
    cluster.agree(300).await;
    let host = cluster.nodes[cluster.leader().await].host.clone().unwrap();
    let metrics = host.metrics().snapshot();
    let fetches = metrics.iter().find(|(name, _)| *name == "log_fetches").unwrap().1;
    assert!(fetches > 0, "entries were read back from the log");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_read_is_served_by_a_leader_that_others_have_replaced() {
    let cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "one").await;
    cluster.agree(1).await;
    let old = cluster.leader().await;
    cluster.group(old).read_index().await.unwrap();
    until("the lease holds", async || cluster.group(old).can_read_now()).await;
    let rest: Vec<usize> = (0..3).filter(|n| *n != old).collect();
    let ids: Vec<_> = rest.iter().map(|n| cluster.nodes[*n].id).collect();
    cluster.network.cut(&[cluster.nodes[old].id], &ids);
    // Keep reading at the old leader until the others have a new one.
    until("another leader", async || {
        let replaced =
            rest.iter().any(|n| cluster.group(*n).leader().leader == Some(cluster.nodes[*n].id));
        // The read permission is checked after the check for a replacement.
        assert!(!(replaced && cluster.group(old).can_read_now()), "a stale read");
        replaced
    })
    .await;
    cluster.network.heal();
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_leader_votes_for_the_next_while_the_third_is_not_there() {
    let mut cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "one").await;
    cluster.agree(1).await;
    let old = cluster.leader().await;
    let (new, third) = ((old + 1) % 3, (old + 2) % 3);
    cluster.stop(third, false).await;
    cluster.hand_over(new).await;
    cluster.put(&[new], "two").await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preferred_member_that_is_not_heard_leaves_a_vote_before_the_first_term_unanswered() {
    let mut cluster = Cluster::new(3);
    cluster.priorities = vec![1, 0, 0];
    cluster.network.lose_requests_for_votes(cluster.nodes[0].id);
    (0..3).for_each(|n| cluster.start(n));
    // It receives the vote requests of the others and would refuse; no term has begun.
    cluster.put(&[1, 2], "one").await;
    cluster.network.heal();
    until("the first to be the leader", async || cluster.group(0).leader().ready).await;
    cluster.agree(1).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_starts_late_does_not_wait_for_a_heartbeat() {
    let mut cluster = Cluster::new(3);
    // A member that is present from the start starts an election at once.
    cluster.priorities = vec![1, 0, 0];
    // Longer than any wait of the test.
    cluster.heartbeat = Duration::from_secs(60);
    cluster.election_timeout = Duration::from_secs(300);
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "one").await;
    cluster.wipe(2).await;
    cluster.start(2);
    // The other follower may receive the commit index with a heartbeat only.
    until("the late member to have it", async || cluster.entries(2).len() == 1).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_hear_of_the_last_commit_without_a_heartbeat() {
    let mut cluster = Cluster::new(3);
    cluster.priorities = vec![1, 0, 0];
    // Longer than any wait of the test.
    cluster.heartbeat = Duration::from_secs(60);
    cluster.election_timeout = Duration::from_secs(300);
    (0..3).rev().for_each(|n| cluster.start(n));
    let all = [0, 1, 2];
    let mut count = 0;
    // One by one, and many at once, so that they are batched while others are in flight.
    for at_once in [1, 1, 1, 2, 3, 10, 100, 1, 500, 1] {
        for _ in 0..10 {
            let puts = (count..count + at_once).map(|n| {
                let (cluster, name) = (&cluster, n.to_string());
                async move { cluster.put(&all, &name).await }
            });
            futures::future::join_all(puts).await;
            count += at_once;
            cluster.agree(count).await;
        }
    }
    // So a read at a follower waits for the leader's response and nothing else.
    for follower in [1, 2] {
        cluster.group(follower).read_index_anywhere().await.unwrap();
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_steps_down_is_followed_by_another() {
    let cluster = Cluster::started(3);
    let old = cluster.leader().await;
    let before = cluster.group(old).leader().term;
    cluster.put(&[0, 1, 2], "one").await;
    cluster.group(old).step_down();
    until("a new term", async || {
        let leads = |n: &usize| {
            cluster.group(*n).leader().ready && cluster.group(*n).leader().term > before
        };
        [0, 1, 2].iter().any(leads)
    })
    .await;
    assert_ne!(cluster.leader().await, old);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_member_of_highest_priority_leads_while_it_is_healthy() {
    let mut cluster = Cluster::new(3);
    cluster.priorities = vec![1, 3, 2];
    (0..3).for_each(|n| cluster.start(n));
    until("the preferred member to be the leader", async || cluster.group(1).leader().ready).await;
    cluster.put(&[1], "a").await;
    // A member without a leader so far does not vote.
    cluster.agree(1).await;
    cluster.stop(1, false).await;
    cluster.put(&[0, 2], "b").await;
    cluster.start(1);
    until("the preferred member to be the leader again", async || cluster.group(1).leader().ready)
        .await;
    cluster.agree(2).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lossy_slow_network_loses_nothing() {
    let cluster = Cluster::started(3);
    cluster.network.lose(100);
    cluster.network.delay(Duration::from_millis(2));
    let mut acknowledged = Vec::new();
    for n in 0..60 {
        let header = format!("{n}");
        acknowledged.push((cluster.put(&[0, 1, 2], &header).await.index, header));
    }
    cluster.network.heal();
    let last = acknowledged.last().unwrap().0;
    until("everyone has it", async || {
        let applied = |n| cluster.group(n).applied() >= last;
        (0..3).all(applied)
    })
    .await;
    for n in 0..3 {
        let entries = cluster.entries(n);
        for (index, header) in &acknowledged {
            assert_eq!(entries.get(index).map(|e| &e[..]), Some(header.as_bytes()));
        }
    }
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_stopped_and_started_again_on_its_host_has_everything() {
    let mut cluster = Cluster::started(3);
    for round in 0..10 {
        for n in 0..10 {
            cluster.put(&[0, 1, 2], &format!("{round} {n}")).await;
        }
        let n = round % 3;
        cluster.nodes[n].group = None;
        let host = cluster.nodes[n].host.clone().unwrap();
        host.stop_group(cluster.id).await.unwrap();
        let machine = Recorder { store: cluster.nodes[n].store.clone(), dir: None };
        let config = cluster.config(n, cluster.nodes[n].log.clone().unwrap());
        cluster.nodes[n].group = Some(host.start_group(config, Box::new(machine)).unwrap());
    }
    cluster.agree(100).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_removed_is_gone_from_the_log() {
    let mut cluster = Cluster::led(3).await;
    cluster.put(&[0, 1, 2], "a").await;
    let host = cluster.nodes[2].host.clone().unwrap();
    let log = cluster.nodes[2].log.clone().unwrap();
    assert_eq!(host.list_groups_on(&log).len(), 1);
    cluster.nodes[2].group = None;
    host.remove_group(cluster.id).await.unwrap();
    assert!(host.list_groups_on(&log).is_empty());
    cluster.put(&[0, 1], "b").await;
    host.shutdown().await;
    log.close();
    cluster.network.detach(cluster.nodes[2].id);
    (cluster.nodes[2].host, cluster.nodes[2].log) = (None, None);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_hears_how_far_the_others_have_committed() {
    let mut cluster = Cluster::led(3).await;
    let applied = cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let group = cluster.nodes[leader].group.clone().unwrap();
    let mut changes = group.progress_changes();
    let told = async {
        while group.progress().iter().any(|member| member.committed < applied.index) {
            changes.changed().await.unwrap();
        }
    };
    testkit::ended("the leader to receive the commit indexes", told).await;
    let down = (leader + 1) % 3;
    cluster.stop(down, false).await;
    let applied = cluster.put(&cluster.up(), "second").await;
    let node = cluster.nodes[down].id;
    let behind = |group: &multiraft::Group| -> Vec<_> {
        let known = group.progress().into_iter();
        known.filter(|member| member.committed < applied.index).map(|member| member.node).collect()
    };
    let leader = cluster.leader().await;
    let group = cluster.nodes[leader].group.clone().unwrap();
    until("only the stopped member to lag", async || behind(&group) == [node]).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_answer_reads_that_show_every_acknowledged_write() {
    let cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    // One without a leader so far cannot send it a request.
    cluster.agree(1).await;
    let leader = cluster.leader().await;
    let followers: Vec<usize> = (0..3).filter(|n| *n != leader).collect();
    for n in 0..50 {
        let at = cluster.put(&[0, 1, 2], &n.to_string()).await.index;
        for follower in &followers {
            let group = cluster.group(*follower);
            let read = group.read_index_anywhere().await.unwrap();
            assert!(read >= at && group.applied() >= at, "{read} of {at}");
            assert!(cluster.entries(*follower).contains_key(&at));
        }
    }
    // Many concurrent reads share one request to the leader.
    let group = cluster.group(followers[0]);
    let frames = cluster.network.frames();
    let reads = (0..500).map(|_| group.read_index_anywhere());
    for read in futures::future::join_all(reads).await {
        read.unwrap();
    }
    let asked = cluster.network.frames() - frames;
    assert!(asked < 200, "{asked} frames for 500 reads");
    assert_eq!(group.staleness().entries, 0);
    // Its silence is less than the time since the last heartbeat, as the next one shows.
    let is_fresh = async || group.staleness().silent.is_some_and(|silent| silent < HEARTBEATS);
    until("a heartbeat", is_fresh).await;
    // A follower that is cut off does not respond, and reports that it may lag.
    let (cut, others) = (cluster.nodes[followers[0]].id, [leader, followers[1]]);
    cluster.network.cut(&[cut], &others.map(|n| cluster.nodes[n].id));
    let at = cluster.put(&others, "unseen").await.index;
    assert!(group.read_index_anywhere().await.is_err());
    assert!(group.applied() < at);
    until("it to be silent", async || group.staleness().silent.unwrap() > HEARTBEATS).await;
    cluster.network.heal();
    group.wait_applied(at).await.unwrap();
    assert!(cluster.entries(followers[0]).contains_key(&at));
    cluster.shutdown().await;
}

/// Time for several heartbeats.
const HEARTBEATS: Duration = Duration::from_millis(500);

/// Returns `true` if a replica reports that it may lack entries committed half a second ago.
fn may_lack(group: &Group) -> bool {
    group.staleness().behind.is_none_or(|behind| behind > Duration::from_millis(500))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_hears_of_its_leader_and_lacks_entries_knows_since_when() {
    let cluster = Cluster::led(3).await;
    cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let others: Vec<usize> = (0..3).filter(|n| *n != leader).collect();
    let follower = cluster.group(others[0]);
    until("it has all", async || !may_lack(&follower)).await;

    // Its state machine hangs.
    cluster.nodes[others[0]].store.lock().hold_apply = true;
    let at = cluster.put(&[leader, others[1]], "not applied there").await.index;
    until("it to report its lag", async || may_lack(&follower)).await;
    assert!(follower.applied() < at);
    until("a message from its leader", async || follower.staleness().silent.unwrap() < HEARTBEATS)
        .await;
    assert!(may_lack(&follower));
    cluster.nodes[others[0]].store.lock().hold_apply = false;
    follower.wait_applied(at).await.unwrap();
    until("it has all", async || !may_lack(&follower)).await;

    // Entries are lost, heartbeats arrive.
    cluster.network.lose_long(cluster.nodes[leader].id, cluster.nodes[others[0]].id, 1_000);
    let at = cluster.put(&[leader, others[1]], &"long ".repeat(1_000)).await.index;
    until("it to report its lag", async || may_lack(&follower)).await;
    assert!(follower.applied() < at);
    until("a message from its leader", async || follower.staleness().silent.unwrap() < HEARTBEATS)
        .await;
    cluster.network.heal();
    follower.wait_applied(at).await.unwrap();
    until("it has all", async || !may_lack(&follower)).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_applied_before_a_crash_is_applied_again_without_a_leader() {
    let mut cluster = Cluster::started(3);
    let all = [0, 1, 2];
    for n in 0..20 {
        cluster.put(&all, &n.to_string()).await;
    }
    let leader = cluster.leader().await;
    let last = cluster.put(&all, "last").await;
    let before = cluster.entries(leader);
    for n in all {
        cluster.stop(n, true).await;
    }
    assert_eq!(cluster.entries(leader).len(), 0);
    let known = LogPosition { term: last.term, index: last.index };
    cluster.nodes[leader].store.lock().known_committed = known;
    cluster.start(leader);
    until("everything is applied", async || cluster.entries(leader) == before).await;
    // An entry of that index from another term is not the applied one.
    cluster.stop(leader, true).await;
    let other = LogPosition { term: last.term + 1, index: last.index };
    cluster.nodes[leader].store.lock().known_committed = other;
    cluster.start(leader);
    cluster.nobody_leads(&[leader]).await;
    assert_ne!(cluster.entries(leader), before);
    cluster.shutdown().await;
}
