//! Memory of what a writer gathers, taken as its bytes come.
//!
//! A writer that took memory for all of a chunk, or of a stripe, before its first byte would keep
//! it for as long as its client takes to send them: a few clients of slow lines had all memory of
//! uploads, and held up all others. So:
//!
//! * Little is taken at first ([`FIRST_SHARE`]), and when that is full the rest: a fast client has
//!   memory for all of a chunk after its first bytes, and for whole ones from then on.
//! * What a writer that waits for its client has gathered goes on its way when others wait for
//!   memory ([`GIVE_WAY_AFTER`]), as less than a whole chunk. Such a client is slow: from then on
//!   no more is taken for it at a time than came until then, and more again as it fills that.
//! * A writer that has to wait for memory sends what it has before, so that none keeps memory while
//!   it waits for more. Part of a stripe is kept for some time: its block group ends with it.

use std::future;
use std::sync::Arc;
use std::time::Duration;

use limits::{FairSemaphore, MemoryBudget, MemoryClass, MemoryPermit};
use tokio::time::{Instant, sleep, sleep_until};

use crate::Client;

/// This part of the whole is taken before anything has come: 128 KiB of a chunk of 4 MiB, as much
/// as is read from a socket at a time.
const FIRST_SHARE: u64 = 32;

/// Less is taken at a time only where less is to come.
const LEAST: u64 = 2 << 10;

/// A slow client that fills what was taken for it gets so many times as much.
const SPEED_UP: u64 = 4;

/// Minimum age of gathered bytes before they are sent for others: chunks would be tiny otherwise.
const GIVE_WAY_AFTER: Duration = Duration::from_secs(2);

/// Interval at which a writer that waits for its client checks whether others wait for memory.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The memory of what a writer gathers; without a budget it is not counted.
pub(super) struct Reservation {
    from: Option<(Arc<FairSemaphore<u64>>, u64)>,
    permit: Option<MemoryPermit>,
    /// Bytes to take at a time, once something is known of the client.
    pace: Option<u64>,
    /// When gathering began.
    begun: Instant,
    /// Since when nothing was given back.
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

    /// The class of the budget and the key of the user that memory is taken for.
    pub(super) fn from(&self) -> Option<(Arc<FairSemaphore<u64>>, u64)> {
        self.from.clone()
    }

    /// Bytes that there is memory for, of `most` that are gathered at a time. One that has all that
    /// its user may have has enough.
    pub(super) fn room(&self, most: u64) -> u64 {
        match &self.from {
            None => u64::MAX,
            Some((class, _)) if self.amount() >= class.per_key().min(most) => u64::MAX,
            Some(_) => self.amount(),
        }
    }

    /// Bytes to take now, when so many have been gathered of `most`.
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

    /// Adds what was taken.
    pub(super) fn add(&mut self, memory: MemoryPermit) {
        match &mut self.permit {
            // Of the same budget and user always.
            Some(permit) => drop(permit.merge(memory)),
            None => {
                (self.begun, self.since) = (Instant::now(), Instant::now());
                self.permit = Some(memory);
            }
        }
    }

    /// The memory of what was gathered, for what is sent; what is above goes back.
    pub(super) fn take(&mut self, gathered: u64) -> Option<MemoryPermit> {
        if gathered > 0 && gathered >= self.amount() {
            self.pace = Some(self.pace.map_or(u64::MAX, |pace| pace.saturating_mul(SPEED_UP)));
        }
        self.give_back(gathered);
        self.permit.take()
    }

    /// So much was gathered, and the client was waited for while others wait for memory.
    pub(super) fn is_slow(&mut self, gathered: u64) {
        self.pace = Some(gathered.max(LEAST));
    }

    /// Gives back what nothing was gathered for.
    pub(super) fn give_back(&mut self, gathered: u64) {
        self.since = Instant::now();
        if let Some(permit) = &mut self.permit {
            permit.shrink_to(gathered);
        }
        self.permit = self.permit.take().filter(|permit| permit.amount() > 0);
    }

    /// For how long it has been gathered.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Waits until others wait for memory that this writer has had for long; for ever when it has
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
        // It came at once: so will the rest.
        assert_eq!((take(&mut fast, 10_000, WHOLE), fast.room(WHOLE)), (310_000, u64::MAX));
        assert_eq!(fast.take(WHOLE).unwrap().amount(), WHOLE);
        assert_eq!((take(&mut fast, 0, WHOLE), fast.room(WHOLE)), (WHOLE, u64::MAX));
        // Also when there was no memory for the rest.
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
        // What nothing came for goes back; what is sent has its memory.
        slow.give_back(15_000);
        assert_eq!((slow.room(WHOLE), slow.next(15_000, WHOLE)), (15_000, 15_000));
        assert_eq!(slow.take(12_000).unwrap().amount(), 12_000);
        assert_eq!((slow.room(WHOLE), slow.next(0, WHOLE)), (0, 15_000));
        slow.is_slow(1);
        assert_eq!(slow.next(0, WHOLE), 10_000);
        // It comes faster again.
        for taken in [10_000, 10_000, 16 * LEAST, 64 * LEAST, WHOLE] {
            assert_eq!(take(&mut slow, 0, WHOLE), taken);
            drop(slow.take(taken));
        }
        // What is small is taken at once.
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
