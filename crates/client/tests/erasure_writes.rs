//! Erasure-coded keys: placement of written data, and handling of failures.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{CreateKey, ErrorKind, FinishOptions};
use erasure::{BlockGroup, Codec, Scheme};
use proto::datanode::{BlockData, Type as Command};
use proto::ozone::{KeyInfo, KeyLocation, Type};
use testkit::until;
use types::replication::{EcCodec, EcConfig};
use types::{Pipeline, PipelineId};

use crate::datanode::Node;
use crate::support::{Cluster, data, path};

pub const CELL: usize = 32 << 10;
pub const RS_3_2: EcConfig =
    EcConfig { data: 3, parity: 2, codec: EcCodec::Rs, chunk_size: CELL as u32 };
pub const STRIPE: usize = 3 * CELL;
pub const GROUP: usize = 4 * STRIPE;

pub fn locations(info: &KeyInfo) -> &[KeyLocation] {
    &info.key_location_list[0].key_locations
}

pub fn local(location: &KeyLocation) -> i64 {
    location.block_id.container_block_id.local_id
}

fn lengths(info: &KeyInfo) -> Vec<u64> {
    locations(info).iter().map(|location| location.length).collect()
}

fn metadata<'b>(block: &'b BlockData, key: &str) -> Option<&'b str> {
    block.metadata.iter().find(|pair| pair.key == key).map(|pair| pair.value())
}

/// Checks every replica of every block group of a key.
fn check(cluster: &Cluster, config: EcConfig, info: &KeyInfo, whole: &[u8]) {
    let scheme = Scheme::new(config).unwrap();
    let (codec, cell) = (Codec::new(scheme), scheme.chunk_size() as usize);
    let mut rest = whole;
    for location in locations(info) {
        let (of_group, after) = rest.split_at(location.length as usize);
        rest = after;
        assert_eq!(location.block_id.block_commit_sequence_id(), 0);
        let mut expected = vec![Vec::new(); scheme.total()];
        let mut stripe_sums = Vec::new();
        for stripe in of_group.chunks(scheme.stripe_size() as usize) {
            let mut cells: Vec<&[u8]> = stripe.chunks(cell).collect();
            cells.resize(scheme.data(), &[]);
            let mut parity = vec![vec![0; cells[0].len()]; scheme.parity()];
            let mut out: Vec<&mut [u8]> = parity.iter_mut().map(Vec::as_mut_slice).collect();
            codec.encode(&cells, &mut out).unwrap();
            let all = cells.into_iter().chain(parity.iter().map(Vec::as_slice));
            let mut sums = Vec::new();
            for (replica, bytes) in expected.iter_mut().zip(all) {
                replica.extend_from_slice(bytes);
                let kind = proto::datanode::ChecksumType::Crc32;
                let of_cell = container::checksum::compute(kind, 8 << 10, bytes);
                sums.extend(of_cell.checksums.iter().flat_map(|sum| sum.to_vec()));
            }
            stripe_sums.push(sums);
        }
        let layout = BlockGroup::new(scheme, location.length);
        for (index, expected) in scheme.replicas().zip(expected) {
            let (record, bytes) = cluster.blocks.replica(local(location), index.get() as i32);
            assert_eq!(bytes, expected, "replica {index}");
            assert_eq!(metadata(&record, "TYPE"), Some("KEY"));
            let length = location.length.to_string();
            assert_eq!(metadata(&record, "blockGroupLen"), Some(length.as_str()));
            let chunks: Vec<_> = layout.chunks(index).collect();
            assert_eq!(record.chunks.len(), chunks.len(), "replica {index}");
            for ((chunk, expected), sums) in record.chunks.iter().zip(chunks).zip(&stripe_sums) {
                let name = format!("{}_chunk_{}", local(location), expected.number);
                assert_eq!(chunk.chunk_name, name);
                assert_eq!((chunk.offset, chunk.len), (expected.offset, expected.length));
                let has_sums = index.get() == 1 || !scheme.is_data(index);
                let expected = has_sums.then_some(sums.as_slice());
                assert_eq!(chunk.stripe_checksum.as_deref(), expected, "replica {index}");
            }
        }
    }
    assert!(rest.is_empty());
}

#[tokio::test]
async fn keys_of_any_size_are_laid_out_as_ozone_does_and_come_back() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |_| {}).await;
    let sizes = [
        0,
        1,
        CELL - 1,
        CELL,
        CELL + 1,
        2 * CELL + 5,
        STRIPE - 1,
        STRIPE,
        STRIPE + 1,
        3 * STRIPE + CELL,
        GROUP - 1,
        GROUP,
        GROUP + 1,
        2 * GROUP + STRIPE + 777,
    ];
    for size in sizes {
        let key = format!("key-{size}");
        let info = cluster.put(&key, data(size)).await.unwrap();
        assert_eq!(info.data_size, size as u64);
        assert_eq!(locations(&info).len(), size.div_ceil(GROUP), "{size} bytes");
        check(&cluster, RS_3_2, &info, &data(size));
        assert_eq!(cluster.get(&key).await.unwrap(), data(size), "{size} bytes");
    }
}

#[tokio::test]
async fn pieces_of_any_size_without_a_known_length_make_the_same_key() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |_| {}).await;
    for whole in [data(GROUP + 2 * STRIPE), data(GROUP + STRIPE + 99)] {
        for piece in [1000, 5000, CELL, CELL + 1, whole.len()] {
            let mut writer = cluster.client.create_key(CreateKey::new(path("k"))).await.unwrap();
            let mut left = whole.clone();
            while !left.is_empty() {
                writer.ready().await.unwrap();
                writer.write(left.split_to(piece.min(left.len()))).await.unwrap();
            }
            assert_eq!(writer.written(), whole.len() as u64);
            let info = writer.finish(FinishOptions::default()).await.unwrap();
            check(&cluster, RS_3_2, &info, &whole);
            assert_eq!(cluster.get("k").await.unwrap(), whole, "pieces of {piece}");
        }
    }
}

/// As recorded from Apache Ozone's client.
#[tokio::test]
async fn fifty_thousand_and_nine_million_bytes_are_chunks_like_those_of_ozone() {
    let config = EcConfig { chunk_size: 1 << 20, ..RS_3_2 };
    let cluster = Cluster::erasure_coded(1, config, |_| {}).await;
    let chunks = |info: &KeyInfo, index| -> Vec<u64> {
        let (record, _) = cluster.blocks.replica(local(&locations(info)[0]), index);
        record.chunks.iter().map(|chunk| chunk.len).collect()
    };
    let info = cluster.put("small", data(50_000)).await.unwrap();
    check(&cluster, config, &info, &data(50_000));
    for (index, expected) in [(1, 1), (2, 0), (3, 0), (4, 1), (5, 1)] {
        assert_eq!(chunks(&info, index), vec![50_000; expected], "replica {index}");
    }
    let of = |command| -> Vec<usize> {
        cluster.pipelines[0].iter().map(|node| node.seen.count(command)).collect()
    };
    assert_eq!(of(Command::WriteChunk), [1, 0, 0, 1, 1]);
    assert_eq!(of(Command::PutBlock), [1; 5]);

    let info = cluster.put("large", data(9_000_000)).await.unwrap();
    check(&cluster, config, &info, &data(9_000_000));
    let mib = 1 << 20;
    for index in 1..=5 {
        let last = if index == 3 { 611_392 } else { mib };
        assert_eq!(chunks(&info, index), [mib, mib, last], "replica {index}");
    }
}

#[tokio::test]
async fn only_the_last_put_of_a_group_says_that_it_is_the_last() {
    for size in [1, STRIPE, STRIPE + 1, GROUP, GROUP + STRIPE] {
        // A PutBlock for every stripe, unless one is in flight; or one for all stripes of a group.
        for (waiting, most) in [(2, size.div_ceil(STRIPE)), (2 << 20, size.div_ceil(GROUP))] {
            let change =
                |options: &mut client::ClientOptions| options.max_unacknowledged_ec = waiting;
            let cluster = Cluster::erasure_coded(1, RS_3_2, change).await;
            cluster.put("k", data(size)).await.unwrap();
            for node in &cluster.pipelines[0] {
                assert_eq!(node.seen.ends.load(Ordering::Relaxed), size.div_ceil(GROUP), "{size}");
                let puts = node.seen.count(Command::PutBlock);
                assert!((size.div_ceil(GROUP)..=most).contains(&puts), "{puts}, {size}");
            }
        }
    }
}

/// A PutBlock is sent when half of the limit is pending, unless the final one lists it soon anyway.
#[tokio::test]
async fn what_is_left_of_a_key_waits_for_the_put_at_its_end() {
    for (most, puts) in [(GROUP + 1, 1..=1), (GROUP / 2, 2..=4)] {
        let change = |options: &mut client::ClientOptions| options.max_unacknowledged_ec = most;
        let cluster = Cluster::erasure_coded(1, RS_3_2, change).await;
        cluster.put("k", data(GROUP)).await.unwrap();
        for node in &cluster.pipelines[0] {
            let seen = node.seen.count(Command::PutBlock);
            assert!(puts.contains(&seen), "{seen} with at most {most}");
        }
        assert_eq!(cluster.get("k").await.unwrap(), data(GROUP));
    }
}

#[tokio::test]
async fn each_code_reads_back_what_it_wrote() {
    let configs =
        [(2, 1, EcCodec::Xor), (6, 3, EcCodec::Rs), (10, 4, EcCodec::Rs), (3, 2, EcCodec::Rs)];
    for (d, p, codec) in configs {
        let config = EcConfig { data: d, parity: p, codec, chunk_size: 16 << 10 };
        let cluster = Cluster::erasure_coded(1, config, |_| {}).await;
        let whole = data(5 * d as usize * (16 << 10) + 20_000);
        let info = cluster.put("k", whole.clone()).await.unwrap();
        check(&cluster, config, &info, &whole);
        assert_eq!(cluster.get("k").await.unwrap(), whole, "{config}");
    }
}

/// A node fails from a write of a stripe on: that stripe is written again elsewhere, with later and
/// unacknowledged ones.
#[tokio::test]
async fn a_node_that_fails_in_the_middle_ends_the_group_at_its_last_acknowledged_stripe() {
    use Command::{PutBlock, WriteChunk};
    let all_of = |kind| [0, 1, 3].map(move |stripe| (kind, stripe));
    for (kind, before) in all_of(WriteChunk).into_iter().chain(all_of(PutBlock)) {
        // The last stripe of the key, and one that only fills its group.
        for (position, size) in [(0, GROUP - 5), (2, GROUP - 5), (4, GROUP + STRIPE + 5)] {
            let change = |options: &mut client::ClientOptions| options.max_unacknowledged_ec = 1;
            let cluster = Cluster::erasure_coded(2, RS_3_2, change).await;
            let fails = &cluster.pipelines[0][position];
            *fails.faults.fails_from.lock() = Some((kind, before));
            let whole = data(size);
            let info = cluster.put("k", whole.clone()).await.unwrap();
            *fails.faults.fails_from.lock() = None;
            assert_eq!(cluster.get("k").await.unwrap(), whole);
            let asked = cluster.state().asked(Type::AllocateBlock);
            let excludes = |request: &proto::ozone::OmRequest| {
                let block = request.allocate_block_request.as_ref().unwrap();
                block.exclude_list.as_ref().unwrap().pipeline_ids.clone()
            };
            let pipeline = cluster.state().pipelines.lock()[0].id.to_wire();
            let groups: Vec<usize> =
                lengths(&info).into_iter().map(|length| length as usize).collect();
            let what = format!("{kind:?} {before}, replica {position}: {groups:?}");
            // A PutBlock may list more than one stripe, so that there may be too few to fail.
            let has_failed = asked.iter().any(|request| excludes(request) == [pipeline.clone()]);
            assert!(has_failed || (kind == PutBlock && before > 1), "{what}");
            let last_full = groups.iter().rev().skip(1).all(|length| length.is_multiple_of(STRIPE));
            assert!(last_full && groups.iter().all(|length| *length <= GROUP), "{what}");
            assert!(groups.len() <= size.div_ceil(GROUP) + 1, "{what}");
            // The data acknowledged before the failure is not more than the data written.
            let is_new = groups[0] == size.min(GROUP);
            assert!(kind == PutBlock || is_new || groups[0] <= before * STRIPE, "{what}");
        }
    }
}

/// The cells of the next stripe are written before the PutBlock of a stripe is acknowledged.
#[tokio::test]
async fn cells_are_written_while_the_put_of_the_stripe_before_is_on_its_way() {
    let change = |options: &mut client::ClientOptions| options.max_unacknowledged_ec = 1;
    let cluster = Cluster::erasure_coded(1, RS_3_2, change).await;
    let node = &cluster.pipelines[0][0];
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    *node.faults.put_gate.lock() = Some(gate.clone());
    const STRIPES: usize = GROUP / STRIPE;
    let put = cluster.put("k", data(STRIPES * STRIPE));
    let watched = async {
        for stripe in 1..=STRIPES {
            let next = (stripe + 1).min(STRIPES);
            // Other nodes respond at once, so that only cells are waited for.
            until("the cells of the next stripe", async || {
                let nodes = &cluster.pipelines[0];
                nodes.iter().all(|node| node.seen.count(Command::WriteChunk) >= next)
            })
            .await;
            gate.add_permits(1);
        }
    };
    let (info, ()) = tokio::join!(put, watched);
    let (_, most) = &node.seen.puts_held;
    assert_eq!(most.load(Ordering::Relaxed), 1, "a PutBlock waits for the one before");
    check(&cluster, RS_3_2, &info.unwrap(), &data(STRIPES * STRIPE));
}

#[tokio::test]
async fn all_nodes_that_are_gone_are_excluded_at_once() {
    let mut cluster = Cluster::erasure_coded(2, RS_3_2, |_| {}).await;
    let mut gone = Vec::new();
    for position in [4, 1] {
        let node = cluster.pipelines[0].remove(position);
        gone.push(node.details.id.to_string());
        node.stop().await;
    }
    cluster.put("k", data(STRIPE)).await.unwrap();
    let asked = cluster.state().asked(Type::AllocateBlock);
    assert_eq!(asked.len(), 1);
    let exclude = asked[0].allocate_block_request.as_ref().unwrap().exclude_list.clone();
    let mut excluded = exclude.unwrap().datanodes;
    excluded.sort();
    gone.sort();
    assert_eq!(excluded, gone);
    assert_eq!(cluster.get("k").await.unwrap(), data(STRIPE));
}

#[tokio::test]
async fn a_node_that_is_starting_is_left_and_waited_for_when_there_is_no_other() {
    // As by default.
    let cluster = Cluster::erasure_coded(1, RS_3_2, |options| options.stripe_retries = 10).await;
    let starts = &cluster.pipelines[0][1];
    starts.faults.starts.store(true, Ordering::Relaxed);
    let put = cluster.put("k", data(STRIPE));
    let started = async {
        // It is given up, and allocated again because there is no other.
        until("another group", async || !cluster.state().asked(Type::AllocateBlock).is_empty())
            .await;
        starts.faults.starts.store(false, Ordering::Relaxed);
    };
    let (put, ()) = tokio::join!(put, started);
    put.unwrap();
    let asked = cluster.state().asked(Type::AllocateBlock);
    let exclude = asked[0].allocate_block_request.as_ref().unwrap().exclude_list.clone();
    assert_eq!(exclude.unwrap().datanodes, [starts.details.id.to_string()]);
    assert_eq!(cluster.get("k").await.unwrap(), data(STRIPE));
}

#[tokio::test]
async fn a_node_that_hangs_is_left_long_before_the_time_for_a_request_is_over() {
    let cluster = Cluster::erasure_coded(2, RS_3_2, |options| {
        options.write_timeout = Duration::from_secs(1_000_000);
        options.silence = Duration::from_secs(6);
    })
    .await;
    let hangs = &cluster.pipelines[0][3];
    hangs.faults.hangs.store(true, Ordering::Relaxed);
    cluster.put("k", data(STRIPE)).await.unwrap();
    let asked = cluster.state().asked(Type::AllocateBlock);
    let exclude = asked[0].allocate_block_request.as_ref().unwrap().exclude_list.clone();
    assert_eq!(exclude.unwrap().datanodes, [hangs.details.id.to_string()]);
    assert_eq!(cluster.get("k").await.unwrap(), data(STRIPE));
}

#[tokio::test]
async fn nodes_that_failed_before_are_used_again_when_there_are_too_few_others() {
    let cluster = Cluster::erasure_coded(1, RS_3_2, |options| {
        options.silence = Duration::from_secs(6);
    })
    .await;
    // Another group has three nodes of the first and two more.
    let (all, state) = (&cluster.pipelines[0], cluster.state());
    let more =
        [Node::start(cluster.blocks.clone()).await, Node::start(cluster.blocks.clone()).await];
    let first = state.pipelines.lock()[0].clone();
    let members = all[..3].iter().chain(&more).map(|node| node.details.clone());
    let second = Pipeline { id: PipelineId::random(), members: members.collect(), ..first.clone() };
    state.pipelines.lock().push(second);
    let hang = |nodes: &[Node], is| {
        nodes.iter().for_each(|node| node.faults.hangs.store(is, Ordering::Relaxed));
    };
    hang(&all[3..], true);
    cluster.put("k", data(STRIPE)).await.unwrap();
    // They recover when the other two fail, and OM returns the first group.
    hang(&all[3..], false);
    hang(&more, true);
    state.pipelines.lock().reverse();
    cluster.put("k", data(STRIPE)).await.unwrap();
    assert_eq!(cluster.get("k").await.unwrap(), data(STRIPE));
}

#[tokio::test]
async fn a_stripe_that_fails_everywhere_is_given_up_with_the_reason() {
    let cluster = Cluster::erasure_coded(2, RS_3_2, |options| options.stripe_retries = 3).await;
    for group in &cluster.pipelines {
        *group[1].faults.writes_left.lock() = Some(0);
    }
    let error = cluster.put("k", data(STRIPE)).await.unwrap_err();
    let client::Error::WriteFailed { attempts, last, .. } = &error else { panic!("{error}") };
    assert_eq!(*attempts, 4);
    assert!(matches!(**last, client::Error::Container { .. }), "{last}");
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(cluster.state().asked(Type::CommitKey).is_empty());
}

#[tokio::test]
async fn writers_that_share_a_memory_budget_stay_within_it_and_all_get_on() {
    let stripe = (STRIPE + 2 * CELL) as u64;
    // Room for two stripes and their parity in the share of uploads that one user may have.
    let budget = limits::MemoryBudget::new(3 * stripe * 100 / 35 + 100);
    let shared = budget.clone();
    let cluster = Cluster::erasure_coded(1, RS_3_2, |options| options.memory = Some(shared)).await;
    let puts = (0..6).map(|number| {
        let (client, whole) = (cluster.client.clone(), data(3 * STRIPE + 10 * number));
        async move {
            let key = CreateKey::new(path(&format!("k{number}")));
            let mut writer = client.create_key(key).await.unwrap();
            let mut left = whole.clone();
            while !left.is_empty() {
                writer.ready().await.unwrap();
                writer.write(left.split_to(5000.min(left.len()))).await.unwrap();
            }
            writer.finish(FinishOptions::default()).await.unwrap();
        }
    });
    futures::future::join_all(puts).await;
    assert_eq!(budget.used(limits::MemoryClass::Upload), 0);
    for number in 0..6 {
        let got = cluster.get(&format!("k{number}")).await.unwrap();
        assert_eq!(got, data(3 * STRIPE + 10 * number));
    }
    assert_eq!(budget.used(limits::MemoryClass::Download), 0);
}

#[tokio::test]
async fn a_writer_with_part_of_a_stripe_gives_way_and_ends_its_group() {
    let stripe = (STRIPE + 2 * CELL) as u64;
    // Room for one stripe and its parity.
    let budget = limits::MemoryBudget::new(stripe * 100 * 4 / 35 / 3 + 100);
    let shared = budget.clone();
    let cluster = Cluster::erasure_coded(1, RS_3_2, |options| options.memory = Some(shared)).await;
    let (slow, fast) = (data(2 * STRIPE + 77), data(3 * STRIPE));
    let part = STRIPE - 10;
    let mut waits = cluster.client.create_key(CreateKey::new(path("slow"))).await.unwrap();
    waits.write(slow.slice(..part)).await.unwrap();
    let put = cluster.put("fast", fast.clone());
    let given = async {
        // The received part of a stripe is kept for some time.
        while budget.used(limits::MemoryClass::Upload) > 0 {
            tokio::select! {
                biased;
                () = waits.is_wanted() => waits.give_way().await.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(100)) => {}
            }
        }
        waits
    };
    let both = futures::future::join(put, given);
    let both = tokio::time::timeout(testkit::LIMIT, both).await;
    let (written, mut waits) = both.expect("both get on");
    written.unwrap();
    waits.write(slow.slice(part..)).await.unwrap();
    let info = waits.finish(FinishOptions::default()).await.unwrap();
    assert_eq!(lengths(&info)[0], part as u64, "the first group ends with the part");
    check(&cluster, RS_3_2, &info, &slow);
    for (key, whole) in [("slow", slow), ("fast", fast)] {
        assert!(cluster.get(key).await.unwrap() == whole, "{key}");
    }
}
