//! The order of locks is checked in tests.

use std::sync::Arc;

use super::Node;

#[test]
fn a_container_whose_locks_are_taken_in_the_wrong_order_panics() {
    let node = Node::new();
    node.ensure_container();
    let container = node.container();
    let in_order = {
        let container = Arc::clone(&container);
        move || {
            let _changing = container.changing.lock();
            drop(container.commit.lock());
        }
    };
    let out_of_order = move || {
        let _commit = container.commit.lock();
        drop(container.changing.lock());
    };
    std::thread::spawn(in_order).join().unwrap();
    std::thread::spawn(out_of_order).join().unwrap_err();
}
