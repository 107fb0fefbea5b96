//! Ways in which erasure-coded data has been lost elsewhere: none of them loses any here.

use std::os::unix::fs::FileExt;
use std::path::Path;

use config::Configuration;
use proto::background_service::{
    BackgroundServiceAction, BackgroundServicesRequest, BackgroundServicesResponse,
};
use proto::datanode::Result as ResultCode;
use proto::datanode::container_data_proto::State as ContainerState;
use proto::scm_datanode::CommandStatus;
use proto::scm_datanode::command_status::Status;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::{DatanodeId, PipelineId};

use crate::reconstruct::find;
use crate::support::groups::{Replica, Writing};
use crate::support::{Cluster, Groups, bytes};

const SCHEME: &str = "rs-3-2-16k";

/// Data bytes of a stripe.
const STRIPE: usize = 3 << 14;

fn succeeded(status: &CommandStatus) {
    assert_eq!(status.status(), Status::Executed, "{}", status.msg());
}

async fn replicas(
    cluster: &Cluster,
    groups: &Groups,
    (index, node): (u32, DatanodeId),
    locals: &[u64],
) -> Vec<Replica> {
    let mut all = Vec::new();
    for local in locals {
        all.push(groups.read(cluster, node, index, *local).await.unwrap());
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_recovering_replica_is_never_taken_for_a_closed_one() {
    let mut cluster = Cluster::start(7).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    let locals = [1, 2, 3];
    for local in locals {
        groups.write(local, &bytes(local, 200_000), Writing::default()).await;
    }
    groups.close(&cluster).await;
    let [.., half, other] = cluster.ids()[..] else { unreachable!() };
    let before = replicas(&cluster, &groups, (1, groups.nodes[0]), &locals).await;
    groups.lose(&cluster, &[1]).await;

    // Its writer has stopped before the end.
    groups.begin_recovering(&cluster, half, 1).await;
    assert_eq!(groups.state(&cluster, half).await, Some(ContainerState::Recovering));
    // Orders to close it, and the order that would fill it, change nothing.
    let left = groups.members(&[2, 3, 4, 5]);
    for force in [false, true] {
        cluster.scm.scm.send_close_container(half, 5, PipelineId::random(), force);
    }
    // They were carried out: it says that it has none.
    cluster.scm.scm.wait_for_replica(half, 5, State::Deleted).await;
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, half)]).await;
    assert_eq!(status.status(), Status::Failed, "it is no replica: {}", status.msg());
    assert!(status.msg().contains("RECOVERING"), "{}", status.msg());
    assert_eq!(groups.state(&cluster, half).await, Some(ContainerState::Recovering));
    // It is no source either.
    let with_it = [vec![(1, half)], groups.members(&[2, 3])].concat();
    let status = cluster.scm.scm.reconstruct(5, groups.config, &with_it, &[(5, other)]).await;
    assert!(status.msg().contains("not CLOSED"), "{}", status.msg());
    let heard = |known: &mut crate::support::scm::Known| {
        known.replicas.get(&(half, 5)).map(|replica| replica.state())
    };
    assert_eq!(cluster.scm.scm.with(heard), Some(State::Deleted), "it was reported");

    // The next start removes it, and then the node gets the whole index.
    cluster.node(half).stop().await;
    cluster.node(half).restart().await;
    assert_eq!(groups.state(&cluster, half).await, None);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, half)]).await);
    cluster.scm.scm.wait_for_replica(half, 5, State::Closed).await;
    assert_eq!(replicas(&cluster, &groups, (1, half), &locals).await, before);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovering_replica_that_nobody_finishes_is_removed_in_time() {
    let soon = |conf: Configuration| {
        conf.with("hdds.datanode.recovering.container.scrubbing.service.interval", "100ms")
            .with("ozone.recovering.container.timeout", "1s")
    };
    let cluster = Cluster::start_with(6, soon).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 200_000), Writing::default()).await;
    groups.close(&cluster).await;
    let spare = cluster.ids()[5];
    let before = replicas(&cluster, &groups, (1, groups.nodes[0]), &[1]).await;
    groups.lose(&cluster, &[1]).await;
    // A machine that stands still for a second must not have it removed before it was seen.
    removal(&cluster, spare, BackgroundServiceAction::Pause).await;
    groups.begin_recovering(&cluster, spare, 1).await;
    assert_eq!(groups.state(&cluster, spare).await, Some(ContainerState::Recovering));
    removal(&cluster, spare, BackgroundServiceAction::Resume).await;
    until("it is removed", async || groups.state(&cluster, spare).await.is_none()).await;
    for node in &groups.nodes[1..] {
        assert_eq!(groups.state(&cluster, *node).await, Some(ContainerState::Closed));
    }
    let left = groups.members(&[2, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    assert_eq!(replicas(&cluster, &groups, (1, spare), &[1]).await, before);
    cluster.stop().await;
}

/// Pauses or resumes the service of a node that removes recovering replicas.
async fn removal(cluster: &Cluster, node: DatanodeId, action: BackgroundServiceAction) {
    let node = cluster.nodes.iter().find(|known| known.id == node).unwrap();
    let client = framed::Client::new(node.address(), framed::ClientOptions::default());
    let request = BackgroundServicesRequest {
        action: action as i32,
        names: vec!["StaleRecoveringContainerScrubbingService".to_owned()],
        user: String::new(),
    };
    let method = proto::method::BACKGROUND_SERVICES;
    let answer: BackgroundServicesResponse =
        framed::message::call(&client, method, &request, testkit::LIMIT).await.unwrap();
    assert_eq!(answer.services.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_replica_is_not_taken_for_the_one_that_was_to_come() {
    let mut cluster = Cluster::start_with(5, eager).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 500_000), Writing::default()).await;
    groups.close(&cluster).await;
    let node = groups.nodes[1];
    let file = find(&cluster.node(node).dir, "1.block").unwrap();
    std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(100).unwrap();
    cluster.scm.scm.wait_for_replica(node, 5, State::Unhealthy).await;
    let left = groups.members(&[1, 3, 4, 5]);
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(2, node)]).await;
    assert_eq!(status.status(), Status::Failed, "what is there is damaged");
    assert!(status.msg().contains("UNHEALTHY"), "{}", status.msg());
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shards_of_two_generations_are_never_mixed() {
    // Each index in turn is of another generation, with checksums of its own that are right.
    for odd in 1..=5_u32 {
        let cluster = Cluster::start(6).await;
        let groups = Groups::new(&cluster, 5, SCHEME);
        let (now, former) = (bytes(1, 300_000), bytes(2, 300_000));
        let others: Vec<u32> = (1..=5).filter(|index| *index != odd).collect();
        let lost = others[0];
        let sources: Vec<u32> = (1..=5).filter(|index| *index != lost).collect();
        for (local, bare) in [(1, false), (2, true)] {
            let how = Writing { bare, ..Writing::default() };
            groups.write(local, &now, Writing { only: Some(&others), ..how }).await;
            groups.write(local, &former, Writing { only: Some(&[odd]), ..how }).await;
        }
        groups.close(&cluster).await;
        let (of_lost, spare) = (groups.members(&[lost])[0], cluster.ids()[5]);
        let before = groups.read(&cluster, of_lost.1, lost, 1).await.unwrap();
        groups.lose(&cluster, &[lost]).await;
        let left = groups.members(&sources);
        // Without checksums the differing one cannot be found, only that there is one.
        let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(lost, spare)]).await;
        assert_eq!(status.status(), Status::Failed, "index {odd} is mixed in");
        let said = status.msg();
        assert!(said.contains("block 2 differs from its writer's"), "index {odd}: {said}");
        assert_eq!(groups.state(&cluster, spare).await, None);
        // With them it is left out.
        for (_, node) in &left {
            cluster.scm.scm.delete_blocks(*node, 5, 1, &[2]).await;
        }
        for (index, node) in &left {
            until("the block is gone", async || {
                let found = groups.read(&cluster, *node, *index, 2).await;
                found == Err(ResultCode::NoSuchBlock)
            })
            .await;
        }
        succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(lost, spare)]).await);
        let made = groups.read(&cluster, spare, lost, 1).await.unwrap();
        assert_eq!(made, before, "without index {odd}");
        cluster.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_decoded_must_have_the_writers_checksums_also_where_nothing_else_tells() {
    let cluster = Cluster::start(6).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 300_000), Writing::default()).await;
    groups.write(2, &bytes(2, 300_000), Writing { wrong_parity: true, ..Writing::default() }).await;
    groups.close(&cluster).await;
    let spare = cluster.ids()[5];
    let before = groups.read(&cluster, groups.nodes[0], 1, 1).await.unwrap();
    groups.lose(&cluster, &[1, 5]).await;
    // Three sources, which agree with each other and with their own checksums: none is left that
    // what is decoded could be compared with.
    let left = groups.members(&[2, 3, 4]);
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await;
    assert_eq!(status.status(), Status::Failed, "index 1 of block 2 was made up");
    assert!(status.msg().contains("block 2 differs from its writer's"), "{}", status.msg());
    assert_eq!(groups.state(&cluster, spare).await, None, "nothing is published");
    // Without that block it is rebuilt.
    for (index, node) in &left {
        cluster.scm.scm.delete_blocks(*node, 5, 1, &[2]).await;
        until("the block is gone", async || {
            groups.read(&cluster, *node, *index, 2).await == Err(ResultCode::NoSuchBlock)
        })
        .await;
    }
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    assert_eq!(groups.read(&cluster, spare, 1, 1).await.unwrap(), before);
    cluster.stop().await;
}

/// Scans at once, again and again.
fn eager(conf: Configuration) -> Configuration {
    conf.with("hdds.container.scrub.data.scan.interval", "200ms")
        .with("hdds.container.scrub.volume.bytes.per.second", "100MB")
        .with("hdds.container.scrub.min.gap", "0s")
}

/// Cuts a file, or removes it.
fn cut(file: &Path, length: Option<u64>) {
    match length {
        Some(length) => {
            std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length).unwrap();
        }
        None => std::fs::remove_file(file).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_file_never_counts_as_healthy() {
    let mut cluster = Cluster::start(6).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    for local in [1, 2] {
        groups.write(local, &bytes(local, 20 * STRIPE), Writing::default()).await;
    }
    groups.close(&cluster).await;
    let spare = cluster.ids()[5];
    let before = replicas(&cluster, &groups, (1, groups.nodes[0]), &[1, 2]).await;
    groups.lose(&cluster, &[1]).await;
    // The rest of two of four is whole chunks with their checksums, or nothing at all: two indexes
    // are lost and one more is short.
    let (short, whole) = (groups.nodes[1], [groups.nodes[2], groups.nodes[3], groups.nodes[4]]);
    for (local, length) in [(1, Some(10 << 14)), (2, Some(0))] {
        let file = find(&cluster.node(short).dir, &format!("{local}.block")).unwrap();
        cut(&file, length);
    }
    // No scan has found it: its present bytes are used, and none that it lacks.
    let left = groups.members(&[2, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    assert_eq!(replicas(&cluster, &groups, (1, spare), &[1, 2]).await, before);
    let too_few = [left[..2].to_vec(), vec![(1, spare)]].concat();
    let status =
        cluster.scm.scm.reconstruct(5, groups.config, &too_few, &[(5, groups.nodes[0])]).await;
    assert_eq!(status.status(), Status::Failed, "something was made of what is not there");
    assert_eq!(groups.state(&cluster, groups.nodes[0]).await, None);
    // The read has told; and a start does not make it good again.
    cluster.scm.scm.wait_for_replica(short, 5, State::Unhealthy).await;
    cluster.node(short).stop().await;
    cluster.node(short).restart().await;
    assert_eq!(groups.state(&cluster, short).await, Some(ContainerState::Unhealthy));
    for node in whole {
        assert_eq!(groups.state(&cluster, node).await, Some(ContainerState::Closed));
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_files_of_every_kind_are_found_by_the_scanner() {
    let mut cluster = Cluster::start_with(5, eager).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 20 * STRIPE), Writing::default()).await;
    groups.close(&cluster).await;
    // Behind a whole chunk, within one, all of it, and the file itself.
    for (index, length) in [(1, Some(10 << 14)), (2, Some(12_345)), (4, Some(0)), (5, None)] {
        let node = groups.nodes[index - 1];
        cut(&find(&cluster.node(node).dir, "1.block").unwrap(), length);
    }
    for index in [1, 2, 4, 5] {
        cluster.scm.scm.wait_for_replica(groups.nodes[index - 1], 5, State::Unhealthy).await;
    }
    assert_eq!(groups.state(&cluster, groups.nodes[2]).await, Some(ContainerState::Closed));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reconstruction_does_not_go_by_lengths_that_no_stripe_was_acknowledged_with() {
    // What one or two of the sources say besides what was acknowledged: a further stripe, or a part
    // of one. Each other index is lost in turn.
    let acknowledged = 4 * STRIPE;
    for lost in [1_u32, 2, 5] {
        let cluster = Cluster::start(6).await;
        let groups = Groups::new(&cluster, 5, SCHEME);
        let sources: Vec<u32> = (1..=5).filter(|index| *index != lost).collect();
        let mut locals = Vec::new();
        for further in [STRIPE, 20_000, 100] {
            for dirty in [&sources[..1], &sources[3..], &sources[1..3], &sources[2..]] {
                let local = locals.len() as u64 + 1;
                let data = bytes(local, acknowledged + further);
                let how = Writing { last_only: Some(dirty), ..Writing::default() };
                groups.write(local, &data, how).await;
                // The same, as far as it was acknowledged.
                let twin = 100 + local;
                groups.write(twin, &data[..acknowledged], Writing::default()).await;
                locals.push((local, twin));
            }
        }
        groups.close(&cluster).await;
        let (spare, of_lost) = (cluster.ids()[5], groups.members(&[lost])[0].1);
        let mut expected = Vec::new();
        for (_, twin) in &locals {
            expected.push(groups.read(&cluster, of_lost, lost, *twin).await.unwrap());
        }
        groups.lose(&cluster, &[lost]).await;
        let left = groups.members(&sources);
        succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(lost, spare)]).await);
        for ((local, _), expected) in locals.iter().zip(expected) {
            let made = groups.read(&cluster, spare, lost, *local).await.unwrap();
            assert_eq!(made.bytes, expected.bytes, "index {lost} of block {local}");
            // It has checksums, but they do not match its bytes.
            let sums = |of: &Replica| -> Vec<_> {
                let chunks = of.row.chunks.iter();
                chunks.map(|c| (c.checksum_data.clone(), c.stripe_checksum.clone())).collect()
            };
            assert_eq!(sums(&made), sums(&expected), "index {lost} of block {local}");
            let length = made.row.metadata.iter().find(|pair| pair.key == "blockGroupLen").unwrap();
            assert_eq!(length.value, Some(acknowledged.to_string()));
        }
        cluster.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_not_begun_anew_on_disks_that_were_replaced() {
    let mut cluster = Cluster::start(6).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 300_000), Writing::default()).await;
    let node = groups.nodes[1];
    let before = groups.read(&cluster, node, 2, 1).await.unwrap();
    // It keeps its identity, and has lost all else.
    cluster.node(node).stop().await;
    for disk in ["disk0", "disk1"] {
        std::fs::remove_dir_all(cluster.node(node).dir.join(disk)).unwrap();
    }
    cluster.node(node).restart().await;
    assert_eq!(cluster.node(node).handle.as_ref().unwrap().id(), node, "another identity");
    let now = Groups::new(&cluster, 5, SCHEME);
    let lost = Some(ResultCode::ContainerMissing);
    assert_eq!(now.addressed(2, 2, node).await, [lost, lost]);
    assert_eq!(now.state(&cluster, node).await, None);
    // Other containers are begun there, and of this one it gets a whole replica.
    let next = Groups::new(&cluster, 6, SCHEME);
    next.write(1, &bytes(1, 100_000), Writing::default()).await;
    for index in [1, 3, 4, 5] {
        let other = groups.nodes[index - 1];
        cluster.scm.scm.send_close_container(other, 5, PipelineId::random(), false);
        cluster.scm.scm.wait_for_replica(other, 5, State::Closed).await;
    }
    let left = groups.members(&[1, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(2, node)]).await);
    assert_eq!(groups.read(&cluster, node, 2, 1).await.unwrap(), before);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_writer_begins_no_replica_where_one_was_deleted() {
    let mut cluster = Cluster::start(5).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 300_000), Writing::default()).await;
    groups.close(&cluster).await;
    let node = groups.nodes[1];
    let before = groups.read(&cluster, node, 2, 1).await.unwrap();
    groups.lose(&cluster, &[2]).await;
    let refused = [ResultCode::ContainerMissing, ResultCode::ContainerNotFound].map(Some);
    assert_eq!(groups.addressed(2, 2, node).await, refused);
    for _ in 0..2 {
        cluster.node(node).stop().await;
        cluster.node(node).restart().await;
        let groups = Groups::new(&cluster, 5, SCHEME);
        assert_eq!(groups.addressed(2, 2, node).await, refused);
        assert_eq!(groups.state(&cluster, node).await, None);
    }
    // It gets a whole replica, like any other node.
    let left = groups.members(&[1, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(2, node)]).await);
    assert_eq!(groups.read(&cluster, node, 2, 1).await.unwrap(), before);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn good_blocks_of_damaged_replicas_are_read_when_too_few_others_are_left() {
    let mut cluster = Cluster::start_with(6, eager).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    for local in 1..=3 {
        groups.write(local, &bytes(local, 300_000), Writing::default()).await;
    }
    groups.close(&cluster).await;
    let spare = cluster.ids()[5];
    let before = replicas(&cluster, &groups, (1, groups.nodes[0]), &[1, 2, 3]).await;
    // Of index 2 block 1 is damaged, of index 4 block 2, and index 1 is lost: each block can be
    // read, and no three replicas are good.
    for (index, block) in [(2, 1), (4, 2)] {
        let node = groups.nodes[index - 1];
        let file = find(&cluster.node(node).dir, &format!("{block}.block")).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
        file.write_all_at(b"other bytes", 20_000).unwrap();
        cluster.scm.scm.wait_for_replica(node, 5, State::Unhealthy).await;
    }
    groups.lose(&cluster, &[1]).await;
    let left = groups.members(&[2, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    assert_eq!(replicas(&cluster, &groups, (1, spare), &[1, 2, 3]).await, before);
    // What a damaged replica does not list may be what it lost: it is no reason to leave it out.
    groups.lose(&cluster, &[3]).await;
    let target = groups.nodes[2];
    let left = [vec![(1, spare)], groups.members(&[2, 4])].concat();
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(3, target)]).await;
    assert_eq!(status.status(), Status::Failed, "blocks 1 and 2 have two good replicas");
    assert!(status.msg().contains("block 1 cannot be rebuilt"), "{}", status.msg());
    assert_eq!(groups.state(&cluster, target).await, None);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_a_damaged_replica_does_not_list_is_not_left_out() {
    let mut cluster = Cluster::start_with(6, eager).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    groups.write(1, &bytes(1, 300_000), Writing::default()).await;
    // As if the others had lost their rows of it.
    let some = Writing { only: Some(&[3, 5]), ..Writing::default() };
    groups.write(2, &bytes(2, 300_000), some).await;
    groups.close(&cluster).await;
    for index in [2, 4] {
        let node = groups.nodes[index - 1];
        let file = find(&cluster.node(node).dir, "1.block").unwrap();
        // In different stripes, so that block 1 can still be read.
        let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
        file.write_all_at(b"other bytes", 20_000 * index as u64).unwrap();
        cluster.scm.scm.wait_for_replica(node, 5, State::Unhealthy).await;
    }
    groups.lose(&cluster, &[1]).await;
    let (left, spare) = (groups.members(&[2, 3, 4, 5]), cluster.ids()[5]);
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await;
    assert_eq!(status.status(), Status::Failed, "block 2 was left out");
    assert!(status.msg().contains("are damaged"), "{}", status.msg());
    assert_eq!(groups.state(&cluster, spare).await, None);
    cluster.stop().await;
}
