//! Copies or reconstructions of a container that fail again and again are retried with exponential
//! backoff, and do not delay other containers.

use std::collections::BTreeSet;

use placement::{Cluster, Order, OrderKind, ReplicaState};
use types::{ContainerId, DatanodeId};

use crate::ec_fixture::*;
use crate::fixture::*;

/// Container 1 of rs-3-2 without index 2, and a node for it. Twelve nodes, so that there is always
/// another one to try.
fn without_one() -> (Cluster, ContainerId, u64) {
    let mut cluster = in_racks(12, 1);
    let (_, c) = closed(&mut cluster);
    lose(&mut cluster, c, 2);
    let now = soon(&cluster);
    (cluster, c, now)
}

/// The targets of the only order, a reconstruction of that container; `None` without an order.
fn reconstructed(orders: &[Order], c: ContainerId) -> Option<Vec<DatanodeId>> {
    let order = orders.first()?;
    let OrderKind::ReconstructEcContainer { id, targets, .. } = &order.kind else {
        panic!("{order:?}")
    };
    assert!(*id == c && orders.len() == 1, "{orders:?}");
    Some(targets.iter().map(|(node, _)| *node).collect())
}

fn fail(cluster: &mut Cluster, c: ContainerId, targets: &[DatanodeId], now: u64) {
    targets.iter().for_each(|target| cluster.copy_failed(c, *target, now));
}

/// Orders that fail, a millisecond later each, until one waits; how many failed.
fn fail_until_it_waits(cluster: &mut Cluster, c: ContainerId, now: u64) -> u64 {
    let mut failures = 0;
    while let Some(targets) = reconstructed(&repair(cluster, now + failures), c) {
        failures += 1;
        fail(cluster, c, &targets, now + failures);
        assert!(failures < 20, "it never waits");
    }
    failures
}

#[test]
fn what_fails_again_and_again_is_ordered_ever_less_often() {
    let (mut cluster, c, mut now) = without_one();
    let mut tried = BTreeSet::new();
    let mut pauses = Vec::new();
    for _ in 0..80 {
        let begun = now;
        let targets = loop {
            // At the interval of SCM's checks of its nodes.
            if let Some(targets) = reconstructed(&repair(&mut cluster, now), c) {
                break targets;
            }
            now += 500;
        };
        pauses.push((now - begun) / 500 * 500);
        tried.extend(targets.iter().copied());
        now += 1;
        fail(&mut cluster, c, &targets, now);
    }
    assert_eq!(pauses[..8], [0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
    assert!(pauses[8..].iter().all(|pause| *pause == 30_000), "{pauses:?}");
    assert!(tried.len() > 4, "others are tried: {tried:?}");
}

#[test]
fn replicas_of_one_order_that_fail_are_one_failure() {
    let (mut cluster, c, now) = without_one();
    lose(&mut cluster, c, 4);
    let targets = reconstructed(&repair(&mut cluster, now), c).unwrap();
    assert_eq!(targets.len(), 2);
    fail(&mut cluster, c, &targets, now + 1);
    assert!(reconstructed(&repair(&mut cluster, now + 1), c).is_some(), "the first waits for none");
}

#[test]
fn when_the_pause_is_over_the_container_is_looked_at_without_being_asked() {
    let (mut cluster, c, now) = without_one();
    assert_eq!(fail_until_it_waits(&mut cluster, c, now), 2);
    cluster.pending.take_changed();
    cluster.watch_nodes(now + 1_001);
    assert!(!cluster.pending.take_changed(), "nothing has come of it yet");
    cluster.watch_nodes(now + 1_002);
    assert!(cluster.pending.take_changed());
    assert!(reconstructed(&repair(&mut cluster, now + 1_002), c).is_some());
    cluster.watch_nodes(now + 2_000);
    assert!(!cluster.pending.take_changed(), "once");
}

#[test]
fn what_may_be_another_source_ends_the_pause() {
    type News = fn(&mut Cluster, ContainerId, u64);
    let news: [(&str, News); 4] = [
        ("a replica came back", |cluster, c, _| {
            let spare = free_nodes(cluster, c)[0];
            say(cluster, c, spare, 3, ReplicaState::Closed);
        }),
        ("a replica is bad", |cluster, c, _| {
            let node = node_of(cluster, c, 3);
            say(cluster, c, node, 3, ReplicaState::Unhealthy);
        }),
        ("a node has none any more", |cluster, c, now| {
            let node = node_of(cluster, c, 3);
            cluster.report_all_replicas(node, Vec::new(), now);
        }),
        ("a node started anew", |cluster, c, now| {
            let node = node_of(cluster, c, 3);
            let details = cluster.nodes.get(node).unwrap().details.clone();
            cluster.register(details, disks(1), &[], now);
        }),
    ];
    for (what, happens) in news {
        let (mut cluster, c, now) = without_one();
        fail_until_it_waits(&mut cluster, c, now);
        cluster.pending.take_changed();
        happens(&mut cluster, c, now + 10);
        assert!(cluster.pending.take_changed(), "{what}: it is looked at");
        assert!(!repair(&mut cluster, now + 10).is_empty(), "{what}");
    }
}

#[test]
fn a_node_that_dies_ends_the_pause() {
    let (mut cluster, c, mut now) = without_one();
    (cluster.settings.stale_after, cluster.settings.dead_after) = (5_000, 10_000);
    for _ in 0..8 {
        now += 30_000;
        let targets = reconstructed(&repair(&mut cluster, now), c).unwrap();
        fail(&mut cluster, c, &targets, now);
    }
    assert_eq!(repair(&mut cluster, now), [], "it waits for 30 s");
    let dead = node_of(&cluster, c, 3);
    let later = silence(&mut cluster, dead, 10_000);
    assert!(later < now + 30_000);
    let targets = reconstructed(&repair(&mut cluster, later), c);
    assert_eq!(targets.map(|targets| targets.len()), Some(2), "index 3 is missing, too");
}

#[test]
fn what_is_reported_once_more_ends_no_pause() {
    let (mut cluster, c, now) = without_one();
    fail_until_it_waits(&mut cluster, c, now);
    let node = node_of(&cluster, c, 3);
    say(&mut cluster, c, node, 3, ReplicaState::Closed);
    assert_eq!(repair(&mut cluster, now + 10), []);
}

#[test]
fn one_that_always_fails_takes_no_others_turn() {
    let mut cluster = in_racks(12, 1);
    let (_, first) = closed_as(&mut cluster, RS_3_2, 1);
    let (_, second) = closed_as(&mut cluster, RS_3_2, 2);
    // The first is closer to being lost, so it comes first; and only one copy may be in flight.
    lose(&mut cluster, first, 1);
    lose(&mut cluster, first, 2);
    lose(&mut cluster, second, 1);
    cluster.settings.replication.in_flight_share = 0.01;
    let mut now = soon(&cluster);
    for _ in 0..10 {
        let orders = repair(&mut cluster, now);
        let OrderKind::ReconstructEcContainer { id, targets, .. } = &orders[0].kind else {
            panic!("{orders:?}")
        };
        if *id == second {
            return;
        }
        now += 1;
        let targets: Vec<_> = targets.iter().map(|(node, _)| *node).collect();
        fail(&mut cluster, first, &targets, now);
    }
    panic!("the second container was never repaired");
}
