//! Replicas that lag behind the trimmed log.

use std::sync::atomic::Ordering;

use multiraft::TrimOptions;

use crate::support::{Cluster, until};

async fn lag(files: bool) -> Cluster {
    let (mut cluster, [_, follower, _]) = Cluster::with_one_left_behind(files).await;
    cluster.start(follower);
    cluster.agree(301).await;
    assert!(cluster.nodes[follower].store.lock().restores >= 1);
    // It continues as a full member.
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(302).await;
    cluster.stop(follower, true).await;
    cluster.put(&cluster.up(), "during the absence").await;
    cluster.start(follower);
    cluster.agree(303).await;
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_behind_the_log_is_restored_from_files() {
    let cluster = lag(true).await;
    let ids: Vec<_> = cluster.nodes.iter().map(|n| n.dir.path().join("snapshots")).collect();
    cluster.shutdown().await;
    for dir in ids {
        let left = std::fs::read_dir(&dir).map(|entries| entries.count()).unwrap_or(0);
        assert_eq!(left, 0, "snapshots are removed after use");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_restores_for_long_asks_for_no_votes_meanwhile() {
    let (mut cluster, [leader, follower, third]) = Cluster::with_one_left_behind(false).await;
    cluster.nodes[follower].store.lock().hold_restore = true;
    cluster.start(follower);
    let store = cluster.nodes[follower].store.clone();
    until("it restores", async || store.lock().restoring).await;
    // It receives nothing for several election timeouts.
    cluster.stop(leader, false).await;
    cluster.stop(third, false).await;
    tokio::time::sleep(5 * cluster.election_timeout).await;
    assert!(store.lock().restoring);
    store.lock().hold_restore = false;
    until("it has restored", async || !store.lock().restoring).await;
    cluster.start(leader);
    cluster.start(third);
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(302).await;
    assert_eq!(cluster.group(follower).status().await.unwrap().failed, None);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_restore_and_log_is_mended_at_the_start() {
    let mut cluster = Cluster::new(3);
    cluster.trim = TrimOptions { entries: 20, bytes: u64::MAX, keep: 0 };
    (0..3).for_each(|n| cluster.start(n));
    for n in 0..100 {
        cluster.put(&[0, 1, 2], &n.to_string()).await;
    }
    cluster.agree(100).await;
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.stop(follower, false).await;
    for n in 100..200 {
        cluster.put(&cluster.up(), &n.to_string()).await;
    }
    // The machine of the stopped replica now holds a later snapshot, its log does not.
    let ahead = cluster.nodes[leader].store.lock().live.clone();
    {
        let mut store = cluster.nodes[follower].store.lock();
        store.live = ahead.clone();
        store.durable = ahead;
    }
    cluster.start(follower);
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(201).await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_is_cut_off_goes_on_where_it_was() {
    const ENTRIES: usize = 250;
    let mut cluster = Cluster::new(3);
    cluster.files = true;
    cluster.trim = TrimOptions { entries: 20, bytes: u64::MAX, keep: 5 };
    // A second and a half for about 250 pieces.
    cluster.snapshot_rate = 170_000;
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.stop(follower, true).await;
    let long = "x".repeat(1000);
    for n in 1..ENTRIES {
        cluster.put(&cluster.up(), &format!("{n} {long}")).await;
    }
    let group = cluster.group(leader);
    until("the log is trimmed", async || group.status().await.unwrap().first_index > 100).await;
    cluster.start(follower);
    let host = cluster.nodes[leader].host.clone().unwrap();
    let pieces = || host.metrics().snapshot_pieces_sent.load(Ordering::Relaxed);
    until("half of the pieces", async || pieces() > 120).await;
    let (a, b) = (cluster.nodes[leader].id, cluster.nodes[follower].id);
    cluster.network.cut(&[a], &[b]);
    let before = pieces();
    until("the stream failed", async || {
        host.metrics().snapshot_streams_failed.load(Ordering::Relaxed) > 0
    })
    .await;
    cluster.network.heal();
    cluster.agree(ENTRIES).await;
    // 250 entries of 1,020 bytes are 256 pieces, and a few for files' ends.
    let all = pieces();
    assert!(before > 120 && all < 300, "{all} pieces were sent, {before} before the cut");
    assert_eq!(cluster.nodes[follower].store.lock().restores, 1);
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_waits_for_a_member_that_is_away_for_a_bounded_stretch() {
    let mut cluster = Cluster::new(3);
    cluster.trim = TrimOptions { entries: 100, bytes: 2_000, keep: 0 };
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.agree(1).await;
    cluster.stop(follower, false).await;
    // Long enough for its absence to be noticed, with more entries than are kept for an absent
    // member.
    cluster.is_away(leader, follower).await;
    for n in 0..90 {
        cluster.put(&cluster.up(), &n.to_string()).await;
    }
    cluster.start(follower);
    cluster.agree(91).await;
    assert_eq!(cluster.nodes[follower].store.lock().restores, 0, "it received the entries");
    cluster.stop(follower, false).await;
    // While it counts as present, four times as many entries are kept.
    cluster.is_away(leader, follower).await;
    for n in 0..400 {
        cluster.put(&cluster.up(), &n.to_string()).await;
    }
    cluster.start(follower);
    cluster.agree(491).await;
    assert!(cluster.nodes[follower].store.lock().restores > 0, "its absence was too long");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_begins_behind_what_is_not_to_stay_on_every_member() {
    // By default it would keep the whole log.
    let mut cluster = Cluster::started(3);
    for n in 0..50 {
        cluster.put(&[0, 1, 2], &n.to_string()).await;
    }
    cluster.agree(50).await;
    let last = cluster.put(&[0, 1, 2], "last").await.index;
    for n in 0..3 {
        // Also before it is applied.
        cluster.group(n).trim_to(last);
        until("the log to be trimmed", async || {
            cluster.group(n).status().await.unwrap().first_index > last
        })
        .await;
    }
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(52).await;
    for n in 0..3 {
        cluster.stop(n, true).await;
    }
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "after a restart").await;
    cluster.agree(53).await;
    cluster.shutdown().await;
}
