//! A queue with many senders and one thread that takes all items at once.
//!
//! Taking all items in one step is what forms batches: the busier the senders, the larger the
//! receiver's next batch. A sender wakes the receiver only when it sleeps.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

struct State<T> {
    items: Vec<T>,
    asleep: bool,
    closed: bool,
}

/// The queue, shared by senders; one thread receives from it.
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Self {
        let state = State { items: Vec::new(), asleep: false, closed: false };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Adds an item; drops it if the receiver has ended.
    pub(crate) fn push(&self, item: T) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            drop(item);
            return;
        }
        state.items.push(item);
        let wake = std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Adds many items at once.
    pub(crate) fn push_all(&self, items: &mut Vec<T>) {
        if items.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            items.clear();
            return;
        }
        state.items.append(items);
        let wake = std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Swaps all queued items into `into` (which must be empty), waiting for the first item until
    /// `deadline` (`None`: forever). Returns `false` if the inbox is closed and empty.
    pub(crate) fn recv_many(&self, into: &mut Vec<T>, deadline: Option<Instant>) -> bool {
        debug_assert!(into.is_empty());
        let mut state = self.state.lock();
        while state.items.is_empty() {
            if state.closed {
                return false;
            }
            state.asleep = true;
            match deadline {
                Some(at) => {
                    if self.wake.wait_until(&mut state, at).timed_out() {
                        break;
                    }
                }
                None => self.wake.wait(&mut state),
            }
        }
        state.asleep = false;
        std::mem::swap(&mut state.items, into);
        true
    }

    /// Refuses further items; the receiver still gets the queued ones.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }
}
