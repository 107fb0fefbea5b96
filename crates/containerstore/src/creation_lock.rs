//! The containers that are being created on this node.
//!
//! | what makes one | how long | against the others |
//! | --- | --- | --- |
//! | a creation | moments | one at a time; one by a pipeline's log ends a copy, others are refused |
//! | a copy, from another node or disk | minutes | refused while anything else creates the container |
//!
//! A replica and a copy of the same container on the same disk have rows with the same keys. So no
//! copy writes or removes rows of a container while another thread makes it on that disk.
//!
//! A disk that hangs must hold up no other: a creation waits for a copy on its own disk only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};
use rustc_hash::{FxHashMap, FxHashSet};
use types::ContainerId;

use crate::lock_order::{Held, OrderedGuard, OrderedMutex, Rank};

/// The containers that are being created.
#[derive(Default)]
pub(super) struct CreationLocks {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    locked: FxHashSet<ContainerId>,
    copies: FxHashMap<ContainerId, Arc<CopyState>>,
}

/// The right to make a container, until it is dropped.
pub(super) struct CreationLock<'a> {
    locks: &'a CreationLocks,
    id: ContainerId,
    _held: Held,
}

/// A copy in progress.
pub(super) struct CopyState {
    /// Storage id of its disk.
    disk: String,
    ended: AtomicBool,
    /// Held while rows of the copy are written or removed.
    step: OrderedMutex<()>,
}

impl CopyState {
    /// Waits until the copy may write or remove rows.
    pub(super) fn step(&self) -> OrderedGuard<'_, ()> {
        self.step.lock()
    }

    /// Returns `true` if the container's pipeline is creating it meanwhile: the copy is no longer
    /// written.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Nothing more is written of the copy.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

impl CreationLocks {
    /// Waits until no other thread is making the container. Blocks.
    pub(super) fn lock(&self, id: ContainerId) -> CreationLock<'_> {
        let held = Held::enter(Rank::Creation, id);
        let mut state = self.state.lock();
        while !state.locked.insert(id) {
            self.ended.wait(&mut state);
        }
        CreationLock { locks: self, id, _held: held }
    }

    /// Returns `true` if a copy of the container is in progress.
    pub(super) fn has_copy(&self, id: ContainerId) -> bool {
        self.state.lock().copies.contains_key(&id)
    }

    /// Ends the copy of a container that is about to be created on this disk. Returns the copy if
    /// it is on the same disk. The creator holds its [`step`](CopyState::step) until the container
    /// is served; otherwise the copy would remove the rows of the container as its own.
    #[must_use]
    pub(super) fn end_copy(&self, id: ContainerId, disk: &str) -> Option<Arc<CopyState>> {
        let copy = {
            let state = self.state.lock();
            let copy = state.copies.get(&id)?;
            copy.end();
            Arc::clone(copy)
        };
        tracing::warn!(container = %id, disk = copy.disk, "dropping a copy: the pipeline creates the container here");
        (copy.disk == disk).then_some(copy)
    }

    /// Calls `publish` unless the copy has ended. It cannot end meanwhile.
    pub(super) fn publish<T>(&self, copy: &CopyState, publish: impl FnOnce() -> T) -> Option<T> {
        let _state = self.state.lock();
        (!copy.has_ended()).then(publish)
    }

    /// Removes a copy that is published or discarded.
    pub(super) fn remove_copy(&self, id: ContainerId, copy: &Arc<CopyState>) {
        let mut state = self.state.lock();
        if state.copies.get(&id).is_some_and(|there| Arc::ptr_eq(there, copy)) {
            state.copies.remove(&id);
        }
    }
}

impl CreationLock<'_> {
    /// Adds a copy of the container, on the disk of this storage id. `None` when there is one.
    pub(super) fn add_copy(&self, disk: &str) -> Option<Arc<CopyState>> {
        let mut state = self.locks.state.lock();
        if state.copies.contains_key(&self.id) {
            return None;
        }
        let step = OrderedMutex::of_container(Rank::CopyStep, self.id, ());
        let ended = AtomicBool::new(false);
        let copy = Arc::new(CopyState { disk: disk.to_owned(), ended, step });
        state.copies.insert(self.id, Arc::clone(&copy));
        Some(copy)
    }
}

impl Drop for CreationLock<'_> {
    fn drop(&mut self) {
        self.locks.state.lock().locked.remove(&self.id);
        self.locks.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_made_by_one_at_a_time_and_holds_up_no_other() {
        let locks = CreationLocks::default();
        let [one, two] = [1, 2].map(ContainerId::from_wire);
        let ended = AtomicBool::new(false);
        let lock = locks.lock(one);
        drop(locks.lock(two));
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let _lock = locks.lock(one);
                ended.load(Ordering::SeqCst)
            });
            ended.store(true, Ordering::SeqCst);
            drop(lock);
            assert!(second.join().unwrap(), "it came in while the first one was at it");
        });
        drop(locks.lock(one));
    }

    #[test]
    fn a_copy_on_the_same_disk_is_waited_for_and_one_on_another_disk_is_not() {
        let locks = CreationLocks::default();
        let id = ContainerId::from_wire(1);
        let copy = locks.lock(id).add_copy("DS-1").unwrap();
        assert!(locks.lock(id).add_copy("DS-2").is_none(), "there is one");
        let written = AtomicBool::new(false);
        let step = copy.step();
        // A disk that hangs in the step would delay this forever.
        assert!(locks.end_copy(id, "DS-2").is_none());
        assert!(copy.has_ended());
        std::thread::scope(|scope| {
            let same_disk = scope.spawn(|| {
                let ended = locks.end_copy(id, "DS-1").unwrap();
                let _step = ended.step();
                written.load(Ordering::SeqCst)
            });
            written.store(true, Ordering::SeqCst);
            drop(step);
            assert!(same_disk.join().unwrap(), "the copy was still writing");
        });
        assert_eq!(locks.publish(&copy, || ()), None, "it has ended");
        locks.remove_copy(id, &copy);
        assert!(!locks.has_copy(id));
    }
}
