//! Random histories against a model: whatever happens in whatever order, every acknowledged block
//! that was not deleted reads back, and the sums are right.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Small(u64, usize),
    Large(u64, usize),
    Delete(Vec<u64>),
    Reclaim,
    Flush,
    Stop,
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let small = (1u64..30, 1usize..20_000).prop_map(|(n, len)| Step::Small(n, len));
    let large = (31u64..40, 1usize..200_000).prop_map(|(n, len)| Step::Large(n, len));
    let delete = prop::collection::vec(1u64..40, 1..8).prop_map(Step::Delete);
    let step = prop_oneof![
        12 => small,
        3 => large,
        2 => delete,
        2 => Just(Step::Reclaim),
        2 => Just(Step::Flush),
        1 => Just(Step::Stop),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 1..50)
}

#[derive(Default)]
struct Model {
    blocks: BTreeMap<u64, Bytes>,
    /// Named by a transaction; local ids are used once in a cluster.
    deleted: BTreeSet<u64>,
    next_tx: i64,
    seed: u64,
}

impl Model {
    fn usable(&self, local: u64, len: usize) -> bool {
        let shorter = self.blocks.get(&local).is_some_and(|data| data.len() > len);
        !shorter && !self.deleted.contains(&local)
    }
}

fn run(steps: &[Step]) {
    let mut node = Node::with(|options| {
        options.segment_size = 40_000;
        options.pending_bytes = 30_000;
    });
    node.ensure_container();
    let mut model = Model { next_tx: 1, ..Model::default() };
    for step in steps {
        model.seed += 1;
        match step {
            Step::Small(local, len) if model.usable(*local, *len) => {
                let data = pattern(model.seed, *len);
                node.put_small(*local, data.clone());
                model.blocks.insert(*local, data);
            }
            Step::Large(local, len) if model.usable(*local, *len) => {
                // A block's file only ever grows: the bytes committed stay what they are.
                let mut chunks = vec![];
                if let Some(there) = model.blocks.get(local) {
                    chunks.push(there.clone());
                }
                let there = chunks.first().map_or(0, Bytes::len);
                if *len > there {
                    chunks.push(pattern(model.seed, *len - there));
                }
                node.put_large(*local, &chunks);
                model.blocks.insert(*local, chunks.concat().into());
            }
            Step::Delete(locals) => {
                node.delete(model.next_tx, locals);
                model.next_tx += 1;
                model.deleted.extend(locals);
            }
            Step::Reclaim => {
                node.store().reclaim(100).unwrap();
                let gone = &model.deleted;
                model.blocks.retain(|local, _| !gone.contains(local));
            }
            Step::Flush => {
                node.pipe().flush().unwrap();
            }
            Step::Stop => {
                node.stop();
                node.open();
                node.replay();
            }
            Step::Kill => {
                node.kill();
                node.open();
                node.replay();
            }
            Step::Small(..) | Step::Large(..) => {}
        }
        check(&node, &model);
    }
}

fn check(node: &Node, model: &Model) {
    for (local, data) in &model.blocks {
        assert!(node.read(*local).unwrap() == *data, "block {local}");
    }
    let info = node.container().info();
    assert_eq!(info.state, container::ContainerState::Open);
    assert_eq!(info.blocks, model.blocks.len() as u64);
    assert_eq!(info.used, model.blocks.values().map(|data| data.len() as u64).sum::<u64>());
    let live: u64 =
        node.container().segments.lock().infos.values().map(|info| info.live_records).sum();
    assert_eq!(live, model.blocks.keys().filter(|local| **local <= 30).count() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, ..ProptestConfig::default() })]
    #[test]
    fn every_history_keeps_what_was_acknowledged(steps in steps()) {
        run(&steps);
    }
}

/// Histories that found bugs.
#[test]
fn histories_that_once_failed() {
    use Step::*;
    run(&[
        Small(10, 19520),
        Small(4, 8225),
        Small(28, 13555),
        Small(7, 10562),
        Delete(vec![7]),
        Reclaim,
        Kill,
        Small(26, 5970),
        Reclaim,
        Kill,
    ]);
}
