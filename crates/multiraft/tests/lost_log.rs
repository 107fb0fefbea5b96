//! Logs that are lost while the state machines are kept, and replicas that return with part of
//! their log.

use std::path::Path;

use multiraft::{Change, GroupError, LogError};

use crate::support::{Cluster, until};

/// Three members, of which the last has the first entry only and is down. The others have eleven
/// entries, the last of them a long one. Returns the leader, the follower and the lagging one.
async fn one_left_behind() -> (Cluster, [usize; 3]) {
    let mut cluster = Cluster::new(3);
    cluster.message_bytes = 300;
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    (0..3).for_each(|n| cluster.flush(n));
    let leader = cluster.leader().await;
    let (follower, behind) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.stop(behind, false).await;
    for n in 2..11 {
        cluster.put(&cluster.up(), &n.to_string()).await;
    }
    cluster.put(&cluster.up(), &"long".repeat(1000)).await;
    cluster.agree(11).await;
    (cluster, [leader, follower, behind])
}

/// The follower's disks are emptied, and it receives all but the last entry from the leader, which
/// then stops.
async fn one_catching_up() -> (Cluster, [usize; 3]) {
    let (mut cluster, [leader, follower, behind]) = one_left_behind().await;
    cluster.wipe(follower).await;
    cluster.network.lose_long(cluster.nodes[leader].id, cluster.nodes[follower].id, 2000);
    cluster.start(follower);
    let group = cluster.group(follower);
    until("it to have the short entries", async || {
        group.status().await.unwrap().last_index + 1
            >= cluster.group(leader).status().await.unwrap().last_index
    })
    .await;
    assert!(cluster.entries(follower).len() < 11);
    cluster.stop(leader, false).await;
    cluster.network.heal();
    (cluster, [leader, follower, behind])
}

/// All members start again, and nothing is missing.
async fn all_is_well(mut cluster: Cluster, leader: usize) {
    cluster.start(leader);
    cluster.agree(11).await;
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(12).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_lost_its_log_alone_knows_the_members_that_came_and_went() {
    let mut cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    let new = cluster.grow();
    cluster.join(&[0, 1, 2], new).await;
    cluster.votes(&[0, 1, 2, new], new).await;
    cluster.put(&[0, 1, 2, new], "second").await;
    cluster.agree(2).await;
    let leader = cluster.leader_of(&[0, 1, 2, new]).await;
    let others: Vec<usize> = (0..3).filter(|n| *n != leader).collect();
    let (lost, gone) = (others[0], others[1]);
    // Its tables do not include the change, which was in its lost log.
    cluster.flush(lost);
    let members = cluster.group(lost).membership();
    cluster.lose_log(lost).await;
    cluster.start(lost);
    assert_eq!(cluster.group(lost).membership(), members);
    // The next change follows that one.
    let all = [0, 1, 2, new];
    cluster.change(&all, Change::Remove(cluster.nodes[gone].id)).await;
    cluster.stop(gone, false).await;
    let left: Vec<usize> = all.into_iter().filter(|n| *n != gone).collect();
    cluster.put(&left, "third").await;
    cluster.agree(3).await;
    let now = cluster.group(leader).membership();
    until("it to receive the change", async || cluster.group(lost).membership() == now).await;
    let status = cluster.group(lost).status().await.unwrap();
    assert_eq!(status.failed, None);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_replica_that_is_not_complete_yet_is_not_elected() {
    let (mut cluster, [leader, follower, behind]) = one_catching_up().await;
    // Its log is longer than that of the lagging one, and lacks an entry that it confirmed.
    cluster.start(behind);
    cluster.nobody_leads(&[follower, behind]).await;
    all_is_well(cluster, leader).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_replica_that_restarts_before_it_is_complete_gives_no_vote() {
    let (mut cluster, [leader, follower, behind]) = one_catching_up().await;
    cluster.stop(follower, false).await;
    cluster.start(follower);
    cluster.start(behind);
    cluster.nobody_leads(&[follower, behind]).await;
    all_is_well(cluster, leader).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_lost_its_log_with_nothing_applied_does_not_vote_once_more() {
    let mut cluster = Cluster::started(3);
    let leader = cluster.leader().await;
    let (lost, wiped) = ((leader + 1) % 3, (leader + 2) % 3);
    // In the first term they have elected a leader, and nothing else.
    cluster.wipe(wiped).await;
    for n in [leader, lost] {
        cluster.stop(n, true).await;
        assert_eq!(cluster.nodes[n].store.lock().live.at.index, 0);
    }
    std::fs::remove_dir_all(cluster.log_dir(lost)).unwrap();
    cluster.start(lost);
    cluster.start(wiped);
    // Both are empty, and would elect another leader in the same term.
    cluster.nobody_leads(&[lost, wiped]).await;
    // Nor does the one that has its log have a majority: as far as the others can tell, the third
    // was wiped.
    cluster.start(leader);
    cluster.nobody_leads(&[0, 1, 2]).await;
    cluster.stop(lost, true).await;
    cluster.accept_loss(lost);
    cluster.start(lost);
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_group_begins_when_all_its_members_are_there() {
    let mut cluster = Cluster::new(3);
    cluster.start(0);
    cluster.start(1);
    // The third may have a log, as far as they can tell.
    cluster.nobody_leads(&[0, 1]).await;
    // A response to an earlier process does not count.
    cluster.stop(0, false).await;
    cluster.start(2);
    cluster.nobody_leads(&[1, 2]).await;
    cluster.stop(1, false).await;
    cluster.start(0);
    cluster.nobody_leads(&[0, 2]).await;
    cluster.start(1);
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_empty_replicas_of_three_do_not_begin_the_group_anew() {
    let mut cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    let kept = cluster.leader().await;
    let (wiped, new) = ((kept + 1) % 3, (kept + 2) % 3);
    // One was wiped. The other one looks like a member that no leader has contacted yet.
    cluster.wipe(new).await;
    cluster.wipe(wiped).await;
    cluster.stop(kept, false).await;
    cluster.start(wiped);
    cluster.start(new);
    cluster.nobody_leads(&[wiped, new]).await;
    // Only the one with a log is known to lack nothing, and it is no majority.
    cluster.start(kept);
    cluster.nobody_leads(&[0, 1, 2]).await;
    cluster.stop(new, false).await;
    cluster.accept_loss(new);
    cluster.start(new);
    cluster.agree(1).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_replica_does_not_start_without_its_log_unless_an_operator_says_so() {
    let mut cluster = Cluster::started(1);
    for n in 0..5 {
        cluster.put(&[0], &n.to_string()).await;
    }
    cluster.flush(0);
    for n in 5..10 {
        cluster.put(&[0], &n.to_string()).await;
    }
    cluster.stop(0, true).await;
    // A disk that is not mounted.
    let elsewhere = cluster.nodes[0].dir.path().join("elsewhere");
    std::fs::rename(cluster.log_dir(0), &elsewhere).unwrap();
    for _ in 0..2 {
        let error = cluster.start_error(0);
        assert!(matches!(error, GroupError::LogLost { .. }), "{error}");
    }
    std::fs::remove_dir_all(cluster.log_dir(0)).unwrap();
    std::fs::rename(&elsewhere, cluster.log_dir(0)).unwrap();
    cluster.start(0);
    cluster.leader().await;
    assert_eq!(cluster.entries(0).len(), 10);
    // A lost disk.
    cluster.lose_log(0).await;
    assert!(matches!(cluster.start_error(0), GroupError::LogLost { .. }));
    cluster.accept_loss(0);
    cluster.start(0);
    cluster.put(&[0], "after").await;
    assert_eq!(cluster.entries(0).len(), 6, "the flushed entries, and later ones");
    cluster.stop(0, true).await;
    cluster.start(0);
    cluster.leader().await;
    assert_eq!(cluster.entries(0).len(), 6);
    // It was accepted once.
    cluster.lose_log(0).await;
    assert!(matches!(cluster.start_error(0), GroupError::LogLost { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_logs_are_lost_nobody_leads_until_an_operator_says_so() {
    let mut cluster = Cluster::started(3);
    for n in 0..5 {
        cluster.put(&[0, 1, 2], &n.to_string()).await;
    }
    cluster.agree(5).await;
    (0..3).for_each(|n| cluster.flush(n));
    for n in 0..3 {
        cluster.lose_log(n).await;
    }
    // Also after another start.
    for _ in 0..2 {
        (0..3).for_each(|n| cluster.start(n));
        cluster.nobody_leads(&[0, 1, 2]).await;
        for n in 0..3 {
            cluster.stop(n, false).await;
        }
    }
    for n in 0..3 {
        cluster.accept_loss(n);
        cluster.start(n);
    }
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(6).await;
    let term = cluster.group(0).leader().term;
    assert!(term > 1 << 20, "a term that no member can have been in: {term}");
    for n in 0..3 {
        cluster.stop(n, true).await;
    }
    (0..3).for_each(|n| cluster.start(n));
    cluster.agree(6).await;
    assert!(cluster.leader().await < 3 && cluster.group(0).leader().term < term + (1 << 20));
    cluster.shutdown().await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_a_log_is_refused() {
    let mut cluster = Cluster::started(1);
    cluster.put(&[0], "first").await;
    cluster.stop(0, true).await;
    let (dir, older) = (cluster.log_dir(0), cluster.nodes[0].dir.path().join("older"));
    copy(&dir, &older);
    cluster.start(0);
    cluster.put(&[0], "second").await;
    cluster.stop(0, true).await;
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&older, &dir).unwrap();
    let error = cluster.start_error(0);
    assert!(matches!(error, GroupError::Log(LogError::Corrupt { .. })), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_another_replica_is_refused() {
    let (mut cluster, mut other) = (Cluster::started(1), Cluster::started(1));
    cluster.put(&[0], "mine").await;
    other.put(&[0], "theirs").await;
    cluster.stop(0, true).await;
    other.stop(0, true).await;
    std::fs::remove_dir_all(cluster.log_dir(0)).unwrap();
    std::fs::rename(other.log_dir(0), cluster.log_dir(0)).unwrap();
    let error = cluster.start_error(0);
    assert!(matches!(error, GroupError::Log(LogError::Foreign { .. })), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_without_a_manifest_is_taken_as_it_is() {
    let mut cluster = Cluster::started(3);
    cluster.put(&[0, 1, 2], "first").await;
    cluster.agree(1).await;
    for n in 0..3 {
        cluster.stop(n, false).await;
        // As an older version leaves it.
        std::fs::remove_file(cluster.log_dir(n).join("ID")).unwrap();
        std::fs::remove_file(cluster.nodes[n].dir.path().join("log.manifest")).unwrap();
        std::fs::remove_file(cluster.nodes[n].dir.path().join("log.manifest.synced")).unwrap();
    }
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "second").await;
    cluster.agree(2).await;
    cluster.shutdown().await;
}
