//! Repaired containers are in at least two racks (as HDDS-16066 has it), whatever the distribution
//! of the nodes and of the container's remaining replicas.

use std::collections::BTreeSet;

use placement::{Cluster, Container, OrderKind, Replica, ReplicaState};
use proptest::prelude::*;
use proto::hdds::LifeCycleState;
use types::{ContainerId, DatanodeId};

use crate::ec_fixture::*;
use crate::fixture::*;

/// A closed container with the remaining ones of its three replicas on these nodes.
fn left_on(cluster: &mut Cluster, nodes: &[u128]) -> ContainerId {
    let id = container(1);
    cluster.containers.insert(Container {
        id,
        state: LifeCycleState::Closed,
        pipeline: None,
        config: THREE,
        storage_type: types::StorageType::default(),
        owner: OWNER.into(),
        used_bytes: 5_000,
        keys: 5,
        state_enter_ms: START,
        sequence_id: 5,
        delete_transaction: 0,
        suppressed: false,
        evidence: Default::default(),
    });
    nodes
        .iter()
        .for_each(|n| drop(report(cluster, id, replica(*n, ReplicaState::Closed, 5, 5), START)));
    id
}

fn racks(cluster: &Cluster, nodes: impl Iterator<Item = DatanodeId>) -> BTreeSet<String> {
    nodes.map(|id| cluster.nodes.get(id).unwrap().details.network_location.clone()).collect()
}

proptest! {
    #[test]
    fn what_is_repaired_spans_two_racks_where_there_are_two(
        rack_of in proptest::collection::vec(0..3_u8, 4..9),
        order in Just((1..=9_u128).collect::<Vec<_>>()).prop_shuffle(),
        left in 1..=3_usize,
    ) {
        let mut cluster = cluster(0, settings());
        for (n, rack) in (1..).zip(&rack_of) {
            register_in(&mut cluster, n, &format!("/rack{rack}"), START);
        }
        let there: Vec<u128> = order.into_iter().filter(|n| *n <= rack_of.len() as u128).collect();
        let id = left_on(&mut cluster, &there[..left]);
        let all = racks(&cluster, cluster.nodes.iter().map(|n| n.details.id));
        let mut now = START;
        for _ in 0..20 {
            now += cluster.settings.resend_after;
            let before = racks(&cluster, cluster.replicas.of(id).iter().map(|r| r.node));
            for order in repair(&mut cluster, now) {
                match order.kind {
                    OrderKind::ReplicateContainer { target, .. } => {
                        // Whatever is lost next, the remaining replicas are in two racks as soon as
                        // possible.
                        let to = racks(&cluster, [target].into_iter());
                        prop_assert!(all.len() == 1 || before.len() > 1 || to != before);
                        let n = target.0.as_u128();
                        let copy = replica(n, ReplicaState::Closed, 5, 5);
                        report(&mut cluster, id, Replica { origin: node(1), ..copy }, now);
                    }
                    OrderKind::DeleteContainer { .. } => {
                        let n = order.node.0.as_u128();
                        report(&mut cluster, id, replica(n, ReplicaState::Deleted, 0, 0), now);
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
        let after = racks(&cluster, cluster.replicas.of(id).iter().map(|r| r.node));
        prop_assert_eq!(cluster.replicas.of(id).len(), 3);
        prop_assert!(after.len() >= all.len().min(2), "{after:?} of {all:?}");
    }

    /// The same of erasure coded ones: no rack has more indexes than the code makes up for, or than
    /// its even share.
    #[test]
    fn what_is_decoded_is_spread_over_racks(
        nodes in 9..=12_u128,
        of in 1..=4_u128,
        lost in proptest::collection::btree_set(1..=5_u32, 1..=2),
    ) {
        let mut cluster = in_racks(nodes, of);
        let (_, id) = closed(&mut cluster);
        for index in &lost {
            lose(&mut cluster, id, *index);
        }
        let now = soon(&cluster);
        for order in repair(&mut cluster, now) {
            arrive(&mut cluster, &reconstruction(&order));
        }
        prop_assert_eq!(health(&cluster, id), "HEALTHY");
        let most = usize::max(2, 5_usize.div_ceil(of as usize));
        for rack in racks(&cluster, cluster.nodes.iter().map(|n| n.details.id)) {
            let here = |r: &&Replica| {
                cluster.nodes.get(r.node).unwrap().details.network_location == rack
            };
            prop_assert!(cluster.replicas.of(id).iter().filter(here).count() <= most);
        }
    }
}
