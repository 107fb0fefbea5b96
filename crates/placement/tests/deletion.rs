//! The deletion log: blocks wait until every replica has forgotten them.

use std::collections::BTreeSet;

use placement::deletion::{DeletedBlock, Draft};
use placement::{Change, Cluster, OrderKind, ReplicaState, Sequence};
use proptest::prelude::*;
use types::{ContainerId, DatanodeId, LocalId};

use crate::ec_fixture;
use crate::fixture::*;

fn block(container: u64, local: u64) -> DeletedBlock {
    DeletedBlock {
        container: ContainerId(container),
        local: LocalId(local),
        size: 10,
        replicated_size: 30,
    }
}

/// A closed container 1 with replicas on nodes 1 to 3, and a transaction for it.
fn one_transaction() -> Cluster {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    close(&mut cluster, c, 5, START);
    add(&mut cluster, &[block(1, 7), block(1, 8)]);
    cluster
}

fn add(cluster: &mut Cluster, blocks: &[DeletedBlock]) {
    let sequence = Sequence::DelTxnId;
    let expected = cluster.sequences.last(sequence);
    let last = expected + blocks.len() as u64;
    cluster.apply(&Change::ReserveIds { sequence, expected, last }).unwrap();
    cluster.sequences.grant(sequence, expected + 1..last + 1);
    let transactions = cluster.number_deletions(&Draft::group(blocks)).unwrap();
    cluster.apply(&Change::AddDeletions(transactions)).unwrap();
}

fn acknowledge(cluster: &mut Cluster, n: u128, id: u64, success: bool) -> Vec<Change> {
    let decision = cluster.acknowledge_deletions(node(n), &[(id, success)]);
    apply(cluster, &decision);
    decision.changes
}

#[test]
fn blocks_become_one_transaction_per_container() {
    let drafts = Draft::group(&[block(1, 1), block(2, 2), block(1, 3)]);
    assert_eq!(drafts.len(), 2);
    let many: Vec<_> = (0..2_500).map(|n| block(1, n)).collect();
    assert_eq!(Draft::group(&many).len(), 3, "in pieces that a node can work on");
    assert_eq!(Draft::group(&[]).len(), 0);
}

#[test]
fn every_replica_gets_its_command_in_the_same_round() {
    let mut cluster = one_transaction();
    let (round, decision) = cluster.send_deletions(START, usize::MAX);
    assert_eq!((round.transactions, round.blocks, round.more), (1, 2, false));
    assert_eq!(decision.orders, [1, 2, 3].map(|n| to(n, OrderKind::DeleteBlocks(vec![1]))));
    assert_eq!(cluster.send_deletions(START + 1, usize::MAX).1.orders, [], "sent already");
}

#[test]
fn a_round_takes_no_more_blocks_than_it_may() {
    let (mut cluster, p) = trio();
    for id in 1..=3 {
        let c = open_container(&mut cluster, id, p);
        close(&mut cluster, c, 5, START);
    }
    add(&mut cluster, &[block(1, 7), block(2, 8), block(3, 9)]);
    let round = |cluster: &mut Cluster, most| {
        let (round, decision) = cluster.send_deletions(START, most);
        (round.blocks, round.more, decision.orders.len())
    };
    assert_eq!(round(&mut cluster, 2), (2, true, 3), "each of three nodes is told once");
    assert_eq!(round(&mut cluster, 2), (1, false, 3), "it goes on where it was");
    let (mut cluster, p) = trio();
    for id in 1..=2 {
        let c = open_container(&mut cluster, id, p);
        close(&mut cluster, c, 5, START);
    }
    add(&mut cluster, &[block(1, 7), block(2, 8)]);
    cluster.settings.deletion.blocks_per_round = 1;
    assert_eq!(round(&mut cluster, usize::MAX), (1, true, 3), "nor more than an operator says");
}

#[test]
fn a_transaction_leaves_when_every_replica_has_acknowledged() {
    let mut cluster = one_transaction();
    cluster.send_deletions(START, usize::MAX);
    assert_eq!(acknowledge(&mut cluster, 1, 1, true), []);
    assert_eq!(acknowledge(&mut cluster, 1, 1, true), [], "the same node twice");
    assert_eq!(acknowledge(&mut cluster, 2, 1, false), []);
    assert_eq!(acknowledge(&mut cluster, 3, 1, true), []);
    assert_eq!(cluster.deletions.summary().blocks, 2);
    assert_eq!(acknowledge(&mut cluster, 2, 1, true), [Change::RemoveDeletions(vec![1])]);
    assert_eq!(cluster.deletions.summary(), Default::default());
}

#[test]
fn a_node_that_does_not_answer_is_sent_it_again_and_others_are_not() {
    let mut cluster = one_transaction();
    cluster.send_deletions(START, usize::MAX);
    acknowledge(&mut cluster, 1, 1, true);
    let later = START + cluster.settings.deletion.resend_after;
    let (_, decision) = cluster.send_deletions(later, usize::MAX);
    assert_eq!(decision.orders, [2, 3].map(|n| to(n, OrderKind::DeleteBlocks(vec![1]))));
}

#[test]
fn what_a_node_was_sent_before_it_registered_again_is_sent_in_the_next_round() {
    let mut cluster = one_transaction();
    cluster.send_deletions(START, usize::MAX);
    acknowledge(&mut cluster, 1, 1, true);
    for n in [1, 2] {
        register(&mut cluster, n, &[], START + 1);
    }
    let (_, decision) = cluster.send_deletions(START + 2, usize::MAX);
    assert_eq!(decision.orders, [to(2, OrderKind::DeleteBlocks(vec![1]))], "1 has confirmed");
}

#[test]
fn a_replica_that_is_away_keeps_the_transaction_until_it_is_back() {
    let mut cluster = one_transaction();
    let later = START + cluster.settings.dead_after;
    cluster.heartbeat(node(1), later);
    cluster.heartbeat(node(2), later);
    cluster.watch_nodes(later);
    let (_, decision) = cluster.send_deletions(later, usize::MAX);
    assert_eq!(decision.orders, [1, 2].map(|n| to(n, OrderKind::DeleteBlocks(vec![1]))));
    acknowledge(&mut cluster, 1, 1, true);
    assert_eq!(acknowledge(&mut cluster, 2, 1, true), [], "one of three is missing");

    register(&mut cluster, 3, &[], later);
    report(&mut cluster, container(1), replica(3, ReplicaState::Closed, 5, 5), later);
    let (_, decision) = cluster.send_deletions(later + 1, usize::MAX);
    assert_eq!(decision.orders, [to(3, OrderKind::DeleteBlocks(vec![1]))]);
    assert_eq!(acknowledge(&mut cluster, 3, 1, true).len(), 1);
}

#[test]
fn a_container_with_too_few_replicas_keeps_the_transaction_until_it_is_whole() {
    let mut cluster = one_transaction();
    report(&mut cluster, container(1), replica(3, ReplicaState::Deleted, 0, 0), START);
    cluster.send_deletions(START, usize::MAX);
    assert_eq!(acknowledge(&mut cluster, 1, 1, true), []);
    // All known nodes are HEALTHY: another one may come back with a replica.
    assert_eq!(acknowledge(&mut cluster, 2, 1, true), []);
    let later = START + cluster.settings.deletion.resend_after;
    for n in 1..=3 {
        cluster.heartbeat(node(n), later);
    }
    assert!(cluster.send_deletions(later, usize::MAX).1.is_empty(), "nobody is asked again");
    report(&mut cluster, container(1), replica(3, ReplicaState::Closed, 5, 5), later);
    let (_, decision) = cluster.send_deletions(later, usize::MAX);
    assert_eq!(decision.orders, [to(3, OrderKind::DeleteBlocks(vec![1]))]);
    assert_eq!(acknowledge(&mut cluster, 3, 1, true).len(), 1);
}

#[test]
fn members_of_the_pipeline_are_asked_too_while_the_container_is_open() {
    let (mut cluster, p) = trio();
    let c = open_container(&mut cluster, 1, p);
    report(&mut cluster, c, replica(2, ReplicaState::Open, 1, 1), START);
    add(&mut cluster, &[block(1, 7)]);
    let nodes: Vec<_> =
        cluster.send_deletions(START, usize::MAX).1.orders.iter().map(|o| o.node).collect();
    assert_eq!(nodes, [node(1), node(2), node(3)]);
}

#[test]
fn after_too_many_rounds_a_transaction_waits_for_an_operator() {
    let mut cluster = one_transaction();
    cluster.settings.deletion.max_retries = 2;
    let mut now = START;
    for _ in 0..3 {
        assert_eq!(cluster.send_deletions(now, usize::MAX).0.transactions, 1);
        now += cluster.settings.deletion.resend_after;
    }
    assert_eq!(cluster.send_deletions(now, usize::MAX).0.transactions, 0);
    assert_eq!(cluster.deletions.reset_retries(&[99], 2), 0);
    assert_eq!(cluster.deletions.reset_retries(&[], 2), 1);
    assert_eq!(cluster.send_deletions(now, usize::MAX).0.transactions, 1);
}

#[test]
fn transactions_of_containers_that_are_gone_are_dropped() {
    let mut cluster = one_transaction();
    add(&mut cluster, &[block(99, 1)]);
    let (_, decision) = cluster.send_deletions(START, usize::MAX);
    assert_eq!(decision.changes.len(), 1);
    apply(&mut cluster, &decision);
    assert_eq!(cluster.deletions.summary().transactions, 1);
}

/// A closed container of rs-3-2 on five of six nodes, a transaction for it, and the nodes by index.
fn one_of_ec() -> (Cluster, ContainerId, Vec<DatanodeId>) {
    let mut cluster = ec_fixture::in_racks(6, 1);
    let (_, c) = ec_fixture::closed(&mut cluster);
    add(&mut cluster, &[block(1, 7)]);
    let nodes = (1..=5).map(|index| ec_fixture::node_of(&cluster, c, index)).collect();
    (cluster, c, nodes)
}

fn confirm(cluster: &mut Cluster, node: DatanodeId) -> Vec<Change> {
    let decision = cluster.acknowledge_deletions(node, &[(1, true)]);
    apply(cluster, &decision);
    decision.changes
}

fn nodes_told(cluster: &mut Cluster, now: u64) -> BTreeSet<DatanodeId> {
    let (_, decision) = cluster.send_deletions(now, usize::MAX);
    let kind = OrderKind::DeleteBlocks(vec![1]);
    assert!(decision.orders.iter().all(|order| order.kind == kind));
    decision.orders.iter().map(|order| order.node).collect()
}

#[test]
fn all_indexes_are_told_in_the_same_round_and_none_waits_for_a_dead_node() {
    let (mut cluster, c, nodes) = one_of_ec();
    assert_eq!(nodes_told(&mut cluster, START), nodes.iter().copied().collect());
    let (mut cluster, _, nodes) = (one_of_ec().0, c, nodes);
    let dead = nodes[2];
    let later = ec_fixture::make_dead(&mut cluster, dead);
    let others = nodes.iter().copied().filter(|node| *node != dead).collect();
    assert_eq!(nodes_told(&mut cluster, later), others);
    for node in others {
        assert_eq!(confirm(&mut cluster, node), [], "the dead node has not");
    }
    // It is back, with the blocks.
    let n = dead.0.as_u128();
    register(&mut cluster, n, &[], later);
    ec_fixture::say(&mut cluster, c, dead, 3, ReplicaState::Closed);
    assert_eq!(nodes_told(&mut cluster, later), BTreeSet::from([dead]));
    assert_eq!(confirm(&mut cluster, dead).len(), 1);
}

#[test]
fn an_index_that_is_there_twice_does_not_confirm_for_one_that_is_away() {
    let (mut cluster, c, nodes) = one_of_ec();
    let dead = nodes[4];
    let later = ec_fixture::make_dead(&mut cluster, dead);
    let sixth = ec_fixture::free_nodes(&cluster, c).into_iter().find(|n| *n != dead).unwrap();
    ec_fixture::say(&mut cluster, c, sixth, 2, ReplicaState::Closed);
    assert_eq!(nodes_told(&mut cluster, later).len(), 5);
    for node in nodes.iter().copied().filter(|node| *node != dead).chain([sixth]) {
        assert_eq!(confirm(&mut cluster, node), [], "nobody with index 5 has");
    }
    // It is rebuilt elsewhere.
    ec_fixture::say(&mut cluster, c, sixth, 5, ReplicaState::Closed);
    let later = later + cluster.settings.deletion.resend_after;
    cluster.heartbeat(sixth, later);
    let (_, decision) = cluster.send_deletions(later, usize::MAX);
    assert_eq!(decision.changes, [Change::RemoveDeletions(vec![1])]);
}

#[test]
fn a_replica_that_is_being_decoded_is_asked_when_it_is_there() {
    let (mut cluster, c, nodes) = one_of_ec();
    ec_fixture::lose(&mut cluster, c, 5);
    let soon = ec_fixture::soon(&cluster);
    let orders = ec_fixture::repair(&mut cluster, soon);
    let made = ec_fixture::reconstruction(&orders[0]);
    for node in &nodes[..4] {
        confirm(&mut cluster, *node);
    }
    assert!(cluster.deletions.get(1).is_some(), "it may be made with the blocks");
    ec_fixture::arrive(&mut cluster, &made);
    assert_eq!(nodes_told(&mut cluster, soon), BTreeSet::from([made.targets[0].0]));
    assert_eq!(confirm(&mut cluster, made.targets[0].0).len(), 1);
}

proptest! {
    /// In any order of rounds, acknowledgements and refusals: a transaction is removed exactly when
    /// all three replicas have acknowledged it.
    #[test]
    fn the_log_trims_only_what_every_replica_has_acknowledged(
        acks in proptest::collection::vec((1u128..=3, 1u64..=4, any::<bool>()), 0..60)
    ) {
        let (mut cluster, p) = trio();
        for id in 1..=4 {
            let c = open_container(&mut cluster, id, p);
            close(&mut cluster, c, 5, START);
        }
        let blocks: Vec<_> = (1..=4).map(|c| block(c, 100 + c)).collect();
        add(&mut cluster, &blocks);
        let mut done = std::collections::BTreeSet::new();
        for (i, (n, id, success)) in acks.into_iter().enumerate() {
            if i % 5 == 0 {
                cluster.send_deletions(START + i as u64, usize::MAX);
            }
            acknowledge(&mut cluster, n, id, success);
            if success {
                done.insert((id, n));
            }
            for id in 1..=4 {
                let everywhere = (1..=3).all(|n| done.contains(&(id, n)));
                prop_assert_eq!(cluster.deletions.get(id).is_none(), everywhere);
            }
        }
    }
}

/// A transaction that is confirmed twice, or removed twice, after a late response, is subtracted
/// from the sums once.
#[test]
fn the_summary_is_that_of_the_log_whatever_comes_twice() {
    let mut cluster = one_transaction();
    add(&mut cluster, &[block(1, 9)]);
    let whole = cluster.deletions.summary();
    assert_eq!((whole.transactions, whole.blocks, whole.size), (2, 3, 30));
    cluster.send_deletions(START, usize::MAX);
    acknowledge(&mut cluster, 1, 1, true);
    acknowledge(&mut cluster, 2, 1, true);
    // The last node confirms again before the removal is applied, which is proposed twice then.
    let twice = [(); 2].map(|()| cluster.acknowledge_deletions(node(3), &[(1, true)]));
    for decision in &twice {
        assert_eq!(decision.changes, [Change::RemoveDeletions(vec![1])]);
        apply(&mut cluster, decision);
    }
    cluster.apply(&Change::RemoveDeletions(vec![1, 1, 77])).unwrap();
    let left = cluster.deletions.summary();
    assert_eq!((left.transactions, left.blocks, left.size, left.replicated_size), (1, 1, 10, 30));
    // A duplicate entry counts once, too.
    let again = cluster.deletions.from(0).cloned().collect::<Vec<_>>();
    cluster.apply(&Change::AddDeletions(again)).unwrap();
    assert_eq!(cluster.deletions.summary(), left);
    assert_eq!(cluster.deletions.transactions_of(ContainerId(1)), 1);
}

proptest! {
    #[test]
    fn sums_over_the_deletion_log_are_those_of_its_transactions(
        steps in prop::collection::vec((any::<bool>(), 0_u64..6, 0_u64..3, 0_u64..u64::MAX), 1..60),
    ) {
        let mut cluster = one_transaction();
        for (adds, id, container, size) in steps {
            let change = match adds {
                true => Change::AddDeletions(vec![placement::deletion::Transaction {
                    id,
                    container: ContainerId(container),
                    blocks: (0..container).map(LocalId).collect(),
                    size,
                    replicated_size: size / 2,
                }]),
                false => Change::RemoveDeletions(vec![id, id]),
            };
            cluster.apply(&change).unwrap();
            let log = &cluster.deletions;
            let (mut blocks, mut sizes, mut replicated) = (0_u64, 0_u128, 0_u128);
            for t in log.from(0) {
                blocks += t.blocks.len() as u64;
                sizes += u128::from(t.size);
                replicated += u128::from(t.replicated_size);
            }
            let clamped = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
            let summary = log.summary();
            prop_assert_eq!(summary.transactions, log.from(0).count() as u64);
            prop_assert_eq!(summary.blocks, blocks);
            prop_assert_eq!(summary.size, clamped(sizes));
            prop_assert_eq!(summary.replicated_size, clamped(replicated));
            for c in 0..3 {
                let of = log.from(0).filter(|t| t.container == ContainerId(c)).count() as u64;
                prop_assert_eq!(log.transactions_of(ContainerId(c)), of);
            }
        }
    }
}
