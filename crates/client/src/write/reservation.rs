//! Memory of a writer's buffered data, reserved as it arrives.
//!
//! A writer that reserved memory for a whole chunk or stripe before its first byte would hold it
//! for as long as its client takes to send the data: a few slow clients could hold all memory of
//! uploads and block all others. So:
//!
//! * A small part is reserved at first ([`FIRST_SHARE`]), and the rest when that is full: a fast
//!   client has memory for all of a chunk after its first bytes, and for whole chunks from then on.
//! * The data of a writer that waits for its client is sent when others wait for memory
//!   ([`GIVE_WAY_AFTER`]), as less than a whole chunk. Such a client is slow: from then on its
//!   reservations are limited to the amount that arrived until then, and grow again as it fills
//!   them.
//! * A writer that has to wait for memory sends its data before, so that no writer holds memory
//!   while it waits for more. An incomplete stripe is kept for some time: its block group ends with
//!   it.

use std::future;
use std::sync::Arc;
use std::time::Duration;

use limits::{FairSemaphore, MemoryBudget, MemoryClass, MemoryPermit};
use tokio::time::{Instant, sleep, sleep_until};

use crate::Client;

/// Divisor of the part reserved before any data has arrived: 128 KiB of a chunk of 4 MiB, the size
/// of a read from a socket.
const FIRST_SHARE: u64 = 32;

/// Minimum reservation, unless less data is expected.
const LEAST: u64 = 2 << 10;

/// Factor by which the reservation of a slow client grows when it fills it.
const SPEED_UP: u64 = 4;

/// Minimum age of buffered data before it is sent to free memory for other writers: chunks
/// would be tiny otherwise.
const GIVE_WAY_AFTER: Duration = Duration::from_secs(2);

/// Interval at which a writer that waits for its client checks whether others wait for memory.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The memory of a writer's buffered data; not counted without a budget.
pub(super) struct Reservation {
    from: Option<(Arc<FairSemaphore<u64>>, u64)>,
    permit: Option<MemoryPermit>,
    /// Bytes to reserve at a time, once the client's speed is known.
    pace: Option<u64>,
    /// Start of the current buffer.
    begun: Instant,
    /// Time of the last release.
    since: Instant,
}

impl Reservation {
    pub(super) fn new(client: &Client) -> Self {
        let class = |budget: &MemoryBudget| budget.class(MemoryClass::Upload).clone();
        let key = MemoryBudget::key(&client.user());
        let from = client.options().memory.as_ref().map(|budget| (class(budget), key));
        let now = Instant::now();
        Self { from, permit: None, pace: None, begun: now, since: now }
    }

    /// The class of the budget and the key of the user whose share is used.
    pub(super) fn from(&self) -> Option<(Arc<FairSemaphore<u64>>, u64)> {
        self.from.clone()
    }

    /// Bytes with a reservation, of `most` that are buffered at a time. A user at its limit needs
    /// no more.
    pub(super) fn room(&self, most: u64) -> u64 {
        match &self.from {
            None => u64::MAX,
            Some((class, _)) if self.amount() >= class.per_key().min(most) => u64::MAX,
            Some(_) => self.amount(),
        }
    }

    /// Number of bytes to reserve now, with `gathered` of `most` buffered.
    pub(super) fn next(&self, gathered: u64, most: u64) -> u64 {
        let most = self.from.as_ref().map_or(most, |(class, _)| most.min(class.per_key()));
        let rest = most.saturating_sub(self.amount()).max(1);
        let first = (most / FIRST_SHARE).max(LEAST);
        let wanted = match gathered {
            0 => self.pace.unwrap_or(first),
            _ => self.pace.unwrap_or(rest),
        };
        wanted.max(first).min(rest)
    }

    /// Adds a permit.
    pub(super) fn add(&mut self, memory: MemoryPermit) {
        match &mut self.permit {
            // Always of the same budget and user.
            Some(permit) => drop(permit.merge(memory)),
            None => {
                (self.begun, self.since) = (Instant::now(), Instant::now());
                self.permit = Some(memory);
            }
        }
    }

    /// Takes the memory of the buffered data, for sending; the rest is released.
    pub(super) fn take(&mut self, gathered: u64) -> Option<MemoryPermit> {
        if gathered > 0 && gathered >= self.amount() {
            self.pace = Some(self.pace.map_or(u64::MAX, |pace| pace.saturating_mul(SPEED_UP)));
        }
        self.give_back(gathered);
        self.permit.take()
    }

    /// Records that the client was waited for, with `gathered` bytes buffered, while others waited
    /// for memory.
    pub(super) fn is_slow(&mut self, gathered: u64) {
        self.pace = Some(gathered.max(LEAST));
    }

    /// Releases memory without buffered data.
    pub(super) fn give_back(&mut self, gathered: u64) {
        self.since = Instant::now();
        if let Some(permit) = &mut self.permit {
            permit.shrink_to(gathered);
        }
        self.permit = self.permit.take().filter(|permit| permit.amount() > 0);
    }

    /// Age of the buffer.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Waits until others wait for memory that this writer has held for long; forever if it holds
    /// none and `has_sent` none, either.
    pub(super) async fn is_wanted(&self, has_sent: bool) {
        let Some((class, key)) = &self.from else { return future::pending().await };
        if self.permit.is_none() && !has_sent {
            return future::pending().await;
        }
        sleep_until(self.since + GIVE_WAY_AFTER).await;
        while !class.is_wanted(key) {
            sleep(LOOK_INTERVAL).await;
        }
    }

    fn amount(&self) -> u64 {
        self.permit.as_ref().map_or(0, MemoryPermit::amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(total: u64) -> Reservation {
        let from = Some((FairSemaphore::new(total, total), 1));
        let now = Instant::now();
        Reservation { from, permit: None, pace: None, begun: now, since: now }
    }

    fn take(reservation: &mut Reservation, gathered: u64, most: u64) -> u64 {
        let amount = reservation.next(gathered, most);
        let (class, key) = reservation.from().unwrap();
        reservation.add(class.try_acquire(&key, amount).unwrap());
        amount
    }

    const WHOLE: u64 = 320_000;

    #[test]
    fn memory_grows_with_what_comes() {
        let mut fast = reservation(1_000_000);
        assert_eq!(fast.room(WHOLE), 0);
        assert_eq!((take(&mut fast, 0, WHOLE), fast.room(WHOLE)), (10_000, 10_000));
        // It arrived at once: so will the rest.
        assert_eq!((take(&mut fast, 10_000, WHOLE), fast.room(WHOLE)), (310_000, u64::MAX));
        assert_eq!(fast.take(WHOLE).unwrap().amount(), WHOLE);
        assert_eq!((take(&mut fast, 0, WHOLE), fast.room(WHOLE)), (WHOLE, u64::MAX));
        // Also if there was no memory for the rest.
        let mut waits = reservation(1_000_000);
        take(&mut waits, 0, WHOLE);
        assert_eq!(waits.take(10_000).unwrap().amount(), 10_000);
        assert_eq!(waits.next(0, WHOLE), WHOLE);
    }

    #[test]
    fn a_slow_client_has_memory_for_what_comes() {
        let mut slow = reservation(1_000_000);
        take(&mut slow, 0, WHOLE);
        take(&mut slow, 10_000, WHOLE);
        slow.is_slow(15_000);
        // Memory without data is released; sent data keeps its memory.
        slow.give_back(15_000);
        assert_eq!((slow.room(WHOLE), slow.next(15_000, WHOLE)), (15_000, 15_000));
        assert_eq!(slow.take(12_000).unwrap().amount(), 12_000);
        assert_eq!((slow.room(WHOLE), slow.next(0, WHOLE)), (0, 15_000));
        slow.is_slow(1);
        assert_eq!(slow.next(0, WHOLE), 10_000);
        // It arrives faster again.
        for taken in [10_000, 10_000, 16 * LEAST, 64 * LEAST, WHOLE] {
            assert_eq!(take(&mut slow, 0, WHOLE), taken);
            drop(slow.take(taken));
        }
        // Small data is reserved at once.
        assert_eq!((take(&mut slow, 0, 1500), slow.room(1500)), (1500, u64::MAX));
    }

    #[test]
    fn one_that_has_all_that_it_may_have_has_enough() {
        let mut large = reservation(50_000);
        assert_eq!(take(&mut large, 0, WHOLE), LEAST);
        assert_eq!((take(&mut large, LEAST, WHOLE), large.room(WHOLE)), (47_952, u64::MAX));
        assert_eq!(large.take(WHOLE).unwrap().amount(), 50_000);
    }
}
