//! Writes: sizes, failures, limits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use client::{ClientOptions, CreateKey, ErrorKind, FinishOptions, KeyWriter};
use proto::datanode::Type as Command;
use proto::ozone::Type;
use testkit::until;
use tokio::sync::Semaphore;

use crate::datanode::Node;
use crate::support::{BLOCK, CHUNK, Cluster, SMALL, data, path};

/// Timeout of waits for conditions that hold soon.
const BOUND: Duration = testkit::LIMIT;

#[tokio::test]
async fn keys_of_any_size_come_back_as_they_went() {
    let cluster = Cluster::start(2).await;
    let block = BLOCK as usize;
    let sizes = [
        0,
        1,
        SMALL,
        SMALL + 1,
        CHUNK - 1,
        CHUNK,
        CHUNK + 1,
        block - 1,
        block,
        block + 1,
        3 * block + 777,
    ];
    for size in sizes {
        let key = format!("key-{size}");
        let info = cluster.put(&key, data(size)).await.unwrap();
        assert_eq!(info.data_size, size as u64);
        assert_eq!(cluster.get(&key).await.unwrap(), data(size), "{size} bytes");
        let blocks = info.key_location_list[0].key_locations.len();
        assert_eq!(blocks, size.div_ceil(block), "{size} bytes");
    }
}

#[tokio::test]
async fn pieces_of_any_size_make_the_same_key() {
    let cluster = Cluster::start(1).await;
    let whole = data(5 * CHUNK + 99);
    for piece in [1000, 5000, CHUNK, CHUNK + 1, whole.len()] {
        let mut writer = cluster.client.create_key(CreateKey::new(path("k"))).await.unwrap();
        let mut left = whole.clone();
        while !left.is_empty() {
            let next = left.split_to(piece.min(left.len()));
            writer.write(next).await.unwrap();
        }
        assert_eq!(writer.written(), whole.len() as u64);
        writer.finish(FinishOptions::default()).await.unwrap();
        assert_eq!(cluster.get("k").await.unwrap(), whole, "pieces of {piece}");
    }
}

#[tokio::test]
async fn a_small_key_is_one_request_to_the_leader() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    let leader = &cluster.pipelines[0][0];
    assert_eq!(*leader.seen.commands.lock(), [Command::PutSmallFile]);
    assert_eq!(cluster.state().requests.lock().len(), 2, "create and commit");
}

#[tokio::test]
async fn metadata_known_at_the_end_replace_those_of_the_beginning() {
    let cluster = Cluster::start(1).await;
    let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
    let key = CreateKey::new(path("k")).metadata(vec![pair("a", "1"), pair("b", "1")]);
    let writer = cluster.client.create_key(key).await.unwrap();
    let options = FinishOptions { metadata: vec![pair("b", "2"), pair("ETag", "e")] };
    writer.finish(options).await.unwrap();
    let info = cluster.client.key_info(&path("k")).await.unwrap();
    let mut got: Vec<_> = info.metadata.iter().map(|m| (m.key.as_str(), m.value())).collect();
    got.sort_unstable();
    assert_eq!(got, [("ETag", "e"), ("a", "1"), ("b", "2")]);
}

#[tokio::test]
async fn a_container_closed_in_the_middle_keeps_what_was_acknowledged() {
    let cluster = Cluster::start(1).await;
    for node in &cluster.pipelines[0] {
        *node.faults.close_after_puts.lock() = Some(1);
    }
    let whole = data(BLOCK as usize);
    let info = cluster.put("k", whole.clone()).await.unwrap();
    let locations = &info.key_location_list[0].key_locations;
    assert!(locations.len() > 1, "the rest went to other blocks");
    assert!(locations.iter().all(|location| location.length > 0));
    assert!(locations.iter().all(|location| location.block_id.block_commit_sequence_id() > 0));
    assert_eq!(cluster.get("k").await.unwrap(), whole);
    let excluded: Vec<i64> = cluster
        .state()
        .asked(Type::AllocateBlock)
        .into_iter()
        .flat_map(|r| r.allocate_block_request.unwrap().exclude_list.unwrap().container_ids)
        .collect();
    assert!(!excluded.is_empty(), "the closed container is not asked for again");
}

#[tokio::test]
async fn another_leader_is_followed_within_the_block() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        let leader = cluster.pipelines[0][2].details.id;
        for node in &cluster.pipelines[0] {
            *node.faults.leader.lock() = Some(leader);
        }
        let info = cluster.put("k", data(size)).await.unwrap();
        assert_eq!(info.key_location_list[0].key_locations.len(), 1);
        assert!(cluster.state().asked(Type::AllocateBlock).is_empty());
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn a_lost_datanode_costs_a_new_block_on_another_pipeline() {
    for size in [SMALL, 3 * CHUNK] {
        let mut cluster = Cluster::start(2).await;
        let gone = cluster.pipelines[0].remove(0);
        let id = gone.details.id.to_string();
        gone.stop().await;
        cluster.put("k", data(size)).await.unwrap();
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
        let asked = cluster.state().asked(Type::AllocateBlock);
        let exclude =
            asked[0].allocate_block_request.as_ref().unwrap().exclude_list.clone().unwrap();
        assert_eq!(exclude.datanodes, [id]);
        // The next key does not use it.
        cluster.put("next", data(size)).await.unwrap();
        let asked = cluster.state().asked(Type::AllocateBlock).len();
        assert_eq!(asked, 2, "its preallocated block was passed over");
    }
}

#[tokio::test]
async fn a_leader_that_hangs_is_left_for_another_pipeline_long_before_the_time_for_a_request_is_over()
 {
    // A leader that has not responded for a sixth of it is given up. A machine that is too slow for
    // the shorter limit has time enough with the longer one.
    for limit in [12, 120].map(Duration::from_secs) {
        let cluster = Cluster::start_with(2, |options| options.write_timeout = limit).await;
        let hangs = &cluster.pipelines[0][0].faults;
        *hangs.gate.lock() = Some(Arc::new(Semaphore::new(0)));
        let put = cluster.put("k", data(100_000));
        if let Ok(Ok(_)) = tokio::time::timeout(limit, put).await {
            assert_eq!(cluster.get("k").await.unwrap(), data(100_000));
            return;
        }
    }
    panic!("it is not left before the time for a request is over");
}

/// A write may take forever, but every node must give signs of life.
fn patient(options: &mut ClientOptions) {
    options.write_timeout = Duration::from_secs(1_000_000);
    // A third of it is longer than a busy machine keeps a sign of life.
    options.silence = Duration::from_secs(6);
}

#[tokio::test]
async fn a_datanode_without_a_sign_of_life_is_left_however_long_a_write_may_take() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start_with(2, patient).await;
        cluster.pipelines[0][0].faults.hangs.store(true, Ordering::Relaxed);
        cluster.put("k", data(size)).await.unwrap();
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
        let seen = cluster.pipelines[1][0].seen.commands.lock().len();
        assert!(seen > 0, "the other pipeline was written to");
        cluster.put("next", data(size)).await.unwrap();
    }
}

#[tokio::test]
async fn without_another_pipeline_a_leader_without_a_sign_of_life_gives_way_to_the_next() {
    let cluster = Cluster::start_with(1, patient).await;
    let [hangs, next, other] = &cluster.pipelines[0][..] else { unreachable!() };
    hangs.faults.hangs.store(true, Ordering::Relaxed);
    for node in [next, other] {
        *node.faults.leader.lock() = Some(next.details.id);
    }
    cluster.put("k", data(3 * CHUNK)).await.unwrap();
    assert_eq!(cluster.get("k").await.unwrap(), data(3 * CHUNK));
}

#[tokio::test]
async fn a_slow_datanode_that_shows_signs_of_life_is_waited_for() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start_with(2, patient).await;
        let slow = &cluster.pipelines[0][0];
        let gate = Arc::new(Semaphore::new(0));
        *slow.faults.gate.lock() = Some(gate.clone());
        let relent = async {
            // Longer than the allowed silence.
            until("signs of life", async || slow.seen.pulses.load(Ordering::Relaxed) >= 4).await;
            gate.add_permits(1_000_000);
        };
        let put = async { cluster.put("k", data(size)).await.unwrap() };
        let (info, ()) = tokio::join!(put, relent);
        assert_eq!(info.key_location_list[0].key_locations.len(), 1);
        assert!(cluster.state().asked(Type::AllocateBlock).is_empty(), "nothing was left");
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn without_another_pipeline_the_members_that_are_left_are_asked() {
    for size in [SMALL, 3 * CHUNK] {
        let mut cluster = Cluster::start(1).await;
        let gone = cluster.pipelines[0].remove(0);
        let next = cluster.pipelines[0][1].details.id;
        // A remaining member still names the lost leader, until another is elected.
        for node in &cluster.pipelines[0] {
            *node.faults.leader.lock() = Some(gone.details.id);
        }
        gone.stop().await;
        let put = cluster.put("k", data(size));
        let elect = async {
            let asked = |node: &Node| node.seen.commands.lock().len();
            until("the members to be asked", async || {
                cluster.pipelines[0].iter().map(asked).sum::<usize>() >= 3
            })
            .await;
            for node in &cluster.pipelines[0] {
                *node.faults.leader.lock() = Some(next);
            }
        };
        tokio::join!(async { put.await.unwrap() }, elect);
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn a_leader_that_was_lost_and_is_back_is_found_long_before_its_exclusion_ends() {
    let mut cluster = Cluster::start(1).await;
    let gone = cluster.pipelines[0].remove(0);
    let leader = gone.details.id;
    let start_again = gone.stop_for_now().await;
    cluster.put("while it is away", data(SMALL)).await.unwrap();
    let back = start_again.await;
    for node in &cluster.pipelines[0] {
        *node.faults.leader.lock() = Some(leader);
    }
    let asked = |cluster: &Cluster| {
        cluster.pipelines[0].iter().map(|node| node.seen.commands.lock().len()).sum::<usize>()
    };
    let before = asked(&cluster);
    cluster.put("k", data(SMALL)).await.unwrap();
    assert_eq!(back.seen.count(proto::datanode::Type::PutSmallFile), 1);
    assert_eq!(
        asked(&cluster) - before,
        1,
        "the client that took it for the leader sends it a ping"
    );
}

#[tokio::test]
async fn a_cluster_that_takes_nothing_ends_the_write_with_the_last_reason() {
    let cluster = Cluster::start(2).await;
    for node in cluster.pipelines.iter().flatten() {
        node.faults.no_pipeline.store(true, Ordering::Relaxed);
    }
    let error = cluster.put("k", data(CHUNK)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(cluster.state().asked(Type::CommitKey).is_empty());
}

#[tokio::test]
async fn a_writer_holds_no_more_than_it_may() {
    let cluster = Cluster::start(1).await;
    let gate = Arc::new(Semaphore::new(0));
    let leader = &cluster.pipelines[0][0];
    *leader.faults.gate.lock() = Some(gate.clone());
    let mut writer = cluster.client.create_key(CreateKey::new(path("k"))).await.unwrap();
    let whole = data(40 * CHUNK);
    let limit = cluster.client.options().max_unacknowledged;
    let seen = leader.seen.clone();
    let write = async {
        writer.write(whole.clone()).await.unwrap();
        writer.finish(FinishOptions::default()).await.unwrap();
    };
    let watch = async {
        // There are no responses: the writer sends as much as it may hold, and no more.
        until("bytes to go out", async || seen.bytes_in.load(Ordering::Relaxed) >= limit - CHUNK)
            .await;
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        assert!(seen.bytes_in.load(Ordering::Relaxed) <= limit);
        gate.add_permits(1_000_000);
    };
    tokio::join!(write, watch);
    assert_eq!(cluster.get("k").await.unwrap(), whole);
}

#[tokio::test]
async fn a_dropped_writer_leaves_no_key() {
    let cluster = Cluster::start(1).await;
    let mut writer = cluster.client.create_key(CreateKey::new(path("k"))).await.unwrap();
    writer.write(data(3 * CHUNK)).await.unwrap();
    drop(writer);
    assert!(cluster.state().asked(Type::CommitKey).is_empty());
    assert_eq!(cluster.get("k").await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_share_a_memory_budget_stay_within_it_and_all_get_on() {
    // Memory for three chunks of the upload class, of which one user has two, and 16 writers of
    // eight each.
    let budget = limits::MemoryBudget::new(3 * CHUNK as u64 * 100 / 35 + 100);
    let shared = budget.clone();
    let cluster = Cluster::start_with(2, |options| options.memory = Some(shared)).await;
    let cluster = Arc::new(cluster);
    let most = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let writers = (0..16).map(|number| {
        let (cluster, budget, most) = (cluster.clone(), budget.clone(), most.clone());
        tokio::spawn(async move {
            let whole = data(8 * CHUNK + number);
            let key = CreateKey::new(path(&format!("k{number}")));
            // Some announce their size, some do not.
            let key = if number % 2 == 0 { key.size_hint(whole.len() as u64) } else { key };
            let mut writer = cluster.client.create_key(key).await.unwrap();
            let mut left = whole.clone();
            while !left.is_empty() {
                writer.ready().await.unwrap();
                most.fetch_max(budget.used(limits::MemoryClass::Upload), Ordering::Relaxed);
                writer.write(left.split_to(5000.min(left.len()))).await.unwrap();
            }
            writer.finish(FinishOptions::default()).await.unwrap();
            assert_eq!(cluster.get(&format!("k{number}")).await.unwrap(), whole);
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let most = most.load(Ordering::Relaxed);
    assert!(most > 0 && most <= budget.limit_of(limits::MemoryClass::Upload), "{most}");
    assert_eq!(budget.used(limits::MemoryClass::Upload), 0);
}

/// A writer that has written `part` of a key and waits for the rest.
async fn begun(cluster: &Cluster, key: &str, part: &Bytes) -> KeyWriter {
    let mut writer = cluster.client.create_key(CreateKey::new(path(key))).await.unwrap();
    for piece in part.chunks(5000) {
        tokio::time::timeout(BOUND, writer.ready()).await.expect("memory").unwrap();
        writer.write(Bytes::copy_from_slice(piece)).await.unwrap();
    }
    writer
}

#[tokio::test]
async fn a_writer_whose_data_does_not_come_gives_its_memory_to_one_that_waits() {
    // Memory for one chunk.
    let budget = limits::MemoryBudget::new(CHUNK as u64 * 100 * 4 / 35 / 3 + 100);
    let cluster = Cluster::start_with(1, |options| options.memory = Some(budget)).await;
    let (slow, fast) = (data(CHUNK + 100), data(3 * CHUNK));
    let (part, rest) = (slow.slice(..CHUNK - 10), slow.slice(CHUNK - 10..));
    let mut waits = begun(&cluster, "slow", &part).await;
    let given = async {
        waits.is_wanted().await;
        waits.give_way().await.unwrap();
        waits
    };
    let both = futures::future::join(given, cluster.put("fast", fast.clone()));
    let both = tokio::time::timeout(BOUND, both).await;
    let (mut waits, written) = both.expect("both get on");
    written.unwrap();
    waits.write(rest).await.unwrap();
    waits.finish(FinishOptions::default()).await.unwrap();
    for (key, whole) in [("slow", slow), ("fast", fast)] {
        assert!(cluster.get(key).await.unwrap() == whole, "{key}");
    }
}

#[tokio::test]
async fn writers_that_all_wait_for_more_memory_send_what_they_have() {
    // Memory for the beginning of 32 chunks, or for one.
    let budget = limits::MemoryBudget::new(CHUNK as u64 * 100 * 4 / 35 / 3 + 100);
    let cluster = Cluster::start_with(1, |options| options.memory = Some(budget)).await;
    let whole = data(2 * CHUNK + 5);
    let mut writers = Vec::new();
    for number in 0..32 {
        writers.push(begun(&cluster, &format!("k{number}"), &whole.slice(..1000)).await);
    }
    let written = writers.into_iter().map(|mut writer| {
        let rest = whole.slice(1000..);
        async move {
            writer.write(rest).await.unwrap();
            writer.finish(FinishOptions::default()).await.unwrap();
        }
    });
    let all = tokio::time::timeout(2 * BOUND, futures::future::join_all(written)).await;
    all.expect("they get on");
    for number in 0..32 {
        let key = format!("k{number}");
        assert!(cluster.get(&key).await.unwrap() == whole);
        let info = cluster.state().keys.lock()[&key].clone();
        for location in &info.key_location_list[0].key_locations {
            let local = location.block_id.container_block_id.local_id;
            let chunks = cluster.blocks.replica(local, 0).0.chunks;
            let first = chunks[0].len;
            assert!(chunks.iter().all(|chunk| chunk.len <= first), "{key}: larger than {first}");
        }
    }
}

#[tokio::test]
async fn readers_that_share_a_memory_budget_stay_within_it_and_all_get_on() {
    let budget = limits::MemoryBudget::new(3 * CHUNK as u64 * 100 / 20 + 100);
    let shared = budget.clone();
    let cluster = Cluster::start_with(1, |options| options.memory = Some(shared)).await;
    let whole = data(8 * CHUNK + 7);
    cluster.put("k", whole.clone()).await.unwrap();
    let reads = (0..8).map(|_| async {
        let (_, mut pieces) = cluster.client.begin_key(&path("k")).await.unwrap();
        let mut got = Vec::new();
        while let Some(piece) = futures::StreamExt::next(&mut pieces).await {
            assert!(budget.used(limits::MemoryClass::Download) <= 3 * CHUNK as u64);
            got.extend_from_slice(&piece.unwrap());
        }
        assert_eq!(got, whole);
    });
    futures::future::join_all(reads).await;
    assert_eq!(budget.used(limits::MemoryClass::Download), 0);
}
