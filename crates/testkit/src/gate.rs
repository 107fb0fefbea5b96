//! Gate that blocks threads and tasks until the test opens it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

#[derive(Default)]
struct State {
    is_open: bool,
    /// Number of arrivals so far.
    arrived: usize,
    /// Number of them that may pass a closed gate, in order of arrival.
    admitted: usize,
    waiting: usize,
    passed: usize,
}

struct Inner {
    state: Mutex<State>,
    opened: Condvar,
    changed: watch::Sender<bool>,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, is_open: bool) {
        let mut state = self.state();
        if is_open || state.is_open {
            state.admitted = state.admitted.max(state.arrived);
        }
        state.is_open = is_open;
        drop(state);
        self.opened.notify_all();
        self.changed.send_replace(is_open);
    }
}

/// Blocks threads and tasks until it is opened: a step of a duration that the test decides.
///
/// A failing test opens it by dropping it, so that nothing is blocked forever.
pub struct Gate(Arc<Inner>);

impl Gate {
    /// A gate that is closed.
    pub fn closed() -> Self {
        let (state, opened) = (Mutex::default(), Condvar::new());
        Self(Arc::new(Inner { state, opened, changed: watch::Sender::new(false) }))
    }

    /// Releases waiting and later arrivals.
    pub fn open(&self) {
        self.0.set(true);
    }

    /// Admits `count` arrivals: those that have waited longest, and then the next ones.
    pub fn admit(&self, count: usize) {
        self.0.state().admitted += count;
        self.0.opened.notify_all();
    }

    /// Blocks later arrivals.
    pub fn close(&self) {
        self.0.set(false);
    }

    /// Number of waiting arrivals.
    pub fn waiting(&self) -> usize {
        self.0.state().waiting
    }

    /// Number of arrivals that have passed.
    pub fn passed(&self) -> usize {
        self.0.state().passed
    }

    /// The function that a thread calls to pass: it returns once the gate is open.
    pub fn blocking(&self) -> impl Fn() + Clone + Send + Sync + use<> {
        let inner = self.0.clone();
        move || {
            let mut state = inner.state();
            let number = state.arrived;
            state.arrived += 1;
            state.waiting += 1;
            while !state.is_open && number >= state.admitted {
                state = inner.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.waiting -= 1;
            state.passed += 1;
        }
    }

    /// The future that a task awaits to pass.
    pub fn pass(&self) -> impl Future<Output = ()> + Send + use<> {
        let inner = self.0.clone();
        async move {
            inner.state().waiting += 1;
            let waiting = Waiting(&inner);
            // The sender is in `inner`.
            let _ = inner.changed.subscribe().wait_for(|is_open| *is_open).await;
            drop(waiting);
            inner.state().passed += 1;
        }
    }
}

/// A task at the gate, which may be dropped there.
struct Waiting<'a>(&'a Inner);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let State { is_open, waiting, passed, .. } = &*self.0.state();
        write!(f, "Gate {{ is_open: {is_open}, waiting: {waiting}, passed: {passed} }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{until, until_blocking};

    #[test]
    fn threads_wait_until_it_is_opened_or_dropped() {
        for is_dropped in [false, true] {
            let gate = Gate::closed();
            let pass = gate.blocking();
            let thread = std::thread::spawn(pass);
            until_blocking("the thread at the gate", || gate.waiting() == 1);
            assert!(!thread.is_finished());
            if is_dropped {
                drop(gate);
            } else {
                gate.open();
                until_blocking("the thread to pass the gate", || gate.passed() == 1);
            }
            thread.join().expect("it passes");
        }
    }

    #[test]
    fn as_many_pass_as_are_admitted() {
        let gate = Gate::closed();
        let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(gate.blocking())).collect();
        until_blocking("three at the gate", || gate.waiting() == 3);
        gate.admit(2);
        until_blocking("two threads to pass the gate", || gate.passed() == 2);
        assert_eq!(gate.waiting(), 1);
        // A later arrival does not overtake a waiting one.
        let later = std::thread::spawn(gate.blocking());
        until_blocking("another one", || gate.waiting() == 2);
        gate.admit(1);
        until_blocking("the third one", || gate.passed() == 3);
        until_blocking("it ended", || threads.iter().all(|thread| thread.is_finished()));
        assert!(!later.is_finished());
        gate.open();
        later.join().expect("it passes");
        threads.into_iter().for_each(|thread| thread.join().expect("it passes"));
    }

    #[tokio::test]
    async fn tasks_wait_and_may_leave() {
        let gate = Gate::closed();
        let (leaving, staying) = (tokio::spawn(gate.pass()), tokio::spawn(gate.pass()));
        until("both tasks", async || gate.waiting() == 2).await;
        leaving.abort();
        until("one task", async || gate.waiting() == 1).await;
        gate.open();
        staying.await.expect("it passes");
        assert_eq!((gate.waiting(), gate.passed()), (0, 1));
        gate.close();
        let again = tokio::spawn(gate.pass());
        until("the next task", async || gate.waiting() == 1).await;
        drop(gate);
        again.await.expect("it passes");
    }
}
