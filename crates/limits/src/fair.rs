//! A semaphore that is shared fairly among keys.

use std::collections::VecDeque;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// A semaphore whose permits are shared fairly among keys, such as users or peers.
///
/// As long as there are permits, every request gets them. If there are none, requests wait in a
/// queue of their key, and released permits are granted to the key that has the fewest: a flood of
/// requests of one key delays only that key. No key ever gets more than its share, so that requests
/// which never end leave permits for the others.
pub struct FairSemaphore<K: Clone + Eq + Hash> {
    state: Mutex<State<K>>,
    total: u64,
    per_key: u64,
    idle: Notify,
}

struct State<K: Clone + Eq + Hash> {
    free: u64,
    keys: FxHashMap<K, Usage<K>>,
    /// Number of keys with waiting requests.
    queues: usize,
    /// Number of the next waiting request: among keys with equally many permits, the one with the
    /// oldest request is next.
    next: u64,
}

struct Usage<K: Clone + Eq + Hash> {
    taken: u64,
    /// Number of releases since the key got its first permits.
    releases: u64,
    waiting: VecDeque<Waiter<K>>,
}

struct Waiter<K: Clone + Eq + Hash> {
    number: u64,
    amount: u64,
    give: oneshot::Sender<FairPermit<K>>,
}

/// Permits of a [`FairSemaphore`], released on drop.
pub struct FairPermit<K: Clone + Eq + Hash> {
    semaphore: Arc<FairSemaphore<K>>,
    key: K,
    amount: u64,
}

impl<K: Clone + Eq + Hash> FairSemaphore<K> {
    /// `total` permits, of which one key gets at most `per_key`.
    pub fn new(total: u64, per_key: u64) -> Arc<Self> {
        let total = total.max(1);
        let keys = FxHashMap::default();
        let state = State { free: total, keys, queues: 0, next: 0 };
        let per_key = per_key.clamp(1, total);
        Arc::new(Self { state: Mutex::new(state), total, per_key, idle: Notify::new() })
    }

    /// Acquires `amount` permits for `key`, in its turn. More than a key's share counts as its
    /// share. Cancel-safe.
    pub async fn acquire(self: &Arc<Self>, key: &K, amount: u64) -> FairPermit<K> {
        loop {
            match self.begin(key, amount) {
                Ok(permit) => return permit,
                Err(waiting) => {
                    if let Some(permit) = waiting.await {
                        return permit;
                    }
                }
            }
        }
    }

    /// As [`FairSemaphore::acquire`], with a timeout.
    pub async fn acquire_within(
        self: &Arc<Self>,
        key: &K,
        amount: u64,
        limit: Duration,
    ) -> Option<FairPermit<K>> {
        match self.begin(key, amount) {
            Ok(permit) => Some(permit),
            // Permits granted at the moment of the timeout are dropped, and so released.
            Err(waiting) => timeout(limit, waiting).await.ok().flatten(),
        }
    }

    /// Acquires `amount` permits for `key` if they are available at once.
    pub fn try_acquire(self: &Arc<Self>, key: &K, amount: u64) -> Option<FairPermit<K>> {
        let amount = amount.min(self.per_key);
        let mut state = self.state.lock();
        state.may_acquire(key, amount, self.per_key).then(|| self.grant(&mut state, key, amount))
    }

    /// Number of permits in use.
    pub fn taken(&self) -> u64 {
        self.total - self.state.lock().free
    }

    /// Total number of permits.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Maximum number of permits of one key.
    pub fn per_key(&self) -> u64 {
        self.per_key
    }

    /// Number of releases of a key that has permits: shows whether it makes progress.
    pub fn releases(&self, key: &K) -> u64 {
        self.state.lock().keys.get(key).map_or(0, |usage| usage.releases)
    }

    /// Returns `true` if a waiting request needs permits of this key: one of the key, or one that
    /// does not wait for permits of its own key.
    pub fn is_wanted(&self, key: &K) -> bool {
        let state = self.state.lock();
        let of_key = |(other, usage): (&K, &Usage<K>)| {
            usage.is_ready(self.per_key) || (other == key && usage.has_waiting())
        };
        state.queues > 0 && state.keys.iter().any(of_key)
    }

    /// Number of waiting requests.
    pub fn waiting(&self) -> usize {
        self.state.lock().keys.values().map(|key| key.waiting.len()).sum()
    }

    /// Waits until no permit is in use.
    pub async fn idle(&self) {
        loop {
            let changed = self.idle.notified();
            if self.taken() == 0 {
                return;
            }
            changed.await;
        }
    }

    fn begin(self: &Arc<Self>, key: &K, amount: u64) -> Result<FairPermit<K>, Waiting<K>> {
        let amount = amount.min(self.per_key);
        let mut state = self.state.lock();
        if state.may_acquire(key, amount, self.per_key) {
            return Ok(self.grant(&mut state, key, amount));
        }
        let given = state.enqueue(key, amount);
        Err(Waiting { semaphore: Arc::clone(self), given, is_over: false })
    }

    fn grant(self: &Arc<Self>, state: &mut State<K>, key: &K, amount: u64) -> FairPermit<K> {
        state.free -= amount;
        state.usage(key).taken += amount;
        FairPermit { semaphore: Arc::clone(self), key: key.clone(), amount }
    }

    /// Releases permits of `key` and grants them to the next request in the queue.
    fn release(self: &Arc<Self>, key: &K, amount: u64) {
        self.state.lock().release(key, amount);
        self.grant_waiting();
    }

    /// Grants free permits to waiting requests.
    fn grant_waiting(self: &Arc<Self>) {
        let mut given = Vec::new();
        {
            let mut state = self.state.lock();
            while let Some((next, waiter)) = state.next_waiter(self.per_key) {
                let permit = self.grant(&mut state, &next, waiter.amount);
                given.push((waiter.give, permit));
            }
            if state.free == self.total {
                self.idle.notify_waiters();
            }
        }
        for (give, permit) in given {
            // Outside of the lock: a permit that no request takes is released here as it is
            // dropped.
            drop(give.send(permit));
        }
    }
}

/// A queued request.
struct Waiting<K: Clone + Eq + Hash> {
    semaphore: Arc<FairSemaphore<K>>,
    given: oneshot::Receiver<FairPermit<K>>,
    is_over: bool,
}

impl<K: Clone + Eq + Hash> Future for Waiting<K> {
    type Output = Option<FairPermit<K>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let given = Pin::new(&mut self.given).poll(cx);
        given.map(|given| {
            self.is_over = true;
            given.ok()
        })
    }
}

impl<K: Clone + Eq + Hash> Drop for Waiting<K> {
    fn drop(&mut self) {
        if !self.is_over {
            self.given.close();
            // Smaller requests may have waited for this one.
            self.semaphore.grant_waiting();
        }
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn usage(&mut self, key: &K) -> &mut Usage<K> {
        let none = || Usage { taken: 0, releases: 0, waiting: VecDeque::new() };
        self.keys.entry(key.clone()).or_insert_with(none)
    }

    /// Returns `true` if a new request gets its permits before waiting ones.
    fn may_acquire(&self, key: &K, amount: u64, per_key: u64) -> bool {
        let own = self.keys.get(key);
        let within_share =
            own.is_none_or(|own| own.waiting.is_empty() && own.fits(amount, per_key));
        self.free >= amount
            && within_share
            && (self.queues == 0 || !self.keys.values().any(|other| other.is_ready(per_key)))
    }

    fn enqueue(&mut self, key: &K, amount: u64) -> oneshot::Receiver<FairPermit<K>> {
        let (give, given) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        let queue = &mut self.usage(key).waiting;
        let is_first = queue.is_empty();
        queue.push_back(Waiter { number, amount, give });
        self.queues += usize::from(is_first);
        given
    }

    fn release(&mut self, key: &K, amount: u64) {
        self.free += amount;
        if let Some(usage) = self.keys.get_mut(key) {
            usage.taken -= amount;
            usage.releases = usage.releases.wrapping_add(1);
            if usage.taken == 0 && usage.waiting.is_empty() {
                self.keys.remove(key);
            }
        }
    }

    /// Removes the next request from its queue, if there are permits for it: the oldest one of the
    /// key with the fewest permits.
    fn next_waiter(&mut self, per_key: u64) -> Option<(K, Waiter<K>)> {
        if self.queues == 0 {
            return None;
        }
        self.forget_abandoned();
        let ready = self.keys.iter().filter(|(_, usage)| usage.is_ready(per_key));
        let (key, usage) =
            ready.min_by_key(|(_, u)| (u.taken, u.waiting.front().map(|w| w.number)))?;
        // It does not yield to smaller requests of others, or it might wait forever.
        if usage.waiting.front().is_none_or(|waiter| waiter.amount > self.free) {
            return None;
        }
        let key = key.clone();
        let queue = &mut self.keys.get_mut(&key)?.waiting;
        let waiter = queue.pop_front()?;
        self.queues -= usize::from(queue.is_empty());
        Some((key, waiter))
    }

    /// Drops requests whose callers no longer wait.
    fn forget_abandoned(&mut self) {
        let queues = &mut self.queues;
        self.keys.retain(|_, usage| {
            if !usage.waiting.is_empty() {
                usage.waiting.retain(|waiter| !waiter.give.is_closed());
                *queues -= usize::from(usage.waiting.is_empty());
            }
            usage.taken > 0 || !usage.waiting.is_empty()
        });
    }
}

impl<K: Clone + Eq + Hash> Usage<K> {
    fn fits(&self, amount: u64, per_key: u64) -> bool {
        self.taken == 0 || self.taken.saturating_add(amount) <= per_key
    }

    fn has_waiting(&self) -> bool {
        self.waiting.iter().any(|waiter| !waiter.give.is_closed())
    }

    /// Returns `true` if its first request only waits for free permits.
    fn is_ready(&self, per_key: u64) -> bool {
        let first = self.waiting.front();
        first.is_some_and(|first| !first.give.is_closed() && self.fits(first.amount, per_key))
    }
}

impl<K: Clone + Eq + Hash> FairPermit<K> {
    /// Number of these permits.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Adds the permits of another one.
    ///
    /// # Errors
    /// The other one, if it belongs to another key or semaphore.
    pub fn merge(&mut self, other: Self) -> Result<(), Self> {
        if other.key != self.key || !Arc::ptr_eq(&other.semaphore, &self.semaphore) {
            return Err(other);
        }
        let mut other = other;
        self.amount = self.amount.saturating_add(std::mem::take(&mut other.amount));
        Ok(())
    }

    /// Releases permits above `amount`.
    pub fn shrink_to(&mut self, amount: u64) {
        let rest = self.amount.saturating_sub(amount);
        if rest > 0 {
            self.amount = amount;
            self.semaphore.release(&self.key, rest);
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for FairPermit<K> {
    fn drop(&mut self) {
        // A merged permit has none left.
        if self.amount > 0 {
            self.semaphore.release(&self.key, self.amount);
        }
    }
}

impl<K: Clone + Eq + Hash> std::fmt::Debug for FairPermit<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FairPermit({})", self.amount)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;

    use futures::FutureExt;
    use proptest::prelude::*;

    use super::*;

    type Name = &'static str;
    type Acquiring = Pin<Box<dyn Future<Output = FairPermit<Name>>>>;

    fn acquiring(semaphore: &Arc<FairSemaphore<Name>>, key: Name, amount: u64) -> Acquiring {
        let semaphore = Arc::clone(semaphore);
        let mut acquiring: Acquiring =
            Box::pin(async move { semaphore.acquire(&key, amount).await });
        assert!(acquiring.as_mut().now_or_never().is_none(), "{key} waits");
        acquiring
    }

    fn ready(acquiring: &mut Acquiring) -> Option<FairPermit<Name>> {
        acquiring.as_mut().now_or_never()
    }

    #[test]
    fn a_key_with_few_requests_does_not_wait_behind_one_with_many() {
        let semaphore = FairSemaphore::new(3, 3);
        let mut taken: Vec<_> =
            (0..3).map(|_| semaphore.try_acquire(&"flood", 1).unwrap()).collect();
        let mut flood: Vec<_> = (0..50).map(|_| acquiring(&semaphore, "flood", 1)).collect();
        let mut light = acquiring(&semaphore, "light", 1);
        let mut other = acquiring(&semaphore, "other", 1);
        drop(taken.pop());
        let first = ready(&mut light).expect("the first free permit is the light key's");
        drop(taken.pop());
        let second = ready(&mut other).expect("the next request gets the second one");
        assert!(flood.iter_mut().all(|f| ready(f).is_none()));
        drop((first, second));
        let more = (ready(&mut flood[0]), ready(&mut flood[1]));
        assert!(more.0.is_some() && more.1.is_some());
        assert_eq!((semaphore.taken(), semaphore.waiting()), (3, 48));
    }

    #[test]
    fn a_key_that_gives_nothing_back_leaves_something_for_the_others() {
        let semaphore = FairSemaphore::new(4, 3);
        let _taken: Vec<_> = (0..3).map(|_| semaphore.try_acquire(&"hangs", 1).unwrap()).collect();
        assert!(semaphore.try_acquire(&"hangs", 1).is_none());
        let _waits = acquiring(&semaphore, "hangs", 1);
        for _ in 0..10 {
            assert!(semaphore.try_acquire(&"other", 1).is_some());
        }
    }

    #[test]
    fn a_large_request_is_not_passed_for_ever_and_is_cut_to_the_share() {
        let semaphore = FairSemaphore::new(10, 8);
        let small = semaphore.try_acquire(&"small", 5).unwrap();
        let mut large = acquiring(&semaphore, "large", 1_000);
        assert!(semaphore.try_acquire(&"other", 1).is_none(), "it would pass the large one");
        drop(small);
        let large = ready(&mut large).unwrap();
        assert_eq!((large.amount(), semaphore.taken()), (8, 8));
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_is_passed_over_and_nothing_is_lost() {
        let semaphore = FairSemaphore::new(1, 1);
        let permit = semaphore.try_acquire(&"a", 1).unwrap();
        let gone = acquiring(&semaphore, "b", 1);
        let mut stays = acquiring(&semaphore, "c", 1);
        drop(gone);
        assert!(semaphore.acquire_within(&"d", 1, Duration::from_millis(1)).await.is_none());
        drop(permit);
        let permit = ready(&mut stays).expect("a permit");
        assert_eq!(semaphore.taken(), 1);
        drop(permit);
        semaphore.idle().await;
        assert!(semaphore.state.lock().keys.is_empty() && semaphore.state.lock().queues == 0);
        // A permit that was granted but never taken is released, too.
        let permit = semaphore.try_acquire(&"a", 1).unwrap();
        let given = acquiring(&semaphore, "b", 1);
        drop(permit);
        assert_eq!(semaphore.taken(), 1);
        drop(given);
        semaphore.idle().await;
    }

    #[test]
    fn permits_grow_together_and_shrink() {
        let semaphore = FairSemaphore::new(10, 8);
        let mut permit = semaphore.try_acquire(&"a", 3).unwrap();
        permit.merge(semaphore.try_acquire(&"a", 4).unwrap()).unwrap();
        let other = permit.merge(semaphore.try_acquire(&"b", 1).unwrap()).unwrap_err();
        assert_eq!((permit.amount(), other.amount(), semaphore.taken()), (7, 1, 8));
        let mut waits = acquiring(&semaphore, "b", 6);
        permit.shrink_to(9);
        assert_eq!(permit.amount(), 7);
        permit.shrink_to(3);
        assert_eq!(ready(&mut waits).unwrap().amount(), 6);
        drop((permit, other));
        assert_eq!(semaphore.taken(), 0);
        assert!(semaphore.state.lock().keys.is_empty());
    }

    #[test]
    fn a_key_learns_whether_its_permits_are_wanted_and_whether_it_gets_on() {
        let semaphore = FairSemaphore::new(10, 8);
        let slow = semaphore.try_acquire(&"slow", 2).unwrap();
        let mut flood = semaphore.try_acquire(&"flood", 7).unwrap();
        assert!(!semaphore.is_wanted(&"slow") && !semaphore.is_wanted(&"flood"));
        let waits = acquiring(&semaphore, "flood", 4);
        // It waits for its own permits: those of others would not help.
        assert!(semaphore.is_wanted(&"flood") && !semaphore.is_wanted(&"slow"));
        let other = acquiring(&semaphore, "other", 2);
        assert!(semaphore.is_wanted(&"slow"));
        drop((waits, other));
        assert!(!semaphore.is_wanted(&"slow") && !semaphore.is_wanted(&"flood"));
        let before = semaphore.releases(&"flood");
        flood.shrink_to(1);
        assert_ne!(semaphore.releases(&"flood"), before);
        assert_eq!(semaphore.releases(&"slow"), 0);
        drop((slow, flood));
    }

    #[tokio::test]
    async fn all_are_served_in_the_end() {
        let semaphore = FairSemaphore::new(2, 2);
        let keys = ["a", "b", "c"];
        let served: Vec<_> = (0..300)
            .map(|n| {
                let semaphore = Arc::clone(&semaphore);
                tokio::spawn(async move {
                    let permit = semaphore.acquire(&keys[n % 3], 1 + (n % 2) as u64).await;
                    tokio::task::yield_now().await;
                    drop(permit);
                })
            })
            .collect();
        for one in served {
            one.await.unwrap();
        }
        assert_eq!(semaphore.taken(), 0);
        assert!(semaphore.state.lock().keys.is_empty());
    }

    proptest! {
        /// Requests that arrive, are abandoned and end in any order: the limits hold, and none
        /// waits while there are permits for it.
        #[test]
        fn bounds_hold_and_nothing_is_lost(
            steps in proptest::collection::vec((0_usize..4, 0_usize..3, 1_u64..7), 1..80),
        ) {
            const KEYS: [Name; 3] = ["a", "b", "c"];
            let semaphore = FairSemaphore::new(10, 6);
            let mut taken: Vec<(Name, FairPermit<Name>)> = Vec::new();
            let mut waiting: VecDeque<(Name, Acquiring)> = VecDeque::new();
            for (what, key, amount) in steps {
                let name = KEYS[key];
                match what {
                    0 | 1 => {
                        let semaphore = Arc::clone(&semaphore);
                        let one: Acquiring =
                            Box::pin(async move { semaphore.acquire(&name, amount).await });
                        waiting.push_back((name, one));
                    }
                    2 => drop(waiting.pop_front()),
                    _ => drop((!taken.is_empty()).then(|| taken.remove(key % taken.len()))),
                }
                for _ in 0..waiting.len() {
                    let Some((name, mut one)) = waiting.pop_front() else { break };
                    match ready(&mut one) {
                        Some(permit) => taken.push((name, permit)),
                        None => waiting.push_back((name, one)),
                    }
                }
                for key in KEYS {
                    let of_key = taken.iter().filter(|(k, _)| *k == key);
                    prop_assert!(of_key.map(|(_, p)| p.amount()).sum::<u64>() <= 6);
                }
                prop_assert!(taken.iter().map(|(_, p)| p.amount()).sum::<u64>() <= 10);
            }
            // As permits are released, all waiting requests are served.
            while !waiting.is_empty() {
                let before = waiting.len();
                drop(taken.pop());
                waiting.retain_mut(|(name, one)| match ready(one) {
                    Some(permit) => {
                        taken.push((*name, permit));
                        false
                    }
                    None => true,
                });
                prop_assert!(waiting.len() < before || !taken.is_empty());
            }
            drop(taken);
            prop_assert_eq!(semaphore.taken(), 0);
        }
    }
}
