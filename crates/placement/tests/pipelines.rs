//! Pipelines are made where nodes have room and closed when a member fails.

use std::collections::BTreeMap;

use placement::{Change, Cluster, OrderKind, Refused, ReplicaState, Settings};
use proptest::prelude::*;
use types::{DatanodeId, PipelineState, StorageType};

use crate::fixture::*;

#[test]
fn nothing_is_planned_before_there_are_enough_nodes() {
    for (nodes, threes, ones) in [(0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 2, 3), (4, 2, 4), (6, 4, 6)]
    {
        let cluster = cluster(nodes, settings());
        let plans = cluster.plan_pipelines();
        assert_eq!(plans.iter().filter(|p| p.config == THREE).count(), threes, "{nodes} nodes");
        assert_eq!(plans.iter().filter(|p| p.config == ONE).count(), ones, "{nodes} nodes");
    }
}

#[test]
fn what_was_made_is_not_planned_again() {
    let mut cluster = cluster(5, settings());
    make_pipelines(&mut cluster, 1, START);
    assert_eq!(cluster.plan_pipelines(), []);
}

#[test]
fn disks_decide_when_there_is_no_limit() {
    let settings = Settings { pipeline_limit: 0, pipelines_per_disk: 2, ..settings() };
    let mut cluster = cluster(0, settings);
    for n in 1..=3 {
        cluster.register(details(n), disks(3), &[], START);
    }
    let plans = cluster.plan_pipelines();
    assert_eq!(plans.iter().filter(|p| p.config == THREE).count(), 6);
    assert_eq!(plans.iter().filter(|p| p.config == ONE).count(), 9);
}

#[test]
fn a_node_without_room_gets_no_pipelines() {
    let mut cluster = cluster(3, settings());
    let mut full = disks(1);
    full[0].remaining = 0;
    cluster.nodes.set_storage(node(2), full);
    let plans = cluster.plan_pipelines();
    assert!(plans.iter().all(|p| !p.members.contains(&node(2))), "{plans:?}");
}

#[test]
fn a_pipeline_opens_when_all_members_run_it_and_one_leads() {
    let settings = Settings { pipeline_limit: 1, create_factor_one: false, ..settings() };
    let mut cluster = cluster(3, settings);
    let plan = cluster.plan_pipelines().remove(0);
    let id = pipeline(9);
    let record = cluster.build_pipeline(&plan, id, START);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    let orders = cluster.order_creation(id, START).orders;
    assert_eq!(orders, [1, 2, 3].map(|n| to(n, OrderKind::CreatePipeline(id))));

    assert!(cluster.report_pipelines(node(1), &[(id, false)]).is_empty());
    assert!(cluster.report_pipelines(node(2), &[(id, false)]).is_empty());
    assert!(cluster.report_pipelines(node(3), &[(id, false)]).is_empty(), "nobody leads yet");
    let decision = cluster.report_pipelines(node(2), &[(id, true)]);
    assert_eq!(decision.changes, [Change::OpenPipeline(id)]);
    apply(&mut cluster, &decision);
    assert_eq!(cluster.pipelines.get(id).unwrap().record.leader, Some(node(2)));

    cluster.report_pipelines(node(3), &[(id, true)]);
    assert_eq!(cluster.pipelines.get(id).unwrap().record.leader, Some(node(3)));
}

#[test]
fn a_group_that_nobody_knows_has_to_go() {
    let (mut cluster, id) = trio();
    register(&mut cluster, 4, &[], START);
    for (n, id) in [(1, pipeline(77)), (4, id)] {
        let decision = cluster.report_pipelines(node(n), &[(id, true)]);
        assert_eq!(decision.orders, [to(n, OrderKind::ClosePipeline(id))]);
        assert!(decision.changes.is_empty());
    }
}

#[test]
fn a_pipeline_that_does_not_open_is_ordered_again_and_then_given_up() {
    let mut cluster = cluster(3, settings());
    let plan = cluster.plan_pipelines().into_iter().find(|p| p.config == THREE).unwrap();
    let id = pipeline(1);
    let record = cluster.build_pipeline(&plan, id, START);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    cluster.order_creation(id, START);
    cluster.report_pipelines(node(1), &[(id, true)]);

    assert!(cluster.scrub_pipelines(START + 100).is_empty());
    let again = cluster.scrub_pipelines(START + 3_000);
    assert_eq!(again.orders, [2, 3].map(|n| to(n, OrderKind::CreatePipeline(id))));
    let given_up = cluster.scrub_pipelines(START + cluster.settings.allocated_timeout);
    assert!(matches!(given_up.changes[..], [Change::ClosePipeline { .. }]));
}

#[test]
fn a_closed_pipeline_lives_until_its_containers_are_closed_everywhere() {
    let (mut cluster, id) = trio();
    let c = open_container(&mut cluster, 1, id);
    for n in 1..=3 {
        report(&mut cluster, c, replica(n, ReplicaState::Open, 5, 5), START);
    }
    let close = Change::ClosePipeline { id, now: START };
    cluster.apply(&close).unwrap();
    let orders = cluster.follow_up(&close, START).orders;
    let kind = OrderKind::CloseContainer { id: c, pipeline: id, force: false };
    assert_eq!(orders, [1, 2, 3].map(|n| to(n, kind.clone())));

    report(&mut cluster, c, replica(1, ReplicaState::Closed, 5, 5), START);
    report(&mut cluster, c, replica(2, ReplicaState::Closed, 5, 5), START);
    assert!(cluster.scrub_pipelines(START + 10).is_empty(), "node 3 has not closed its replica");
    report(&mut cluster, c, replica(3, ReplicaState::Closed, 5, 5), START);
    let decision = cluster.scrub_pipelines(START + 20);
    assert_eq!(decision.orders, [1, 2, 3].map(|n| to(n, OrderKind::ClosePipeline(id))));
    assert_eq!(decision.changes, [Change::RemovePipeline(id)]);
    apply(&mut cluster, &decision);
    assert!(cluster.pipelines.get(id).is_none());
}

#[test]
fn a_closed_pipeline_goes_at_the_timeout_whatever_its_containers_do() {
    let (mut cluster, id) = trio();
    let c = open_container(&mut cluster, 1, id);
    report(&mut cluster, c, replica(1, ReplicaState::Open, 5, 5), START);
    cluster.apply(&Change::ClosePipeline { id, now: START }).unwrap();
    let timeout = cluster.settings.destroy_timeout;
    assert!(cluster.scrub_pipelines(START + timeout - 1).is_empty());
    assert_eq!(cluster.scrub_pipelines(START + timeout).changes, [Change::RemovePipeline(id)]);
}

#[test]
fn a_change_decided_too_late_is_refused() {
    let (mut cluster, id) = trio();
    cluster.apply(&Change::ClosePipeline { id, now: START }).unwrap();
    let state = PipelineState::Closed;
    for late in [Change::OpenPipeline(id), Change::ClosePipeline { id, now: START }] {
        assert_eq!(cluster.apply(&late), Err(Refused::PipelineState { id, state }));
    }
    cluster.apply(&Change::RemovePipeline(id)).unwrap();
    assert_eq!(cluster.apply(&Change::RemovePipeline(id)), Err(Refused::PipelineNotFound(id)));
}

/// Closes pipelines as the rules plan for better ones and creates the planned ones, until nothing
/// is left to do.
fn open_and_close_pipelines(cluster: &mut Cluster, mut next: u128) -> usize {
    let mut closed = 0;
    for _ in 0..100 {
        next += make_pipelines(cluster, next, START).len() as u128;
        let worse = cluster.plan_rebalance();
        if worse.is_empty() {
            return closed;
        }
        closed += worse.len();
        for id in worse {
            cluster.apply(&Change::ClosePipeline { id, now: START }).unwrap();
        }
    }
    panic!("it never ends");
}

fn in_rack(cluster: &mut Cluster, n: u128, rack: &str) {
    let place = types::DatanodeDetails { network_location: rack.to_owned(), ..details(n) };
    cluster.register(place, disks(1), &[], START);
}

fn threes(limit: u32) -> Settings {
    Settings { pipeline_limit: limit, create_factor_one: false, ..settings() }
}

fn open_sets(cluster: &Cluster) -> Vec<Vec<u128>> {
    let open = cluster.pipelines.iter().filter(|e| e.record.state == PipelineState::Open);
    let set = |e: &placement::PipelineEntry| {
        let mut ids: Vec<_> = e.member_ids().iter().map(|m| m.0.as_u128()).collect();
        ids.sort_unstable();
        ids
    };
    open.map(set).collect()
}

#[test]
fn a_node_that_comes_when_the_others_are_full_is_used() {
    let mut cluster = cluster(3, threes(2));
    make_pipelines(&mut cluster, 1, START);
    assert_eq!(open_sets(&cluster), [[1, 2, 3], [1, 2, 3]]);
    register(&mut cluster, 4, &[], START);
    assert_eq!(open_and_close_pipelines(&mut cluster, 10), 1, "pipelines closed");
    let sets = open_sets(&cluster);
    assert_eq!(sets.len(), 2);
    assert!(sets.iter().any(|s| s.contains(&4)), "{sets:?}");
    assert_ne!(sets[0], sets[1]);
}

#[test]
fn nothing_is_closed_for_better_pipelines_in_safe_mode_or_while_one_is_on_its_way() {
    let mut cluster = cluster(3, threes(2));
    make_pipelines(&mut cluster, 1, START);
    register(&mut cluster, 4, &[], START);
    let plan = cluster.plan_pipeline(THREE, &[]).unwrap();
    let record = cluster.build_pipeline(&plan, pipeline(50), START);
    cluster.apply(&Change::AddPipeline(record)).unwrap();
    assert_eq!(cluster.plan_rebalance(), []);
}

#[test]
fn no_three_nodes_get_a_pipeline_before_those_that_safe_mode_waits_for() {
    let mut settings = threes(2);
    settings.safe_mode.enabled = true;
    settings.safe_mode.min_datanodes = 6;
    let mut cluster = cluster(5, settings);
    assert_eq!(cluster.plan_pipelines(), []);
    register(&mut cluster, 6, &[], START);
    assert_eq!(cluster.plan_pipelines().len(), 4);
}

#[test]
fn two_members_are_in_one_rack_and_one_in_another() {
    let mut cluster = cluster(0, threes(3));
    // The first rack comes first: its pipelines are closed when there is a second one.
    for n in 1..=3 {
        in_rack(&mut cluster, n, "/r1");
    }
    make_pipelines(&mut cluster, 1, START);
    for n in 4..=6 {
        in_rack(&mut cluster, n, "/r2");
    }
    open_and_close_pipelines(&mut cluster, 10);
    let mut sets = open_sets(&cluster);
    assert_eq!(sets.len(), 6, "{sets:?}");
    for set in &sets {
        assert!((1..=2).contains(&set.iter().filter(|n| **n <= 3).count()), "{sets:?}");
    }
    sets.sort();
    sets.dedup();
    assert_eq!(sets.len(), 6, "no set twice");
}

#[test]
fn a_pipeline_is_not_made_in_one_rack_when_there_are_two() {
    let mut cluster = cluster(0, threes(2));
    for n in 1..=5 {
        in_rack(&mut cluster, n, "/r1");
    }
    in_rack(&mut cluster, 6, "/r2");
    open_and_close_pipelines(&mut cluster, 1);
    let sets = open_sets(&cluster);
    assert_eq!(sets.len(), 2);
    assert!(sets.iter().all(|s| s.contains(&6)), "{sets:?}");
}

#[test]
fn three_racks_of_one_node_make_a_pipeline() {
    let mut cluster = cluster(0, threes(1));
    for n in 1..=3 {
        in_rack(&mut cluster, n, &format!("/r{n}"));
    }
    assert_eq!(cluster.plan_pipelines().len(), 1);
}

#[test]
fn raft_log_disks_decide_when_there_is_no_limit() {
    let mut cluster = cluster(3, threes(0));
    for n in 1..=3 {
        cluster.nodes.set_log_disks(node(n), Some(vec![StorageType::Disk; 4]));
    }
    assert_eq!(cluster.plan_pipelines().len(), 8, "three nodes of four log disks, two on each");
    cluster.nodes.set_log_disks(node(3), Some(vec![StorageType::Disk]));
    assert_eq!(cluster.plan_pipelines().len(), 2);
}

fn per_node(cluster: &Cluster, count: impl Fn(&types::Pipeline, DatanodeId) -> bool) -> Vec<usize> {
    let nodes = cluster.nodes.iter().map(|n| n.details.id);
    let threes = || cluster.pipelines.iter().filter(|e| e.record.config == THREE);
    nodes.map(|n| threes().filter(|e| count(&e.record, n)).count()).collect()
}

proptest! {
    #[test]
    fn pipelines_and_leaders_are_spread_evenly(nodes in 3u128..20, limit in 1u32..6) {
        let settings = Settings { pipeline_limit: limit, create_factor_one: false, ..settings() };
        let mut cluster = cluster(nodes, settings);
        make_pipelines(&mut cluster, 1, START);

        let loads = per_node(&cluster, |p, n| p.member(n).is_some());
        // At most two nodes have room left, and none is above the limit.
        let slots = nodes as usize * limit as usize;
        prop_assert_eq!(loads.iter().sum::<usize>(), slots / 3 * 3, "{:?}", loads);
        prop_assert!(loads.iter().all(|l| *l <= limit as usize));
        let leads = per_node(&cluster, |p, n| p.suggested_leader == Some(n));
        prop_assert!(leads.iter().max().unwrap() - leads.iter().min().unwrap() <= 2, "{:?}", leads);
        for entry in cluster.pipelines.iter() {
            let mut members: Vec<_> = entry.record.members.iter().map(|m| m.id).collect();
            members.sort_unstable();
            members.dedup();
            prop_assert_eq!(members.len(), 3);
        }
    }

    #[test]
    fn nodes_that_come_one_by_one_end_up_as_if_they_had_come_together(
        nodes in 3u128..13, limit in 1u32..5, racks in 1u128..4,
    ) {
        let rack = |n: u128| format!("/r{}", n % racks);
        let mut cluster = cluster(0, threes(limit));
        let mut next = 1;
        for n in 1..=nodes {
            in_rack(&mut cluster, n, &rack(n));
            open_and_close_pipelines(&mut cluster, next);
            next += 1_000;
        }
        let sets = open_sets(&cluster);
        let slots = nodes as usize * limit as usize;
        if racks == 1 || nodes.is_multiple_of(racks) {
            prop_assert_eq!(sets.len(), slots / 3, "{:?}", &sets);
        }
        let mut distinct = sets.clone();
        distinct.sort();
        distinct.dedup();
        if nodes > 5 {
            prop_assert_eq!(distinct.len(), sets.len(), "{:?}", &sets);
        }
        for set in &sets {
            let mut racks_of: Vec<_> = set.iter().map(|n| rack(*n)).collect();
            racks_of.sort();
            racks_of.dedup();
            prop_assert!(racks == 1 || racks_of.len() > 1, "{:?}", &sets);
        }
        if nodes > 3 && racks == 1 {
            let used: std::collections::BTreeSet<_> = sets.iter().flatten().collect();
            prop_assert!(used.len() + 2 >= nodes.try_into().unwrap(), "{:?}", &sets);
        }
    }

    #[test]
    fn nodes_that_come_in_groups_end_up_as_if_they_had_come_together(
        groups in proptest::collection::vec(1u128..5, 1..5), limit in 1u32..6, racks in 1u128..3,
    ) {
        let mut cluster = cluster(0, threes(limit));
        let (mut nodes, mut next) = (0, 1);
        for group in groups {
            for _ in 0..group {
                nodes += 1;
                in_rack(&mut cluster, nodes, &format!("/r{}", nodes % racks));
            }
            // The next nodes register before any pipeline is improved.
            next += make_pipelines(&mut cluster, next, START).len() as u128;
        }
        open_and_close_pipelines(&mut cluster, next);
        let mut sets = open_sets(&cluster);
        let count = sets.len();
        if racks == 1 {
            prop_assert_eq!(count, nodes as usize * limit as usize / 3 * usize::from(nodes >= 3));
        }
        sets.sort();
        sets.dedup();
        if nodes > 6 {
            prop_assert_eq!(sets.len(), count, "{:?}", &sets);
        }
    }

    #[test]
    fn with_enough_nodes_no_two_share_all_their_pipelines(nodes in 7u128..20) {
        let settings = Settings { pipeline_limit: 3, create_factor_one: false, ..settings() };
        let mut cluster = cluster(nodes, settings);
        make_pipelines(&mut cluster, 1, START);
        let mut shared: BTreeMap<(DatanodeId, DatanodeId), usize> = BTreeMap::new();
        for entry in cluster.pipelines.iter() {
            let mut ids: Vec<_> = entry.record.members.iter().map(|m| m.id).collect();
            ids.sort_unstable();
            for (i, a) in ids.iter().enumerate() {
                for b in &ids[i + 1..] {
                    *shared.entry((*a, *b)).or_default() += 1;
                }
            }
        }
        prop_assert!(shared.values().all(|n| *n <= 2), "{:?}", shared);
    }
}
