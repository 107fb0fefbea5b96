//! Choice of the container for the next block.

use std::collections::BTreeSet;

use placement::block::{Exclude, Wish};
use placement::{Cluster, ReplicaState, Settings};
use types::{ContainerId, StorageType};

use crate::fixture::*;

fn wish<'a>(count: usize, exclude: &'a Exclude) -> Wish<'a> {
    Wish {
        count,
        config: THREE,
        storage_types: &StorageType::ANY,
        waits: false,
        owner: OWNER,
        exclude,
    }
}

/// Three nodes, two RATIS/THREE pipelines, two containers on each.
fn four_containers() -> Cluster {
    let settings = Settings { create_factor_one: false, containers_per_pipeline: 2, ..settings() };
    let mut cluster = cluster(3, settings);
    for (i, p) in make_pipelines(&mut cluster, 1, START).into_iter().enumerate() {
        open_container(&mut cluster, 1 + 2 * i as u64, p);
        open_container(&mut cluster, 2 + 2 * i as u64, p);
    }
    cluster
}

fn containers(cluster: &mut Cluster, count: usize, exclude: &Exclude) -> Vec<ContainerId> {
    cluster.allocate(wish(count, exclude)).slots.iter().map(|s| s.container).collect()
}

#[test]
fn a_pipeline_without_containers_is_reported_short() {
    let (mut cluster, p) = trio();
    let none = cluster.allocate(wish(1, &Exclude::default()));
    assert!(none.slots.is_empty());
    assert_eq!(none.shortage, [(p, cluster.settings.containers_per_pipeline)]);
    open_container(&mut cluster, 1, p);
    let some = cluster.allocate(wish(5, &Exclude::default()));
    assert_eq!(some.slots.len(), 5);
    assert_eq!(some.shortage, [(p, cluster.settings.containers_per_pipeline - 1)]);
}

#[test]
fn without_a_pipeline_there_is_neither_room_nor_shortage() {
    let mut cluster = cluster(2, settings());
    let nothing = cluster.allocate(wish(1, &Exclude::default()));
    assert!(nothing.slots.is_empty() && nothing.shortage.is_empty());
}

#[test]
fn blocks_go_round_over_all_containers_across_batches() {
    let mut cluster = four_containers();
    let mut seen = std::collections::BTreeMap::new();
    for batch in [1, 2, 3, 5, 1, 4] {
        for c in containers(&mut cluster, batch, &Exclude::default()) {
            *seen.entry(c).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.values().copied().collect::<Vec<_>>(), [4, 4, 4, 4]);
}

#[test]
fn containers_of_others_and_full_ones_are_not_used() {
    let mut cluster = four_containers();
    let mut full = replica(1, ReplicaState::Open, 1, 1);
    full.used_bytes = cluster.settings.full_at();
    // Reported, but the decision to close it is not applied yet.
    cluster.report_replicas(vec![(container(1), full)], START);
    let used: BTreeSet<_> = containers(&mut cluster, 30, &Exclude::default()).into_iter().collect();
    assert_eq!(used, [2, 3, 4].map(container).into());
    let stranger = cluster.allocate(Wish { owner: "another", ..wish(1, &Exclude::default()) });
    assert!(stranger.slots.is_empty() && !stranger.shortage.is_empty());
}

#[test]
fn what_a_writer_excludes_is_avoided_while_anything_else_is_left() {
    let mut cluster = four_containers();
    let pipelines = cluster.pipelines.open(THREE).collect::<Vec<_>>();
    let of =
        |cluster: &Cluster, p| cluster.containers.open(p).iter().copied().collect::<BTreeSet<_>>();

    let exclude = Exclude { pipelines: vec![pipelines[0]], ..Exclude::default() };
    let used: BTreeSet<_> = containers(&mut cluster, 20, &exclude).into_iter().collect();
    assert_eq!(used, of(&cluster, pipelines[1]));

    let exclude = Exclude { containers: vec![container(2)], ..Exclude::default() };
    assert!(!containers(&mut cluster, 20, &exclude).contains(&container(2)));

    // Every pipeline has the excluded node: better a pipeline with its majority than none.
    let exclude =
        Exclude { datanodes: vec![node(1)], containers: vec![container(2)], ..Exclude::default() };
    let used = containers(&mut cluster, 20, &exclude);
    assert_eq!(used.len(), 20);
    assert!(!used.contains(&container(2)));
}
