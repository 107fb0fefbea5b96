//! Ids are never given twice, whatever crashes.

use std::collections::BTreeSet;

use placement::{Change, Cluster, Refused, Sequence, Settings};
use proptest::prelude::*;

#[test]
fn a_reservation_on_an_old_view_is_refused() {
    let mut cluster = Cluster::new(Settings::default());
    let sequence = Sequence::LocalId;
    let reserve = |expected, last| Change::ReserveIds { sequence, expected, last };
    cluster.apply(&reserve(0, 1_000)).unwrap();
    let refused = cluster.apply(&reserve(0, 2_000)).unwrap_err();
    assert_eq!(refused, Refused::SequenceMoved { sequence, last: 1_000, expected: 0 });
    assert!(cluster.apply(&reserve(1_000, 900)).is_err(), "backwards");
    assert_eq!(cluster.sequences.last(sequence), 1_000);
}

#[derive(Debug, Clone)]
enum Step {
    Take(u64),
    Reserve(u64),
    Restart,
    LoseLeadership,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (1u64..50).prop_map(Step::Take),
        3 => (1u64..100).prop_map(Step::Reserve),
        1 => Just(Step::Restart),
        1 => Just(Step::LoseLeadership),
    ]
}

proptest! {
    #[test]
    fn no_id_is_handed_out_twice_over_restarts(steps in proptest::collection::vec(step(), 1..200)) {
        let sequence = Sequence::ContainerId;
        let mut cluster = Cluster::new(Settings::default());
        let mut seen = BTreeSet::new();
        for step in steps {
            match step {
                Step::Take(count) => {
                    for id in cluster.sequences.allocate(sequence, count).into_iter().flatten() {
                        prop_assert!(seen.insert(id), "{} again", id);
                    }
                }
                Step::Reserve(count) => {
                    let expected = cluster.sequences.last(sequence);
                    let last = expected + count;
                    cluster.apply(&Change::ReserveIds { sequence, expected, last }).unwrap();
                    cluster.sequences.grant(sequence, expected + 1..last + 1);
                }
                Step::Restart => {
                    let last = cluster.sequences.last(sequence);
                    cluster = Cluster::new(Settings::default());
                    cluster.sequences.load(sequence, last);
                }
                Step::LoseLeadership => cluster.sequences.drop_ranges(),
            }
        }
    }
}
