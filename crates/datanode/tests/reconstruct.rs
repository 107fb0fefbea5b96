//! Lost replica indexes are rebuilt from those that are left, on SCM's word.

use proto::datanode::Result as ResultCode;
use proto::datanode::container_data_proto::State as ContainerState;
use proto::scm_datanode::command_status::Status;
use proto::scm_datanode::container_replica_proto::State;
use testkit::until;
use types::DatanodeId;

use crate::support::groups::{Replica, Writing};
use crate::support::{Cluster, Groups, bytes};

/// Small cells, so that blocks of some KB have several stripes.
const SCHEME: &str = "rs-3-2-16k";

/// Lengths of block groups: within a cell, of several cells, of whole stripes and more, packed and
/// not.
const LENGTHS: [usize; 7] = [1, 16_000, 16 << 10, 40_000, 3 << 14, 500_000, 1_234_567];

fn data(local: u64) -> Vec<u8> {
    bytes(local, LENGTHS[(local as usize - 1) % LENGTHS.len()]).to_vec()
}

fn locals() -> std::ops::RangeInclusive<u64> {
    1..=14
}

/// Container 5 on the first five nodes, closed, with blocks of all lengths.
async fn written(cluster: &Cluster) -> Groups {
    let groups = Groups::new(cluster, 5, SCHEME);
    for local in locals() {
        groups.write(local, &data(local), Writing::default()).await;
    }
    groups.close(cluster).await;
    groups
}

/// Returns the blocks of the replica with an index.
async fn replicas(
    cluster: &Cluster,
    groups: &Groups,
    node: DatanodeId,
    index: u32,
) -> Vec<Replica> {
    let mut all = Vec::new();
    for local in locals() {
        all.push(groups.read(cluster, node, index, local).await.unwrap());
    }
    all
}

fn succeeded(status: &proto::scm_datanode::CommandStatus) {
    assert_eq!(status.status(), Status::Executed, "{}", status.msg());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_rebuilt_is_bit_for_bit_what_was_lost() {
    let mut cluster = Cluster::start(7).await;
    let groups = written(&cluster).await;
    let [.., spare, other] = cluster.ids()[..] else { unreachable!() };
    // A data index, then the first and one of parity at once, from the rebuilt one among others.
    let (lost, left) = (groups.members(&[2]), groups.members(&[1, 3, 4, 5]));
    let before = replicas(&cluster, &groups, lost[0].1, 2).await;
    groups.lose(&cluster, &[2]).await;
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(2, spare)]).await);
    cluster.scm.scm.wait_for_replica(spare, 5, State::Closed).await;
    assert_eq!(replicas(&cluster, &groups, spare, 2).await, before);

    let first = replicas(&cluster, &groups, groups.nodes[0], 1).await;
    let parity = replicas(&cluster, &groups, groups.nodes[4], 5).await;
    groups.lose(&cluster, &[1, 5]).await;
    let left = [groups.members(&[3, 4]), vec![(2, spare)]].concat();
    // One that never had it, and one that lost it.
    let targets = [(5, other), (1, groups.nodes[0])];
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &targets).await);
    for (_, node) in targets {
        cluster.scm.scm.wait_for_replica(node, 5, State::Closed).await;
    }
    assert_eq!(replicas(&cluster, &groups, groups.nodes[0], 1).await, first);
    assert_eq!(replicas(&cluster, &groups, other, 5).await, parity);
    cluster.scm.scm.with(|known| {
        for (index, node) in targets {
            let replica = &known.replicas[&(node, 5)];
            assert_eq!(replica.replica_index, Some(index as i32));
            assert_eq!(replica.key_count, Some(LENGTHS.len() as i64 * 2));
            assert_eq!(replica.origin_node_id, Some(node.to_string()), "no copy of another one");
        }
    });
    // It is there after a restart, and once more does no harm.
    cluster.node(other).stop().await;
    cluster.node(other).restart().await;
    until("the replica is read again", async || {
        groups.state(&cluster, other).await == Some(ContainerState::Closed)
    })
    .await;
    assert_eq!(replicas(&cluster, &groups, other, 5).await, parity);
    let audit = cluster.node(groups.nodes[0]).dir.join("meta/audit/dn-audit.log");
    let audit = std::fs::read_to_string(audit);
    let coordinator = cluster.node(other).dir.join("meta/audit/dn-audit.log");
    let lines = std::fs::read_to_string(coordinator).unwrap();
    let line = lines.lines().find(|line| line.contains("op=RECOVER_EC_BLOCK")).unwrap();
    for part in ["container=5", "published=5 1", "blocks=14", "skipped=0", "ret=SUCCESS"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!audit.unwrap_or_default().contains("RECOVER_EC_BLOCK"), "it coordinated nothing");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_not_begun_on_a_node_that_came_in_anothers_place() {
    let cluster = Cluster::start(5).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    let refused = Some(ResultCode::InvalidArgument);
    assert_eq!(groups.misdirected(1, 2).await, [refused, refused]);
    assert_eq!(groups.state(&cluster, groups.nodes[1]).await, None, "no container is made");
    groups.write(1, &data(1), Writing::default()).await;
    assert_eq!(groups.misdirected(2, 2).await, [refused, refused]);
    assert_eq!(groups.read(&cluster, groups.nodes[1], 2, 2).await, Err(ResultCode::NoSuchBlock));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_sources_are_decoded_around_and_found() {
    let mut cluster = Cluster::start(6).await;
    let groups = written(&cluster).await;
    let spare = cluster.ids()[5];
    let before = replicas(&cluster, &groups, groups.nodes[0], 1).await;
    groups.lose(&cluster, &[1]).await;
    // A bit in the largest block of index 2, behind its checksum.
    let node = groups.nodes[1];
    let dir = cluster.node(node).dir.clone();
    let file = find(&dir, "7.block").expect("a block of its own file");
    let mut contents = std::fs::read(&file).unwrap();
    contents[70_000] ^= 4;
    std::fs::write(&file, contents).unwrap();
    // And the last stripe of index 4, which is another one.
    let other = groups.nodes[3];
    let file = find(&cluster.node(other).dir, "7.block").expect("a block of its own file");
    let contents = std::fs::read(&file).unwrap();
    std::fs::write(&file, &contents[..contents.len() - 5]).unwrap();
    let left = groups.members(&[2, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    assert_eq!(replicas(&cluster, &groups, spare, 1).await, before);
    for damaged in [node, other] {
        cluster.scm.scm.wait_for_replica(damaged, 5, State::Unhealthy).await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_of_too_few_or_damaged_sources() {
    let mut cluster = Cluster::start(6).await;
    let groups = written(&cluster).await;
    let spare = cluster.ids()[5];
    groups.lose(&cluster, &[1]).await;
    for index in [2u32, 4] {
        let dir = cluster.node(groups.nodes[index as usize - 1]).dir.clone();
        let file = find(&dir, "7.block").expect("a block of its own file");
        let contents = std::fs::read(&file).unwrap();
        std::fs::write(&file, &contents[..100]).unwrap();
    }
    let left = groups.members(&[2, 3, 4, 5]);
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await;
    assert_eq!(status.status(), Status::Failed);
    assert!(status.msg().contains("block 7 cannot be rebuilt"), "{}", status.msg());
    assert_eq!(groups.state(&cluster, spare).await, None, "nothing is there");
    assert_eq!(
        groups.read(&cluster, spare, 1, 1).await,
        Err(ResultCode::ContainerNotFound),
        "nor is a block that was sent"
    );
    // One that is not closed is no source, and two of its like are too few.
    let open = Groups::new(&cluster, 6, SCHEME);
    open.write(1, &data(3), Writing::default()).await;
    let left = open.members(&[2, 3, 4, 5]);
    let status = cluster.scm.scm.reconstruct(6, open.config, &left, &[(1, spare)]).await;
    assert_eq!(status.status(), Status::Failed);
    assert!(status.msg().contains("not CLOSED"), "{}", status.msg());
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_too_few_have_is_skipped_and_one_that_is_behind_is_as_long_as_acknowledged() {
    let mut cluster = Cluster::start(6).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    let whole = bytes(1, 200_000).to_vec();
    let stripe = 3 << 14;
    groups.write(1, &whole, Writing::default()).await;
    // Never acknowledged: two of five have received it.
    let some = Writing { only: Some(&[1, 4]), ..Writing::default() };
    groups.write(2, &whole, some).await;
    // Its last stripe is known to index 3 alone.
    let cut = &whole[..4 * stripe];
    groups.write(3, cut, Writing { last_only: Some(&[3]), ..Writing::default() }).await;
    // Its last stripe is known to all but index 3, which lost it: it was acknowledged.
    groups.write(4, cut, Writing { last_only: Some(&[1, 2, 4, 5]), ..Writing::default() }).await;
    // Without checksums.
    groups.write(5, &whole, Writing { bare: true, ..Writing::default() }).await;
    groups.close(&cluster).await;
    let spare = cluster.ids()[5];
    let mut before = Vec::new();
    for local in [1, 3, 4, 5] {
        before.push(groups.read(&cluster, groups.nodes[1], 2, local).await.unwrap());
    }
    groups.lose(&cluster, &[2]).await;
    let left = groups.members(&[1, 3, 4, 5]);
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(2, spare)]).await);
    for (local, before) in [1, 3, 4, 5].into_iter().zip(before) {
        assert_eq!(groups.read(&cluster, spare, 2, local).await.unwrap(), before, "block {local}");
    }
    assert_eq!(groups.read(&cluster, spare, 2, 2).await, Err(ResultCode::NoSuchBlock));
    let audit = cluster.node(spare).dir.join("meta/audit/dn-audit.log");
    until("the audit line", async || {
        let lines = std::fs::read_to_string(&audit).unwrap_or_default();
        lines.contains("blocks=4") && lines.contains("skipped=1, skippedBlocks=2:2")
    })
    .await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_rebuilt_has_taken_the_deletions_that_all_sources_have() {
    let cluster = Cluster::start(6).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    for local in 1..=3 {
        groups.write(local, &bytes(local, 200_000), Writing::default()).await;
    }
    groups.close(&cluster).await;
    let (scm, spare) = (&cluster.scm.scm, cluster.ids()[5]);
    for (at, node) in groups.nodes.iter().enumerate().skip(1) {
        assert!(scm.delete_blocks(*node, 5, 7, &[1]).await);
        assert!(at != 2 || scm.delete_blocks(*node, 5, 9, &[2]).await);
    }
    let left = groups.members(&[2, 3, 4, 5]);
    succeeded(&scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    scm.wait_for_replica(spare, 5, State::Closed).await;
    let taken = scm.with(|known| known.replicas[&(spare, 5)].delete_transaction_id());
    assert_eq!(taken, 7);
    assert_eq!(groups.read(&cluster, spare, 1, 1).await, Err(ResultCode::NoSuchBlock));
    assert!(groups.read(&cluster, spare, 1, 2).await.is_ok(), "one of four has deleted it");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_of_another_generation_is_not_mixed_in() {
    let cluster = Cluster::start(6).await;
    let groups = Groups::new(&cluster, 5, SCHEME);
    let (now, former) = (bytes(1, 300_000).to_vec(), bytes(2, 300_000).to_vec());
    // Index 4 has the same block with other bytes, all of them with their checksums.
    groups.write(1, &now, Writing { only: Some(&[1, 2, 3, 5]), ..Writing::default() }).await;
    groups.write(1, &former, Writing { only: Some(&[4]), ..Writing::default() }).await;
    // The same without checksums: only a source that is not needed can tell.
    let bare = Writing { bare: true, ..Writing::default() };
    groups.write(2, &now, Writing { only: Some(&[1, 2, 3, 5]), ..bare }).await;
    groups.write(2, &former, Writing { only: Some(&[4]), ..bare }).await;
    groups.close(&cluster).await;
    let spare = cluster.ids()[5];
    let before = groups.read(&cluster, groups.nodes[0], 1, 1).await.unwrap();
    groups.lose(&cluster, &[1]).await;
    let left = groups.members(&[2, 3, 4, 5]);
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await;
    assert_eq!(status.status(), Status::Failed, "block 2 is not told apart");
    assert!(status.msg().contains("block 2 differs from its writer's"), "{}", status.msg());
    assert_eq!(groups.state(&cluster, spare).await, None);
    // Without that block, the others are enough.
    cluster.scm.scm.delete_blocks(groups.nodes[1], 5, 1, &[2]).await;
    cluster.scm.scm.delete_blocks(groups.nodes[2], 5, 1, &[2]).await;
    cluster.scm.scm.delete_blocks(groups.nodes[4], 5, 1, &[2]).await;
    until("the block is gone", async || {
        let mut gone = true;
        for index in [2, 3, 5] {
            let node = groups.nodes[index as usize - 1];
            gone &= groups.read(&cluster, node, index, 2).await == Err(ResultCode::NoSuchBlock);
        }
        gone
    })
    .await;
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &[(1, spare)]).await);
    assert_eq!(groups.read(&cluster, spare, 1, 1).await.unwrap(), before);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_away_does_not_keep_the_others_from_theirs() {
    let mut cluster = Cluster::start(7).await;
    let groups = written(&cluster).await;
    let [.., here, away] = cluster.ids()[..] else { unreachable!() };
    let third = replicas(&cluster, &groups, groups.nodes[2], 3).await;
    let fourth = replicas(&cluster, &groups, groups.nodes[3], 4).await;
    groups.lose(&cluster, &[3, 4]).await;
    cluster.node(away).stop().await;
    let left = groups.members(&[1, 2, 5]);
    let targets = [(3, here), (4, away)];
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &targets).await;
    assert_eq!(status.status(), Status::Failed);
    assert!(status.msg().contains("target rejected index 4"), "{}", status.msg());
    cluster.scm.scm.wait_for_replica(here, 5, State::Closed).await;
    assert_eq!(replicas(&cluster, &groups, here, 3).await, third);
    // It comes back, and the order again: data that is there already stays the same.
    cluster.node(away).restart().await;
    succeeded(&cluster.scm.scm.reconstruct(5, groups.config, &left, &targets).await);
    assert_eq!(replicas(&cluster, &groups, away, 4).await, fourth);
    assert_eq!(replicas(&cluster, &groups, here, 3).await, third);
    // A node that has one index does not take another one for it.
    let status = cluster.scm.scm.reconstruct(5, groups.config, &left, &[(4, here)]).await;
    assert_eq!(status.status(), Status::Failed);
    assert!(status.msg().contains("replica index 3"), "{}", status.msg());
    cluster.stop().await;
}

/// A file of this name below a directory.
pub fn find(dir: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    for entry in std::fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name) {
                return Some(found);
            }
        } else if entry.file_name() == name {
            return Some(path);
        }
    }
    None
}
