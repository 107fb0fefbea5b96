//! Locks that are taken in one order, so that no two threads wait for each other.
//!
//! Each lock has a [`Rank`]. A thread takes locks in ascending order of their ranks, and those of
//! one rank in ascending order of the ids of their containers. Tests and debug builds panic at a
//! lock that is out of order, whether or not another thread holds it; in release builds an
//! [`OrderedMutex`] is the mutex in it and nothing else.

use std::ops::{Deref, DerefMut};

use parking_lot::{Mutex, MutexGuard};
use types::ContainerId;

/// The order of the locks: a thread that holds one takes only locks that come after it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The queue of unfreed space of a disk: one reclaims at a time.
    UnfreedSpace,
    /// The right to make a container ([`CreationLock`](crate::creation_lock::CreationLock)).
    Creation,
    /// `Container::changing`.
    Changing,
    /// `Disk::flushing`.
    Flushing,
    /// `Container::writing`.
    Writing,
    /// `Container::commit`.
    Commit,
    /// A step of a copy ([`CopyState`](crate::creation_lock::CopyState)).
    CopyStep,
    /// `Container::segments`.
    Segments,
    /// `Container::meta`.
    Meta,
    /// `Disk::pipelines`.
    Pipelines,
    /// `Disk::deleting`.
    Deleting,
    /// `Disk::dirty`.
    Dirty,
}

/// A mutex with a rank.
pub(crate) struct OrderedMutex<T> {
    #[cfg(any(test, debug_assertions))]
    place: held::Place,
    mutex: Mutex<T>,
}

/// Guard returned by [`OrderedMutex::lock`].
pub(crate) struct OrderedGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    _held: Held,
}

/// A lock that this thread holds.
pub(crate) struct Held {
    #[cfg(any(test, debug_assertions))]
    place: held::Place,
}

impl<T> OrderedMutex<T> {
    /// Creates a lock of a disk. A thread holds those of one disk at a time.
    pub(crate) fn of_disk(rank: Rank, value: T) -> Self {
        Self::of_container(rank, ContainerId(0), value)
    }

    /// Creates a lock of a container.
    #[cfg_attr(not(any(test, debug_assertions)), expect(unused_variables))]
    pub(crate) fn of_container(rank: Rank, id: ContainerId, value: T) -> Self {
        Self {
            #[cfg(any(test, debug_assertions))]
            place: held::Place { rank, id },
            mutex: Mutex::new(value),
        }
    }

    /// Waits for the lock.
    ///
    /// # Panics
    /// In tests and debug builds, when the thread holds a lock that comes after it.
    pub(crate) fn lock(&self) -> OrderedGuard<'_, T> {
        let held = Held {
            #[cfg(any(test, debug_assertions))]
            place: held::enter(self.place),
        };
        OrderedGuard { guard: self.mutex.lock(), _held: held }
    }
}

impl Held {
    /// Records that this thread holds a lock of a container that is not one of these mutexes, until
    /// the returned guard is dropped. To be called before it waits for the lock.
    ///
    /// # Panics
    /// In tests and debug builds, when the thread holds a lock that comes after it.
    #[cfg_attr(not(any(test, debug_assertions)), expect(unused_variables))]
    pub(crate) fn enter(rank: Rank, id: ContainerId) -> Self {
        Self {
            #[cfg(any(test, debug_assertions))]
            place: held::enter(held::Place { rank, id }),
        }
    }
}

impl<T> Deref for OrderedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for OrderedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Locks held by each thread.
#[cfg(any(test, debug_assertions))]
mod held {
    use std::cell::RefCell;

    use types::ContainerId;

    use super::{Held, Rank};

    /// Place of a lock in the order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct Place {
        pub rank: Rank,
        pub id: ContainerId,
    }

    thread_local! {
        static HELD: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn enter(place: Place) -> Place {
        HELD.with_borrow_mut(|held| {
            if let Some(later) = held.iter().find(|there| **there >= place) {
                panic!("{place:?} is locked while {later:?} is held, which comes after it");
            }
            held.push(place);
        });
        place
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // None when the thread has ended.
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                if let Some(at) = held.iter().rposition(|there| *there == self.place) {
                    held.remove(at);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Locks two in this order, on a thread of its own. False when that is out of order.
    fn locks(first: (Rank, u64), second: (Rank, u64)) -> bool {
        let mutex = |(rank, id)| OrderedMutex::of_container(rank, ContainerId(id), ());
        let (first, second) = (mutex(first), mutex(second));
        let thread = std::thread::spawn(move || {
            let _first = first.lock();
            drop(second.lock());
            // A released lock may be taken again.
            drop(second.lock());
        });
        thread.join().is_ok()
    }

    #[test]
    fn a_lock_that_is_out_of_order_panics() {
        assert!(locks((Rank::Changing, 7), (Rank::Commit, 7)));
        assert!(!locks((Rank::Commit, 7), (Rank::Changing, 7)));
        assert!(locks((Rank::Commit, 7), (Rank::Commit, 8)), "of two containers, by their ids");
        assert!(!locks((Rank::Commit, 8), (Rank::Commit, 7)));
        assert!(!locks((Rank::Commit, 7), (Rank::Commit, 7)), "two replicas of one container");
        assert!(!locks((Rank::Dirty, 0), (Rank::Changing, 7)));
    }

    #[test]
    fn a_lock_that_is_released_first_orders_nothing() {
        let (outer, inner) = (Rank::Changing, Rank::Commit);
        let [outer, inner] = [outer, inner].map(|rank| OrderedMutex::of_disk(rank, ()));
        let first = outer.lock();
        let second = inner.lock();
        drop(first);
        drop(second);
        drop(inner.lock());
        drop(outer.lock());
    }
}
