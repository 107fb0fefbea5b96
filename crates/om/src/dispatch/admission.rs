//! How many requests are worked on at once, and how many may wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use framed::{Code, Status};
use namespace::Route;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Bounds of admission. What is beyond them is refused at once: a client that is told so backs
/// off, one that waits for an answer does not.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Reads at once. Most never wait; the bound is for lists and for reads that ask SCM.
    pub(crate) reads: usize,
    /// Writes on their way through the log at once.
    pub(crate) writes: usize,
    /// Requests of each kind that may wait for a place.
    pub(crate) waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { reads: 1_024, writes: 4_096, waiting: 8_192 }
    }
}

/// One kind of requests.
struct Lane {
    most: usize,
    places: Semaphore,
    waiting: AtomicUsize,
    most_waiting: usize,
}

impl Lane {
    fn new(places: usize, most_waiting: usize) -> Self {
        Self {
            most: places,
            places: Semaphore::new(places),
            waiting: AtomicUsize::new(0),
            most_waiting,
        }
    }

    async fn enter(&self, deadline: Option<Instant>) -> Result<SemaphorePermit<'_>, Status> {
        if let Ok(permit) = self.places.try_acquire() {
            return Ok(permit);
        }
        let _waiting = Waiting::join(self)?;
        let acquired = match deadline {
            None => self.places.acquire().await,
            Some(deadline) => {
                match tokio::time::timeout_at(deadline.into(), self.places.acquire()).await {
                    Ok(acquired) => acquired,
                    Err(_) => {
                        let message = "the client gave up while its request waited";
                        return Err(Status::new(Code::DeadlineExceeded, message));
                    }
                }
            }
        };
        acquired.map_err(|_| Status::unavailable("OM is shutting down"))
    }
}

struct Waiting<'a>(&'a Lane);

impl<'a> Waiting<'a> {
    fn join(lane: &'a Lane) -> Result<Self, Status> {
        if lane.waiting.fetch_add(1, Ordering::Relaxed) >= lane.most_waiting {
            lane.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Status::new(Code::Busy, "too many requests are waiting, try again later"));
        }
        Ok(Self(lane))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The gate of the dispatcher. Reads and writes do not stand in each other's way.
pub(crate) struct Admission {
    reads: Lane,
    writes: Lane,
}

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            reads: Lane::new(limits.reads, limits.waiting),
            writes: Lane::new(limits.writes, limits.waiting),
        }
    }

    /// Waits for a place, which is given back by dropping it.
    pub(crate) async fn enter(
        &self,
        route: Route,
        deadline: Option<Instant>,
    ) -> Result<SemaphorePermit<'_>, Status> {
        match route {
            Route::Write => self.writes.enter(deadline).await,
            _ => self.reads.enter(deadline).await,
        }
    }

    /// Writes on their way.
    pub(crate) fn writing(&self) -> usize {
        self.writes.most.saturating_sub(self.writes.places.available_permits())
    }

    /// Reads and writes that are worked on.
    pub(crate) fn busy(&self) -> usize {
        let reading = self.reads.most.saturating_sub(self.reads.places.available_permits());
        reading.saturating_add(self.writing())
    }

    /// Requests that wait for a place, for metrics.
    pub(crate) fn waiting(&self) -> usize {
        self.reads.waiting.load(Ordering::Relaxed) + self.writes.waiting.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_does_not_fit_waits_and_what_cannot_wait_is_refused() {
        let gate = Admission::new(&Limits { reads: 1, writes: 1, waiting: 1 });
        let held = gate.enter(Route::Write, None).await.unwrap();
        let _read = gate.enter(Route::Read, None).await.expect("a write does not hold up a read");
        let soon = Instant::now() + Duration::from_millis(5);
        let late = gate.enter(Route::Write, Some(soon)).await.unwrap_err();
        assert_eq!(late.code, Code::DeadlineExceeded);
        let second = gate.enter(Route::Write, None);
        tokio::pin!(second);
        assert!(futures::poll!(second.as_mut()).is_pending());
        assert_eq!(gate.enter(Route::Write, None).await.unwrap_err().code, Code::Busy);
        drop(held);
        let _second = second.await.expect("the place that was given back");
        assert_eq!(gate.waiting(), 0);
    }
}
