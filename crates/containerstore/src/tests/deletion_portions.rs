//! Batches in which deleted blocks are removed.

use std::time::Duration;

use super::*;

#[test]
fn what_goes_beside_clients_is_given_back_in_small_works() {
    let mut node = Node::new();
    for local in 1..=600 {
        node.put_small(local, pattern(local, 100));
    }
    node.close();
    let deleted: Vec<u64> = (1..=550).collect();
    node.delete(1, &deleted[..400]);
    node.delete(2, &deleted[400..]);
    let done = node.store().reclaim_beside_clients(1000, 1.0).unwrap();
    assert_eq!((done.portion, done.blocks, done.more), (550, 550, false));
    assert_eq!(node.container().info().blocks, 50);
    node.store().flush_all().unwrap();
    // Whatever the batch size: 250 blocks, the rest of the transaction, the next one.
    for pending in [550, 150, 0] {
        let done = node.store().reclaim_beside_clients(250, 1.0).unwrap();
        assert_eq!((done.portion, done.more), (0, true));
        assert_eq!(node.container().info().pending_delete, pending);
    }
    assert!(!node.store().reclaim_beside_clients(250, 1.0).unwrap().more);
    assert_eq!(node.read(551).unwrap(), pattern(551, 100));
}

#[test]
fn a_portion_without_clients_is_one_work() {
    let mut node = Node::new();
    for local in 1..=600 {
        node.put_small(local, pattern(local, 100));
    }
    node.close();
    node.delete(1, &(1..=550).collect::<Vec<_>>());
    let done = node.store().reclaim(1000).unwrap();
    assert_eq!((done.portion, done.blocks, done.more), (550, 550, false));
    assert_eq!(done.with_rests, Duration::ZERO);
    let info = node.container().info();
    assert_eq!((info.blocks, info.pending_delete), (50, 0));
}
