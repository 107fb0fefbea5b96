//! Admission: the number of concurrent requests, and the order of queued ones.
//!
//! Reads, writes and long lists of clients have bounds of their own, and so have OM's own writes:
//! none of them uses the permits of another. Within each the order is that of
//! [`limits::CallQueue`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use framed::{Code, Status};
use limits::{Asks, CallQueue, CallQueueOptions, Identity, Permit, Refused, Shares};
use namespace::Route;
use service::{ClientLoad, Hours};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Bounds of admission. Requests beyond them are refused at once: a refused client backs off, one
/// that waits for an answer does not.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Concurrent reads. Most never wait; the bound is for those that call SCM or the leader.
    pub(crate) reads: usize,
    /// Concurrent writes in the log.
    pub(crate) writes: usize,
    /// Lists on threads of their own at once.
    pub(crate) lists: usize,
    /// Requests of each kind that may queue.
    pub(crate) waiting: usize,
    /// OM's own writes at once.
    pub(crate) background: usize,
    /// The part of the time, in percent, that a background service may take while there are
    /// requests of clients.
    pub(crate) background_share: u32,
    /// Hours in which background services make no way for clients.
    pub(crate) off_peak: Hours,
    /// The order in which they wait.
    pub(crate) order: CallQueueOptions,
}

/// A request may be worked on until this is dropped.
pub(crate) enum Place<'a> {
    Client(#[allow(dead_code)] Permit),
    Own(#[allow(dead_code)] SemaphorePermit<'a>),
}

/// The gate of the dispatcher.
pub(crate) struct Admission {
    shares: Arc<Shares>,
    reads: Arc<CallQueue>,
    writes: Arc<CallQueue>,
    lists: Arc<CallQueue>,
    own: Semaphore,
    share: u32,
    off_peak: Hours,
    identity: Identity,
    top_users: usize,
    clients: ClientLoad,
    /// The last piece of background work made way for them.
    made_way: AtomicBool,
}

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let shares = Shares::new(&limits.order);
        // Twice as many, so that there is a next one when one ends.
        let busy = processors.saturating_mul(2);
        let queue = |places| CallQueue::new(&limits.order, &shares, places, limits.waiting, busy);
        let lists = if limits.lists == 0 { processors } else { limits.lists };
        Self {
            reads: queue(limits.reads),
            writes: queue(limits.writes),
            lists: queue(lists),
            shares,
            own: Semaphore::new(limits.background.max(1)),
            share: limits.background_share.clamp(1, 100),
            off_peak: limits.off_peak,
            identity: limits.order.identity,
            top_users: limits.order.top_users,
            clients: ClientLoad::default(),
            made_way: AtomicBool::new(false),
        }
    }

    /// Identity by which requests are distinguished.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Waits for a permit for a client's request.
    pub(crate) async fn enter(
        &self,
        route: Route,
        asks: Asks<'_>,
    ) -> Result<Place<'static>, Status> {
        self.clients.note(1);
        let queue = if matches!(route, Route::Write) { &self.writes } else { &self.reads };
        queue.enter(asks).await.map(Place::Client).map_err(refused)
    }

    /// Waits for a permit for a long list, in addition to that of a read.
    pub(crate) async fn enter_list(&self, asks: Asks<'_>) -> Result<Permit, Status> {
        self.lists.enter(asks).await.map_err(refused)
    }

    /// Waits for a permit for a request of OM itself.
    pub(crate) async fn enter_own(&self) -> Result<Place<'_>, Status> {
        let stopping = |_| Status::unavailable("OM is shutting down");
        self.own.acquire().await.map(Place::Own).map_err(stopping)
    }

    /// Writes of clients in flight.
    pub(crate) fn writing(&self) -> usize {
        self.writes.taken()
    }

    /// Measures a piece of background work.
    pub(crate) fn begin_own(&self) -> OwnWork {
        OwnWork { began: Instant::now() }
    }

    /// Returns `true` if background services pause for clients in this hour of the day: clients use
    /// OM, and the hour is not off peak. Reads count, too: they need the processor. A piece of work
    /// is shorter than the time between two requests, so arrivals during it are no measure.
    pub(crate) fn makes_way(&self, now: Instant, hour: u32) -> bool {
        let is_used = self.clients.is_used(now) || self.busy() > 0;
        let makes_way = self.share < 100 && is_used && !self.off_peak.contains(hour);
        self.made_way.store(makes_way, Ordering::Relaxed);
        makes_way
    }

    /// Returns `true` if the last piece of background work paused for clients.
    pub(crate) fn made_way(&self) -> bool {
        self.made_way.load(Ordering::Relaxed)
    }

    /// Time for which a background service leaves the log and the processor to clients after a
    /// piece of work.
    pub(crate) fn rest(&self, work: &OwnWork) -> Duration {
        work.took().saturating_mul(100 - self.share) / self.share
    }

    /// Sets the flag that runnable tasks wait for a processor.
    pub(crate) fn set_busy(&self, busy: bool) {
        for queue in [&self.reads, &self.writes, &self.lists] {
            queue.set_busy(busy);
        }
    }

    /// The queue of each kind of requests.
    pub(crate) fn queues(&self) -> [(&'static str, &CallQueue); 3] {
        [("read", &self.reads), ("write", &self.writes), ("list", &self.lists)]
    }

    /// The users with the most requests, with their shares of all requests.
    pub(crate) fn top_users(&self) -> Vec<(String, f64)> {
        self.shares.top(self.top_users)
    }

    /// Reads and writes that are worked on.
    pub(crate) fn busy(&self) -> usize {
        self.reads.taken().saturating_add(self.writing())
    }

    /// Queued requests, for metrics.
    pub(crate) fn waiting(&self) -> usize {
        self.queues().iter().map(|(_, queue)| queue.waiting().iter().sum::<usize>()).sum()
    }
}

/// A piece of background work under way.
pub(crate) struct OwnWork {
    began: Instant,
}

impl OwnWork {
    /// Since it began.
    pub(crate) fn took(&self) -> Duration {
        self.began.elapsed()
    }
}

fn refused(why: Refused) -> Status {
    let code = match why {
        Refused::Full => Code::Busy,
        Refused::TooLate => Code::DeadlineExceeded,
    };
    Status::new(code, why.to_string())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn limits() -> Limits {
        Limits {
            reads: 1,
            writes: 1,
            lists: 1,
            waiting: 4,
            background: 1,
            background_share: 25,
            off_peak: Hours::default(),
            order: CallQueueOptions::default(),
        }
    }

    fn asks(deadline: Option<Instant>) -> Asks<'static> {
        Asks { user: "ann", verb: 0, received: Instant::now(), deadline }
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_and_what_cannot_wait_is_refused() {
        let gate = Admission::new(&limits());
        let held = gate.enter(Route::Write, asks(None)).await.unwrap();
        let _read = gate.enter(Route::Read, asks(None)).await.expect("no write stands in its way");
        let _own = gate.enter_own().await.expect("nor in the way of OM's own");
        let soon = Instant::now() + Duration::from_millis(5);
        let late = gate.enter(Route::Write, asks(Some(soon))).await.err().unwrap();
        assert_eq!(late.code, Code::DeadlineExceeded);
        let mut waiting: Vec<_> =
            (0..4).map(|_| Box::pin(gate.enter(Route::Write, asks(None)))).collect();
        // The one that gave up is still counted until it is met.
        let refused = |one: &mut _| FutureExt::now_or_never(one).is_some();
        assert_eq!(waiting.iter_mut().map(|one| usize::from(refused(one))).sum::<usize>(), 1);
        assert_eq!(gate.waiting(), 4);
        let full = gate.enter(Route::Write, asks(None)).await.err().unwrap();
        assert_eq!(full.code, Code::Busy);
        drop(held);
        let _next = waiting.remove(0).await.expect("the place that was given back");
    }

    #[tokio::test]
    async fn background_work_rests_while_clients_write_or_read() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        for route in [Route::Write, Route::Read] {
            let gate = Admission::new(&limits());
            let work = gate.begin_own();
            assert!(!gate.makes_way(now, 12), "there is no client to pause for");
            let request = gate.enter(route, asks(None)).await.unwrap();
            let took = work.took();
            assert!(gate.makes_way(now, 12) && gate.made_way());
            assert!(gate.rest(&work) >= took * 3, "a quarter of the time is its share");
            drop(request);
            for _ in 0..100 {
                let _request = gate.enter(route, asks(None)).await.unwrap();
            }
            assert!(gate.makes_way(now + second, 12), "it has its answer, and others will come");
            assert!(!gate.makes_way(now + second * 2, 12), "no client came for a while");
        }
        let conf = config::Configuration::default();
        let conf = conf.with("trioxide.block.deleting.off-peak.hour", "22-5");
        let key = &config::keys::hdds::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR;
        let off_peak = Hours::read(&conf, key).unwrap();
        let gate = Admission::new(&Limits { off_peak, ..limits() });
        let _write = gate.enter(Route::Write, asks(None)).await.unwrap();
        assert!(gate.makes_way(now, 12));
        assert!(!gate.makes_way(now, 23) && !gate.made_way(), "the night is its own");
    }
}
