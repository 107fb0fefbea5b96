//! Replicas that lag behind the trimmed log.

use multiraft::TrimOptions;

use crate::support::Cluster;

async fn lag(files: bool) -> Cluster {
    let mut cluster = Cluster::new(3);
    cluster.files = files;
    cluster.trim = TrimOptions { entries: 20, bytes: u64::MAX, keep: 5 };
    (0..3).for_each(|n| cluster.start(n));
    cluster.put(&[0, 1, 2], "first").await;
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.stop(follower, true).await;
    for n in 0..300 {
        cluster.put(&cluster.up(), &format!("entry number {n}")).await;
    }
    for n in cluster.up() {
        while cluster.group(n).status().await.unwrap().first_index < 100 {
            tokio::task::yield_now().await;
        }
    }
    cluster.start(follower);
    cluster.agree(301).await;
    assert!(cluster.nodes[follower].store.lock().restores >= 1);
    // It goes on as a full member.
    cluster.put(&[0, 1, 2], "after").await;
    cluster.agree(302).await;
    cluster.stop(follower, true).await;
    cluster.put(&cluster.up(), "while away").await;
    cluster.start(follower);
    cluster.agree(303).await;
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_behind_the_log_is_restored_from_memory() {
    lag(false).await.shutdown().await;
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
