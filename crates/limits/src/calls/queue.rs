//! A limit on concurrent calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

use super::levels::Levels;
use super::{CallQueueOptions, Rank, Shares};

/// A limit on concurrent calls of one kind. Excess calls wait, in the order described in the
/// module's documentation.
///
/// Users below the first level have at most three quarters of the slots, so that a call of the
/// first level finds one at once; while the processor is the bottleneck ([`CallQueue::set_busy`])
/// they have only as many as keep it busy.
#[derive(Debug)]
pub struct CallQueue {
    shares: Arc<Shares>,
    fair: bool,
    /// Number of slots.
    places: usize,
    /// Number of slots for calls below the first level.
    heavy_places: usize,
    /// The same while the processor is the bottleneck.
    heavy_places_busy: usize,
    busy: AtomicBool,
    taken: AtomicUsize,
    heavy: AtomicUsize,
    /// Calls in `levels`, and those of the first level among them. Changed before `levels` is, and
    /// read without its lock: a call that releases a slot sees a waiting one.
    waiting: AtomicUsize,
    waiting_first: AtomicUsize,
    levels: Mutex<Levels<Waiter>>,
    /// Without back-off: permits to wait in `levels`.
    room: Option<Semaphore>,
    stats: CallQueueStats,
}

/// Statistics of a queue, for metrics.
#[derive(Debug, Default)]
pub struct CallQueueStats {
    /// Calls that found a slot at once.
    pub at_once: AtomicU64,
    /// Calls that waited and were admitted.
    pub waited: AtomicU64,
    /// Calls refused because the queue was full.
    pub refused: AtomicU64,
}

/// A request for a slot.
#[derive(Debug, Clone, Copy)]
pub struct Asks<'a> {
    /// The user.
    pub user: &'a str,
    /// The verb, by any number.
    pub verb: u16,
    /// When the call was received.
    pub received: Instant,
    /// The client's deadline.
    pub deadline: Option<Instant>,
}

/// Reasons for refusing a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The queue is full.
    #[error("too many requests are waiting, retry later")]
    Full,
    /// The client's deadline passed while it waited.
    #[error("the client's deadline passed while its request waited")]
    TooLate,
}

/// A slot; dropping it passes the slot to the next call.
#[derive(Debug)]
pub struct Permit {
    /// `None` once it was released.
    queue: Option<Arc<CallQueue>>,
    heavy: bool,
}

#[derive(Debug)]
struct Waiter {
    grant: oneshot::Sender<Permit>,
}

impl CallQueue {
    /// `places` concurrent calls; `waiting` may wait. `processors` is the number of calls that keep
    /// all processors busy.
    pub fn new(
        options: &CallQueueOptions,
        shares: &Arc<Shares>,
        places: usize,
        waiting: usize,
        processors: usize,
    ) -> Arc<Self> {
        let places = places.max(1);
        // Without back-off excess calls wait in front of the levels.
        let capacity = if options.backoff { waiting } else { usize::MAX };
        let levels = match options.fair {
            true => Levels::new(&options.weights, &options.capacity_weights, capacity),
            false => Levels::new(&[1], &[1], capacity),
        };
        Arc::new(Self {
            shares: Arc::clone(shares),
            fair: options.fair,
            places,
            heavy_places: (places - places / 4).max(1),
            heavy_places_busy: processors.clamp(1, places),
            busy: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
            heavy: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            waiting_first: AtomicUsize::new(0),
            levels: Mutex::new(levels),
            room: (!options.backoff).then(|| Semaphore::new(waiting.max(1))),
            stats: CallQueueStats::default(),
        })
    }

    /// Waits for a slot, up to the caller's deadline.
    ///
    /// # Errors
    /// If the queue is full, or the deadline has passed.
    pub async fn enter(self: &Arc<Self>, asks: Asks<'_>) -> Result<Permit, Refused> {
        let rank = self.shares.charge(asks.user, asks.received);
        if let Some(permit) = self.try_enter(rank) {
            self.stats.at_once.fetch_add(1, Ordering::Relaxed);
            return Ok(permit);
        }
        // Boxed, because most calls do not wait and would carry its state.
        let waited = Box::pin(self.wait(asks, rank));
        let permit = match asks.deadline {
            None => waited.await,
            Some(deadline) => {
                let waited = tokio::time::timeout_at(deadline.into(), waited).await;
                waited.unwrap_or(Err(Refused::TooLate))
            }
        };
        match &permit {
            Ok(_) => self.stats.waited.fetch_add(1, Ordering::Relaxed),
            Err(Refused::Full) => self.stats.refused.fetch_add(1, Ordering::Relaxed),
            Err(Refused::TooLate) => 0,
        };
        permit
    }

    /// A slot for a call without competition.
    fn try_enter(self: &Arc<Self>, rank: Rank) -> Option<Permit> {
        let heavy = rank.level > 0;
        let passes = match heavy {
            // Calls of the first level overtake other waiting ones, but not each other.
            false => self.waiting_first.load(Ordering::SeqCst) == 0,
            true => !self.busy.load(Ordering::Relaxed) && self.waiting.load(Ordering::SeqCst) == 0,
        };
        if passes { self.take(heavy) } else { None }
    }

    fn take(self: &Arc<Self>, heavy: bool) -> Option<Permit> {
        if !add_below(&self.taken, self.places) {
            return None;
        }
        if heavy && !add_below(&self.heavy, self.heavy_bound()) {
            self.taken.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        Some(Permit { queue: Some(Arc::clone(self)), heavy })
    }

    fn heavy_bound(&self) -> usize {
        match self.busy.load(Ordering::Relaxed) {
            true => self.heavy_places_busy,
            false => self.heavy_places,
        }
    }

    async fn wait(self: &Arc<Self>, asks: Asks<'_>, rank: Rank) -> Result<Permit, Refused> {
        let _room = match &self.room {
            // It is never closed.
            Some(room) => room.acquire().await.ok(),
            None => None,
        };
        let (grant, granted) = oneshot::channel();
        let first = rank.level == 0;
        let (user, verb) = if self.fair { (asks.user, asks.verb) } else { ("", 0) };
        self.note_waiting(first, true);
        let pushed = self.levels.lock().push(rank.level, user, verb, Waiter { grant });
        match pushed {
            Ok(0) => {}
            // It overflowed into a lower level.
            Ok(_) if first => drop(self.waiting_first.fetch_sub(1, Ordering::SeqCst)),
            Ok(_) => {}
            Err(_) => {
                self.note_waiting(first, false);
                return Err(Refused::Full);
            }
        }
        self.grant_permits();
        // The sender is dropped only with the queue, which this holds.
        let permit = granted.await.map_err(|_| Refused::TooLate)?;
        if permit.heavy && self.busy.load(Ordering::Relaxed) {
            // A task of a heavy user on this processor runs first, until it waits.
            tokio::task::yield_now().await;
        }
        Ok(permit)
    }

    fn note_waiting(&self, first: bool, more: bool) {
        let note = |count: &AtomicUsize| match more {
            true => count.fetch_add(1, Ordering::SeqCst),
            false => count.fetch_sub(1, Ordering::SeqCst),
        };
        note(&self.waiting);
        if first {
            note(&self.waiting_first);
        }
    }

    /// Grants free slots to waiting calls.
    fn grant_permits(self: &Arc<Self>) {
        let mut granted = Vec::new();
        loop {
            {
                let mut levels = self.levels.lock();
                while let Some(next) = self.next(&mut levels) {
                    granted.push(next);
                }
            }
            if granted.is_empty() {
                return;
            }
            // Outside of the lock. The permit of a caller that no longer waits is free again.
            for (waiter, permit) in granted.drain(..) {
                if let Err(unwanted) = waiter.grant.send(permit) {
                    unwanted.give_back();
                }
            }
        }
    }

    /// The next call, with its slot, if there is one.
    fn next(self: &Arc<Self>, levels: &mut Levels<Waiter>) -> Option<(Waiter, Permit)> {
        if self.waiting.load(Ordering::SeqCst) == 0 || !add_below(&self.taken, self.places) {
            return None;
        }
        let heavy = add_below(&self.heavy, self.heavy_bound());
        let next = loop {
            let Some((level, waiter)) = levels.pop(heavy) else { break None };
            self.note_waiting(level == 0, false);
            if !waiter.grant.is_closed() {
                break Some((level > 0, waiter));
            }
        };
        if heavy && next.as_ref().is_none_or(|(is_heavy, _)| !is_heavy) {
            self.heavy.fetch_sub(1, Ordering::SeqCst);
        }
        match next {
            Some((heavy, waiter)) => {
                Some((waiter, Permit { queue: Some(Arc::clone(self)), heavy }))
            }
            None => {
                self.taken.fetch_sub(1, Ordering::SeqCst);
                None
            }
        }
    }

    fn free(&self, heavy: bool) {
        if heavy {
            self.heavy.fetch_sub(1, Ordering::SeqCst);
        }
        self.taken.fetch_sub(1, Ordering::SeqCst);
    }

    /// Sets whether the processor is the bottleneck: runnable tasks wait for it.
    pub fn set_busy(self: &Arc<Self>, busy: bool) {
        if self.busy.swap(busy, Ordering::Relaxed) != busy {
            self.grant_permits();
        }
    }

    /// Number of calls in progress.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Number of waiting calls, by level.
    pub fn waiting(&self) -> Vec<usize> {
        self.levels.lock().waiting().collect()
    }

    /// Its statistics.
    pub fn stats(&self) -> &CallQueueStats {
        &self.stats
    }
}

impl Permit {
    /// Frees the slot without granting it to another call.
    fn give_back(mut self) {
        if let Some(queue) = self.queue.take() {
            queue.free(self.heavy);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(queue) = self.queue.take() else { return };
        queue.free(self.heavy);
        if queue.waiting.load(Ordering::SeqCst) > 0 {
            queue.grant_permits();
        }
    }
}

/// Adds one, unless the count is `bound` already.
fn add_below(count: &AtomicUsize, bound: usize) -> bool {
    let add = |n: usize| (n < bound).then_some(n + 1);
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).is_ok()
}

#[cfg(test)]
mod tests;
