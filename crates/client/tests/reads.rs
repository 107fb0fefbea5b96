//! Reads: ranges, bad and late replicas, moved blocks.

use std::sync::atomic::Ordering;

use client::{CreateKey, ErrorKind};
use futures::TryStreamExt;
use proto::datanode::Type as Command;
use proto::hdds::KeyValue;
use proto::ozone::Status;
use testkit::until;
use tokio::sync::Semaphore;

use crate::datanode::{Blocks, Node};
use crate::om::State;
use crate::support::{BLOCK, CHUNK, Cluster, SMALL, data, path, pipeline, replace};

#[tokio::test]
async fn any_range_is_that_part_of_the_key() {
    let cluster = Cluster::start(1).await;
    let whole = data(2 * BLOCK as usize + CHUNK + 123);
    cluster.put("k", whole.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let end = whole.len() as u64;
    let edges = [
        0,
        1,
        8191,
        8192,
        8193,
        CHUNK as u64,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        2 * BLOCK,
        end - 1,
        end,
    ];
    for from in edges {
        for to in edges.into_iter().filter(|to| *to >= from).chain([end + 1000]) {
            let got = reader.read(from..to).await.unwrap();
            let to = to.min(end).max(from.min(end)) as usize;
            assert_eq!(got, whole.slice(from.min(end) as usize..to), "{from}..{to}");
        }
    }
}

#[tokio::test]
async fn a_part_of_a_small_key_is_read_too() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    assert_eq!(reader.read(100..200).await.unwrap(), data(SMALL).slice(100..200));
    assert_eq!(cluster.pipelines[0][0].seen.count(Command::GetSmallFile), 1);
}

#[tokio::test]
async fn a_stream_gives_pieces_in_order() {
    let cluster = Cluster::start(1).await;
    let whole = data(3 * BLOCK as usize);
    cluster.put("k", whole.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let pieces: Vec<_> = reader.stream(0..reader.len()).try_collect().await.unwrap();
    assert!(pieces.len() > 3);
    assert_eq!(pieces.concat(), whole);
}

#[tokio::test]
async fn a_corrupt_replica_is_passed_over() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        cluster.pipelines[0][0].faults.corrupt.store(true, Ordering::Relaxed);
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn a_datanode_is_told_that_its_replica_is_corrupt() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        cluster.pipelines[0][0].faults.corrupt.store(true, Ordering::Relaxed);
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
        let told = |node: &Node| node.seen.damage.load(Ordering::Relaxed);
        until("a report of damage", async || told(&cluster.pipelines[0][0]) > 0).await;
        assert_eq!(cluster.pipelines[0].iter().skip(1).map(told).sum::<usize>(), 0);
    }
}

#[tokio::test]
async fn corruption_everywhere_is_told_and_nothing_is_handed_out() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        for node in &cluster.pipelines[0] {
            node.faults.corrupt.store(true, Ordering::Relaxed);
        }
        let error = cluster.get("k").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[tokio::test]
async fn a_replica_that_does_not_answer_is_overtaken() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        cluster.pipelines[0][0].faults.silent.store(true, Ordering::Relaxed);
        assert_eq!(cluster.get("k").await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn replicas_that_have_yet_to_catch_up_are_waited_for() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    for node in &cluster.pipelines[0] {
        node.faults.behind.store(6, Ordering::Relaxed);
    }
    assert_eq!(cluster.get("k").await.unwrap(), data(SMALL));
}

/// A node that was down when the container was created reports that there is none, regardless of
/// the failures of the other two until they have caught up.
#[tokio::test]
async fn a_replica_that_never_heard_of_the_container_does_not_end_the_wait_for_the_others() {
    for ignorant in 0..3 {
        let cluster = Cluster::start(1).await;
        cluster.put("k", data(SMALL)).await.unwrap();
        for (i, node) in cluster.pipelines[0].iter().enumerate() {
            node.faults.ignorant.store(i == ignorant, Ordering::Relaxed);
            node.faults.behind.store(6, Ordering::Relaxed);
        }
        assert_eq!(cluster.get("k").await.unwrap(), data(SMALL));
    }
}

/// OM still has the key, so its block exists: its new location may not have been reported to SCM.
#[tokio::test]
async fn a_block_that_no_replica_has_is_looked_for_more_than_a_moment() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    let ignorant = |is| {
        for node in &cluster.pipelines[0] {
            node.faults.ignorant.store(is, Ordering::Relaxed);
        }
    };
    ignorant(true);
    // Each of the three was tried in several rounds.
    let asked = || {
        let commands = cluster.pipelines[0].iter().map(|node| node.seen.commands.lock().len());
        commands.sum::<usize>()
    };
    let before = asked();
    let heard = async {
        until("several rounds", async || asked() >= before + 12).await;
        ignorant(false);
    };
    assert_eq!(tokio::join!(cluster.get("k"), heard).0.unwrap(), data(SMALL));
}

#[tokio::test]
async fn a_block_that_moved_is_found_again() {
    for size in [SMALL, 3 * CHUNK] {
        let mut cluster = Cluster::start(1).await;
        cluster.put("k", data(size)).await.unwrap();
        let reader = cluster.client.open_key(&path("k")).await.unwrap();
        let moved = [Node::start(cluster.blocks.clone()).await];
        *cluster.state().moved.lock() = Some(pipeline(&moved));
        for node in cluster.pipelines.remove(0) {
            node.stop().await;
        }
        assert_eq!(reader.read_all().await.unwrap(), data(size));
    }
}

#[tokio::test]
async fn a_key_that_is_overwritten_before_its_first_byte_is_there_is_read_anew() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        for begin in [false, true] {
            cluster.put("k", data(size)).await.unwrap();
            cluster.put("new", data(2 * size)).await.unwrap();
            cluster.replace_after_look_up("k", "new");
            let read = if begin {
                let (reader, pieces) = cluster.client.begin_key(&path("k")).await.unwrap();
                assert_eq!(reader.len(), 2 * size as u64);
                pieces.try_collect::<Vec<_>>().await.unwrap().concat().into()
            } else {
                cluster.client.read_key(&path("k")).await.unwrap()
            };
            assert_eq!(read, data(2 * size), "{size} bytes, begin: {begin}");
        }
    }
}

#[tokio::test]
async fn bytes_of_two_versions_are_never_mixed() {
    let cluster = Cluster::start(1).await;
    let old = data(3 * BLOCK as usize);
    let info = cluster.put("k", old.clone()).await.unwrap();
    cluster.put("new", data(4 * BLOCK as usize)).await.unwrap();
    let gate = cluster.hold_reads(&info, 1);
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let mut pieces = reader.begin(0..reader.len()).await.unwrap();
    replace(cluster.state(), &cluster.blocks, "k", "new");
    gate.add_permits(Semaphore::MAX_PERMITS);
    let mut got = Vec::new();
    let error = loop {
        match pieces.try_next().await {
            Ok(piece) => got.extend_from_slice(&piece.expect("the old version is deleted")),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Overwritten, "{error}");
    assert_eq!(got, old.slice(..BLOCK as usize));
}

#[tokio::test]
async fn an_overwritten_key_is_read_on_while_its_blocks_are_there() {
    let cluster = Cluster::start(1).await;
    let old = data(3 * BLOCK as usize);
    cluster.put("k", old.clone()).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    cluster.put("k", data(SMALL)).await.unwrap();
    assert_eq!(reader.read_all().await.unwrap(), old);
}

#[tokio::test]
async fn a_key_that_is_deleted_while_it_is_read_is_not_found() {
    let cluster = Cluster::start(1).await;
    cluster.put("k", data(SMALL)).await.unwrap();
    let reader = cluster.client.open_key(&path("k")).await.unwrap();
    let delete = |state: &State, blocks: &Blocks| {
        blocks.delete(&state.keys.lock().remove("k").unwrap());
    };
    delete(cluster.state(), &cluster.blocks);
    let error = reader.read_all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overwritten, "{error}");

    cluster.put("k", data(SMALL)).await.unwrap();
    let blocks = cluster.blocks.clone();
    let happens = move |state: &State| delete(state, &blocks);
    *cluster.state().after_look_up.lock() = Some(Box::new(happens));
    let error = cluster.client.read_key(&path("k")).await.unwrap_err();
    assert!(error.is_status(Status::KeyNotFound), "{error}");
}

#[tokio::test]
async fn blocks_that_are_lost_are_not_taken_for_overwritten() {
    for size in [SMALL, 3 * CHUNK] {
        let cluster = Cluster::start(1).await;
        let info = cluster.put("k", data(size)).await.unwrap();
        cluster.blocks.delete(&info);
        let error = cluster.client.read_key(&path("k")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.om_status().is_none(), "{error}");
    }
}

/// Ozone's clients do not report a sync to OM that extends the same block.
#[tokio::test]
async fn of_a_key_that_is_being_written_all_is_read_that_was_synced() {
    let cluster = Cluster::start(1).await;
    let (first, rest) = (data(1_000), data(2 * CHUNK + 17));
    let mut writer = cluster.client.create_key(CreateKey::new(path("k"))).await.unwrap();
    writer.write(first.clone()).await.unwrap();
    writer.hsync().await.unwrap();
    let mut told = cluster.state().keys.lock()["k"].clone();
    told.metadata.push(KeyValue { key: "hsyncClientId".into(), value: Some("7".into()) });
    writer.write(rest.clone()).await.unwrap();
    writer.hsync().await.unwrap();
    cluster.state().keys.lock().insert("k".to_owned(), told.clone());

    let whole = [first.clone(), rest].concat();
    for silent in 0..3 {
        let faults = &cluster.pipelines[0][silent].faults;
        faults.silent.store(true, Ordering::Relaxed);
        let reader = cluster.client.open_key(&path("k")).await.unwrap();
        assert_eq!((reader.len(), reader.info().data_size), (whole.len() as u64, reader.len()));
        assert_eq!(reader.read_all().await.unwrap(), whole);
        faults.silent.store(false, Ordering::Relaxed);
    }
    let path = path("k");
    assert_eq!(cluster.client.key_info(&path).await.unwrap().data_size, 1_000);
    let readable = cluster.client.readable_key_info(&path).await.unwrap();
    assert_eq!(readable.data_size, whole.len() as u64);

    // Replicas that have not caught up are retried; without any there is nothing to read.
    for node in &cluster.pipelines[0] {
        node.faults.behind.store(6, Ordering::Relaxed);
    }
    assert_eq!(cluster.client.read_key(&path).await.unwrap(), whole);
    // OM's length is right for a closed key.
    told.metadata.clear();
    cluster.state().keys.lock().insert("k".to_owned(), told);
    assert_eq!(cluster.client.read_key(&path).await.unwrap(), first);
}
