//! Members that are added and removed at run time.

use multiraft::{Change, ChangeError, MemberRole, Proposal, TrimOptions};

use crate::support::{Cluster, until};

async fn settled(size: usize) -> Cluster {
    let mut cluster = Cluster::new(size);
    cluster.trim = TrimOptions { entries: 20, bytes: u64::MAX, keep: 5 };
    (0..size).for_each(|n| cluster.start(n));
    let all: Vec<usize> = (0..size).collect();
    cluster.put(&all, "first").await;
    cluster.agree(1).await;
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_added_gets_everything_and_then_its_vote() {
    let mut cluster = settled(3).await;
    for n in 0..100 {
        cluster.put(&[0, 1, 2], &n.to_string()).await;
    }
    let new = cluster.grow();
    cluster.join(&[0, 1, 2], new).await;
    assert!(!cluster.group(new).membership().find(cluster.nodes[new].id).unwrap().role.votes());
    cluster.votes(&[0, 1, 2, new], new).await;
    cluster.agree(101).await;
    assert!(cluster.nodes[new].store.lock().restores > 0, "the log does not reach back that far");
    // Every change was announced to all members, with the address of the new one.
    let membership = cluster.group(0).membership();
    assert_eq!(membership.find(cluster.nodes[new].id).unwrap().peer, cluster.peer(new));
    // It counts: with two of four down there is no majority, with one there is.
    let leader = cluster.leader().await;
    let others: Vec<usize> = (0..3).filter(|n| *n != leader).collect();
    cluster.stop(others[0], false).await;
    cluster.put(&[leader, others[1], new], "three of four").await;
    cluster.stop(others[1], false).await;
    let group = cluster.group(leader);
    let proposed = group.propose(Proposal::new("two of four"));
    // It fails when the leader notices that it has no majority.
    let outcome = testkit::ended("the proposal to two of four", proposed).await;
    assert!(outcome.is_err(), "two of four agreed");
    // And it may lead. A member without any announcement has the change only from its log.
    cluster.start(others[0]);
    cluster.start(others[1]);
    cluster.leader().await;
    cluster.change(&[0, 1, 2, new], Change::Remove(cluster.nodes[leader].id)).await;
    cluster.stop(leader, false).await;
    let left = [others[0], others[1], new];
    cluster.put(&left, "three of three").await;
    cluster.hand_over(new).await;
    cluster.put(&left, "led by the new one").await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_replica_that_was_removed_hears_of_it() {
    let mut cluster = settled(3).await;
    let leader = cluster.leader().await;
    let gone = (leader + 1) % 3;
    cluster.wipe(gone).await;
    let left = [leader, (leader + 2) % 3];
    cluster.change(&left, Change::Remove(cluster.nodes[gone].id)).await;
    // It starts as one of the initial members.
    cluster.start(gone);
    let removed = cluster.group(gone).removed();
    until("the notification", async || *removed.borrow()).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_replica_disturbs_nobody_also_when_it_does_not_know() {
    let mut cluster = settled(3).await;
    let leader = cluster.leader().await;
    let (gone, other) = ((leader + 1) % 3, (leader + 2) % 3);
    // It is down during its removal, and no remaining member is made to notify it.
    cluster.stop(gone, false).await;
    cluster.change(&[leader, other], Change::Remove(cluster.nodes[gone].id)).await;
    let term = cluster.group(leader).leader().term;
    cluster.start(gone);
    assert!(cluster.group(gone).membership().contains(cluster.nodes[gone].id));
    let mut removed = cluster.group(gone).removed();
    testkit::ended("the removal", removed.wait_for(|removed| *removed)).await.unwrap();
    for n in 0..20 {
        cluster.put(&[leader, other], &n.to_string()).await;
    }
    cluster.heartbeats(leader, 5).await;
    assert_eq!(cluster.group(leader).leader().term, term, "no election was necessary");
    assert_eq!(cluster.entries(gone).len(), 1, "it receives nothing any more");
    // It may be added again, with its remaining data.
    cluster.stop(gone, false).await;
    cluster.join(&[leader, other], gone).await;
    cluster.votes(&[0, 1, 2], gone).await;
    cluster.agree(21).await;
    assert!(!*cluster.group(gone).removed().borrow());
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_joins_is_waited_for_by_the_log() {
    let mut cluster = settled(3).await;
    let new = cluster.grow();
    cluster.join(&[0, 1, 2], new).await;
    cluster.votes(&[0, 1, 2, new], new).await;
    let listener = cluster.grow();
    cluster.change(&[0, 1, 2], Change::AddListener(cluster.peer(listener))).await;
    let leader = cluster.leader().await;
    cluster.nodes[listener].joined = Some(cluster.group(leader).membership());
    cluster.start(listener);
    until("it has all", async || cluster.entries(listener).len() == 1).await;
    // It stays without a vote, and is down for longer than the log is kept.
    cluster.stop(listener, false).await;
    cluster.is_away(leader, listener).await;
    for n in 0..200 {
        cluster.put(&[0, 1, 2, new], &n.to_string()).await;
    }
    let before = cluster.nodes[listener].store.lock().restores;
    cluster.start(listener);
    until("it has all again", async || cluster.entries(listener).len() == 201).await;
    assert!(cluster.nodes[listener].store.lock().restores > before);
    let role = |n: usize| {
        let membership = cluster.group(n).membership();
        membership.find(cluster.nodes[listener].id).map(|m| m.role)
    };
    assert_eq!(role(0), Some(MemberRole::Listener));
    let group = cluster.group(listener);
    let index = cluster.put(&[0, 1, 2, new], "seen").await.index;
    assert!(group.read_index_anywhere().await.unwrap() >= index);
    // Until it gets one.
    cluster.change(&[0, 1, 2, new], Change::Promote(cluster.nodes[listener].id)).await;
    cluster.votes(&[0, 1, 2, new, listener], listener).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_one_grows_and_shrinks() {
    let mut cluster = settled(1).await;
    assert!(cluster.group(0).can_read_now());
    let new = cluster.grow();
    cluster.join(&[0], new).await;
    cluster.votes(&[0, new], new).await;
    cluster.put(&[0, new], "both").await;
    // The state of one of two members is incomplete.
    cluster.stop(new, false).await;
    until("no lease is left", async || !cluster.group(0).holds_lease()).await;
    assert!(cluster.group(0).read_index().await.is_err());
    cluster.start(new);
    cluster.change(&[0, new], Change::Remove(cluster.nodes[0].id)).await;
    cluster.stop(0, false).await;
    cluster.put(&[new], "alone").await;
    until("it to hold a lease alone", async || cluster.group(new).holds_lease()).await;
    cluster.stop(new, true).await;
    cluster.start(new);
    cluster.put(&[new], "alone again").await;
    assert_eq!(cluster.entries(new).len(), 4);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_removed_when_the_rest_does_not_answer() {
    let mut cluster = settled(3).await;
    let leader = cluster.leader().await;
    let (down, up) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.stop(down, false).await;
    let of = cluster.nodes[up].id;
    cluster.is_away(leader, down).await;
    // A member counts as silent after two election timeouts.
    cluster.heartbeats(leader, 3).await;
    let refused = cluster.group(leader).change(Change::Remove(of)).await;
    assert!(matches!(refused, Err(ChangeError::Refused(_))), "{refused:?}");
    // The one that is down may be removed.
    cluster.change(&[leader, up], Change::Remove(cluster.nodes[down].id)).await;
    cluster.put(&[leader, up], "two").await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_waits_for_what_another_member_may_have_shown() {
    let mut cluster = settled(1).await;
    let new = cluster.grow();
    cluster.join(&[0], new).await;
    cluster.votes(&[0, new], new).await;
    let leader = cluster.leader_of(&[0, new]).await;
    let follower = if leader == 0 { new } else { 0 };
    let group = cluster.group(leader);
    until("the lease holds", async || {
        let reader = group.clone();
        tokio::spawn(async move { reader.read_index().await });
        group.can_read_now()
    })
    .await;
    cluster.nodes[leader].store.lock().hold_apply = true;
    let writer = group.clone();
    let write = tokio::spawn(async move { writer.propose(Proposal::new("slow")).await });
    // The other one shows it before it is acknowledged.
    until("the follower has it", async || {
        cluster.entries(follower).values().any(|entry| entry == "slow")
    })
    .await;
    assert!(!group.can_read_now());
    cluster.nodes[leader].store.lock().hold_apply = false;
    write.await.unwrap().unwrap();
    cluster.shutdown().await;
}
