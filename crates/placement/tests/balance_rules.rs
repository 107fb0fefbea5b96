//! Containers that the container balancer does not move, a rule per test. By everything else in the
//! test the move would be an improvement.

use placement::ReplicaState;
use placement::balance::{Choice, Configuration, Iteration};
use placement::replica::moving::MoveResult;
use types::{ContainerId, DatanodeId};

use crate::balance::{CAPACITY, World, configuration};
use crate::ec_fixture::{RS_3_2, ec};
use crate::fixture::*;

/// Begins an iteration in which these containers may move.
fn begin(world: &mut World, threshold: f64, containers: &[ContainerId]) -> Iteration {
    world.beat();
    world.now += world.cluster.settings.resend_after;
    world.beat();
    let include_containers = containers.iter().copied().collect();
    let configuration = Configuration { threshold, include_containers, ..configuration() };
    Iteration::begin(&world.cluster.nodes, configuration).unwrap()
}

/// The next move: its container, source and target.
fn next(iteration: &mut Iteration, world: &mut World) -> Option<(u64, DatanodeId, DatanodeId)> {
    match world.cluster.next_move(iteration, world.now) {
        Choice::Move(_) => {
            let moved = *world.cluster.moves.iter().last().unwrap();
            Some((moved.id.0, moved.source, moved.target))
        }
        Choice::Exhausted => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_source_does_not_become_under_utilised() {
    let mut world = World::new(4, 1);
    let large = world.add(THREE, 300, &[1, 2, 3]);
    world.add(ONE, 10, &[1]);
    // 31, 30, 30 and 0 %: without the large one the first would have 1 %.
    let mut iteration = begin(&mut world, 10.0, &[large]);
    assert_eq!(next(&mut iteration, &mut world), None);
}

#[test]
fn a_target_does_not_become_over_utilised() {
    let mut world = World::new(4, 1);
    let (small, large) = (world.add(ONE, 100, &[1]), world.add(ONE, 300, &[1]));
    for n in 1..=4 {
        world.add(ONE, 150, &[n]);
    }
    // 55, 15, 15 and 15 %, 25 of all, at most 35: with the large one a target would have 45.
    let mut iteration = begin(&mut world, 10.0, &[small, large]);
    assert_eq!(next(&mut iteration, &mut world), Some((small.0, node(1), node(2))));
    assert_eq!(next(&mut iteration, &mut world), None);
}

#[test]
fn a_target_stays_emptier_than_the_source_was() {
    let mut world = World::new(2, 1);
    world.capacities.insert(node(1), 10 * CAPACITY);
    let moved = world.add(ONE, 100, &[1]);
    world.add(ONE, 1_500, &[1]);
    world.add(ONE, 80, &[2]);
    // 16 and 8 %, between 10.3 and 20.3 is well: the small one would have 18 %.
    let mut iteration = begin(&mut world, 5.0, &[moved]);
    assert_eq!(next(&mut iteration, &mut world), None);
}

#[test]
fn a_move_that_failed_is_made_up_for() {
    let mut world = World::new(4, 1);
    let first = [1, 1, 1].map(|n| world.add(ONE, 100, &[n]));
    for n in 2..=4 {
        world.add(ONE, 100, &[n]);
    }
    // 30 and 10 %, 15 of all: one move is enough.
    let mut iteration = begin(&mut world, 10.0, &first);
    let (id, source, target) = next(&mut iteration, &mut world).unwrap();
    assert_eq!(next(&mut iteration, &mut world), None);
    assert!(world.cluster.pending.failed(container(id), target));
    let ended = world.cluster.review_moves(world.now);
    assert_eq!(ended.iter().map(|(_, r)| *r).collect::<Vec<_>>(), [MoveResult::Failed]);
    iteration.note(&ended[0].0, ended[0].1);
    let (other, again, _) = next(&mut iteration, &mut world).unwrap();
    assert!(other != id && again == source);
    assert_eq!(next(&mut iteration, &mut world), None);
}

#[test]
fn a_container_that_lacks_a_replica_is_not_moved() {
    let mut world = World::new(4, 1);
    let id = world.add(THREE, 200, &[1, 2, 3]);
    let whole = world.add(THREE, 210, &[1, 2, 3]);
    report(&mut world.cluster, id, replica(3, ReplicaState::Deleted, 200, 5), START);
    let mut iteration = begin(&mut world, 10.0, &[id]);
    assert_eq!(next(&mut iteration, &mut world), None);
    let mut iteration = begin(&mut world, 10.0, &[whole]);
    assert!(next(&mut iteration, &mut world).is_some(), "this one has all");
}

/// A move from one of two nodes to the other one, which is empty; the others do not take part.
fn between(world: &mut World, id: ContainerId, source: u128, target: u128) -> bool {
    let include_nodes = [source, target].map(|n| format!("host{n}")).into();
    world.beat();
    world.now += world.cluster.settings.resend_after;
    world.beat();
    let configuration = Configuration {
        threshold: 1.0,
        include_nodes,
        include_containers: [id].into(),
        ..configuration()
    };
    let mut iteration = Iteration::begin(&world.cluster.nodes, configuration).unwrap();
    let moves = next(&mut iteration, world).is_some();
    world.cluster.moves.clear();
    moves
}

#[test]
fn replicas_do_not_gather_in_a_rack() {
    // Those of even numbers are in one rack, the others in another one.
    let mut world = World::new(8, 2);
    let id = world.add(THREE, 100, &[1, 2, 4]);
    world.add(ONE, 150, &[1]);
    assert!(!between(&mut world, id, 1, 6), "all three would be in one rack");
    assert!(between(&mut world, id, 1, 3));

    // As many as there are parities may be lost with a rack, or as few as can be.
    let mut world = World::new(8, 2);
    let id = world.add(ec(RS_3_2), 100, &[1, 2, 3, 4, 6]);
    for n in [1, 2] {
        world.add(ONE, 150, &[n]);
    }
    assert!(!between(&mut world, id, 1, 8), "four of five would be in one rack");
    assert!(between(&mut world, id, 2, 8));
}
