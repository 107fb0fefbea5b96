//! Turns to be worked on, shared fairly among users.
//!
//! As long as there are turns, who asks gets one. When there are none, calls wait in a line of
//! their user, and a turn that becomes free goes to the user who has the fewest: one who sends a
//! flood waits behind their own calls, and others do not wait behind the flood. A connection has
//! one call waiting at most, since nothing is read from it meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// The turns of a server.
pub(super) struct Gate {
    state: Mutex<State>,
    all: usize,
    idle: Notify,
}

struct State {
    free: usize,
    users: FxHashMap<Arc<str>, User>,
    /// Users with calls in line.
    lines: usize,
    /// Number of the next call that has to wait: of users with as many turns, who waits longest
    /// is next.
    next: u64,
}

#[derive(Default)]
struct User {
    /// Turns they have.
    running: usize,
    waiting: VecDeque<(u64, oneshot::Sender<Turn>)>,
}

/// The right to be worked on; given back by dropping it.
pub(super) struct Turn {
    gate: Arc<Gate>,
    user: Arc<str>,
}

impl Gate {
    pub(super) fn new(turns: usize) -> Arc<Self> {
        let state = State { free: turns, users: FxHashMap::default(), lines: 0, next: 0 };
        Arc::new(Self { state: Mutex::new(state), all: turns, idle: Notify::new() })
    }

    /// A turn, if there is one in time.
    pub(super) async fn enter(self: &Arc<Self>, user: &Arc<str>, limit: Duration) -> Option<Turn> {
        let turn = {
            let mut state = self.state.lock();
            if state.free > 0 && state.lines == 0 {
                state.free -= 1;
                state.users.entry(Arc::clone(user)).or_default().running += 1;
                return Some(self.turn(user));
            }
            state.join(user)
        };
        // A turn that is given at the very moment the time is up is dropped, and so given back.
        timeout(limit, turn).await.ok().and_then(Result::ok)
    }

    /// Turns that are taken.
    pub(super) fn taken(&self) -> usize {
        self.all - self.state.lock().free
    }

    /// Waits until no turn is taken.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.idle.notified();
            if self.taken() == 0 {
                return;
            }
            changed.await;
        }
    }

    fn turn(self: &Arc<Self>, user: &Arc<str>) -> Turn {
        Turn { gate: Arc::clone(self), user: Arc::clone(user) }
    }

    /// `user` gives a turn back, which goes to whoever is next.
    fn leave(self: &Arc<Self>, user: &Arc<str>) {
        let mut given = None;
        {
            let mut state = self.state.lock();
            state.gave_back(user);
            while let Some((next, waiting)) = state.next_in_line() {
                // Who gave up waiting is passed over.
                if !waiting.is_closed() {
                    state.users.entry(Arc::clone(&next)).or_default().running += 1;
                    given = Some((waiting, self.turn(&next)));
                    break;
                }
            }
            if given.is_none() {
                state.free += 1;
                if state.free == self.all {
                    self.idle.notify_waiters();
                }
            }
        }
        if let Some((waiting, turn)) = given {
            // Not under the lock: a turn that nobody takes comes back here as it is dropped.
            drop(waiting.send(turn));
        }
    }
}

impl State {
    fn join(&mut self, user: &Arc<str>) -> oneshot::Receiver<Turn> {
        let (give, turn) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        let line = &mut self.users.entry(Arc::clone(user)).or_default().waiting;
        self.lines += usize::from(line.is_empty());
        line.push_back((number, give));
        turn
    }

    fn gave_back(&mut self, user: &Arc<str>) {
        if let Some(entry) = self.users.get_mut(user) {
            entry.running = entry.running.saturating_sub(1);
            if entry.running == 0 && entry.waiting.is_empty() {
                self.users.remove(user);
            }
        }
    }

    /// The call that waits longest of the user who has the fewest turns.
    fn next_in_line(&mut self) -> Option<(Arc<str>, oneshot::Sender<Turn>)> {
        if self.lines == 0 {
            return None;
        }
        let (user, entry) = self
            .users
            .iter_mut()
            .filter(|(_, user)| !user.waiting.is_empty())
            .min_by_key(|(_, user)| (user.running, user.waiting.front().map(|(n, _)| *n)))?;
        let (_, turn) = entry.waiting.pop_front()?;
        let user = Arc::clone(user);
        if entry.waiting.is_empty() {
            self.lines -= 1;
            if entry.running == 0 {
                self.users.remove(&user);
            }
        }
        Some((user, turn))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.gate.leave(&self.user);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    type Entering = Pin<Box<dyn Future<Output = Option<Turn>>>>;

    fn entering(gate: &Arc<Gate>, user: &'static str) -> Entering {
        let gate = Arc::clone(gate);
        let mut entering: Entering =
            Box::pin(async move { gate.enter(&Arc::from(user), LONG).await });
        assert!(futures::FutureExt::now_or_never(entering.as_mut()).is_none(), "{user} waits");
        entering
    }

    async fn enter(gate: &Arc<Gate>, user: &'static str) -> Turn {
        gate.enter(&Arc::from(user), LONG).await.unwrap()
    }

    fn ready(entering: &mut Entering) -> Option<Turn> {
        futures::FutureExt::now_or_never(entering.as_mut()).map(Option::unwrap)
    }

    #[tokio::test]
    async fn a_user_with_few_calls_does_not_wait_behind_one_with_many() {
        let gate = Gate::new(3);
        let mut taken = vec![];
        for _ in 0..3 {
            taken.push(enter(&gate, "flood").await);
        }
        let mut flood: Vec<Entering> = (0..50).map(|_| entering(&gate, "flood")).collect();
        let mut light = entering(&gate, "light");
        let mut other = entering(&gate, "other");
        drop(taken.pop());
        let first = ready(&mut light).expect("the first free turn is the light user's");
        drop(taken.pop());
        let second = ready(&mut other).expect("the second goes to the one after");
        assert!(flood.iter_mut().all(|f| ready(f).is_none()));
        drop((first, second));
        assert!(ready(&mut flood[0]).is_some() && ready(&mut flood[1]).is_some());
        assert_eq!(gate.taken(), 3);
    }

    #[tokio::test]
    async fn who_gives_up_is_passed_over_and_nothing_is_lost() {
        let gate = Gate::new(1);
        let turn = enter(&gate, "a").await;
        let gone = entering(&gate, "b");
        let mut stays = entering(&gate, "c");
        drop(gone);
        assert!(gate.enter(&Arc::from("d"), Duration::from_millis(1)).await.is_none());
        drop(turn);
        let turn = ready(&mut stays).expect("a turn");
        assert_eq!(gate.taken(), 1);
        drop(turn);
        gate.idle().await;
        assert!(gate.state.lock().users.is_empty() && gate.state.lock().lines == 0);
        // A turn that was given and never taken comes back, too.
        let turn = enter(&gate, "a").await;
        let given = entering(&gate, "b");
        drop(turn);
        assert_eq!(gate.taken(), 1);
        drop(given);
        gate.idle().await;
    }

    #[tokio::test]
    async fn all_are_served_in_the_end() {
        let gate = Gate::new(2);
        let users = ["a", "b", "c"];
        let served: Vec<_> = (0..300)
            .map(|n| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move {
                    let turn = gate.enter(&Arc::from(users[n % 3]), LONG).await.unwrap();
                    tokio::task::yield_now().await;
                    drop(turn);
                })
            })
            .collect();
        for one in served {
            one.await.unwrap();
        }
        assert_eq!(gate.taken(), 0);
        assert!(gate.state.lock().users.is_empty());
    }
}
