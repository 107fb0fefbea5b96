//! The share of time that background work may use under client load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use config::{Configuration, Key};

use super::{Bounds, Hours, PaceError, Portion};

/// Maximum pause, so that the work can be stopped.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Throttling settings of background work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Share of time under client load; 1 is all of it.
    share: f64,
    off_peak: Hours,
}

impl Share {
    /// Reads both settings.
    ///
    /// # Errors
    /// If the share is not above 0 and at most 1, or an hour is invalid.
    pub fn read(
        conf: &Configuration,
        share: &'static Key<f64>,
        off_peak: &'static Key<Vec<String>>,
    ) -> Result<Self, PaceError> {
        let value = conf.get(share);
        if !(value > 0.0 && value <= 1.0) {
            return Err(PaceError {
                key: share.name(),
                value: value.to_string(),
                reason: "expected more than 0 and at most 1, such as 0.25",
            });
        }
        Ok(Self { share: value, off_peak: Hours::read(conf, off_peak)? })
    }

    /// Returns `true` if work is throttled now: clients use the server, and the hour is not
    /// off-peak.
    fn makes_way(&self, is_used: bool, hour: u32) -> bool {
        is_used && self.share < 1.0 && !self.off_peak.contains(hour)
    }

    /// The pause after a batch of this duration.
    fn pause(&self, took: Duration) -> Duration {
        let pause = took.as_secs_f64() * (1.0 / self.share - 1.0);
        Duration::try_from_secs_f64(pause).map_or(LONGEST_PAUSE, |pause| pause.min(LONGEST_PAUSE))
    }
}

/// Sizes batches, and the pauses after them.
#[derive(Debug)]
pub struct Pace {
    share: Share,
    /// Two sizes: without client load they do not predict those under load, and clients may come
    /// any time.
    beside: Portion,
    alone: Portion,
    makes_way: AtomicBool,
}

/// The next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of items.
    pub items: usize,
    /// It is throttled in favour of clients.
    pub makes_way: bool,
}

impl Pace {
    /// Creates a pace with batches within `bounds`. The first one under client load is the
    /// smallest.
    pub fn new(share: Share, bounds: Bounds) -> Self {
        let beside = Portion::new(Bounds { first: bounds.least, ..bounds });
        Self { share, beside, alone: Portion::new(bounds), makes_way: AtomicBool::new(false) }
    }

    /// The next batch, for this client load and hour.
    pub fn next(&self, is_used: bool, hour: u32) -> Turn {
        let makes_way = self.share.makes_way(is_used, hour);
        self.makes_way.store(makes_way, Ordering::Relaxed);
        Turn { items: self.portion(makes_way).size(), makes_way }
    }

    /// Records that `items` of a batch took `took`; returns the pause before the next one.
    pub fn note(
        &self,
        turn: Turn,
        items: usize,
        took: Duration,
        is_used: bool,
        hour: u32,
    ) -> Duration {
        self.portion(turn.makes_way).note(items, took, turn.makes_way);
        let makes_way = self.share.makes_way(is_used, hour);
        self.makes_way.store(makes_way, Ordering::Relaxed);
        if makes_way { self.share.pause(took) } else { Duration::ZERO }
    }

    fn portion(&self, makes_way: bool) -> &Portion {
        if makes_way { &self.beside } else { &self.alone }
    }

    /// Share of time while the work is throttled; 1 is all of it.
    pub fn share(&self) -> f64 {
        self.share.share
    }

    /// Records that there is no work now.
    pub fn rest(&self) {
        self.makes_way.store(false, Ordering::Relaxed);
    }

    /// Returns `true` if the work is throttled at present.
    pub fn makes_way(&self) -> bool {
        self.makes_way.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use config::keys::hdds;

    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Share, PaceError> {
        let conf = Configuration::default();
        let conf = settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value));
        Share::read(
            &conf,
            &hdds::TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS,
            &hdds::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR,
        )
    }

    const MS: Duration = Duration::from_millis(1);

    fn pace(settings: &[(&str, &str)]) -> Pace {
        let bounds = Bounds { least: 1, first: 10, most: 100, short: 50 * MS, long: 500 * MS };
        Pace::new(read(settings).unwrap(), bounds)
    }

    #[test]
    fn work_pauses_while_clients_use_the_server_and_not_off_peak() {
        let note = |pace: &Pace, took, is_used, hour| {
            let turn = pace.next(is_used, hour);
            pace.note(turn, turn.items, took, is_used, hour)
        };
        let usual = pace(&[]);
        assert_eq!(note(&usual, 100 * MS, false, 12), Duration::ZERO);
        assert!(!usual.makes_way());
        assert_eq!(note(&usual, 100 * MS, true, 12), 700 * MS, "an eighth of the time");
        assert!(usual.makes_way());
        assert_eq!(note(&usual, 3_600_000 * MS, true, 12), LONGEST_PAUSE);
        usual.rest();
        assert!(!usual.makes_way());
        let night = pace(&[("trioxide.block.deleting.off-peak.hour", "22-5")]);
        assert_eq!(note(&night, 100 * MS, true, 3), Duration::ZERO);
        assert!(!night.makes_way());
        assert_eq!(note(&night, 100 * MS, true, 12), 700 * MS);
        let all = pace(&[("trioxide.block.deleting.share.with.clients", "1")]);
        assert_eq!(note(&all, 100 * MS, true, 3), Duration::ZERO);
        let little = pace(&[("trioxide.block.deleting.share.with.clients", "1e-300")]);
        assert_eq!(note(&little, Duration::MAX / 2, true, 3), LONGEST_PAUSE);
        for wrong in ["0", "-1", "1.5", "NaN"] {
            let key = "trioxide.block.deleting.share.with.clients";
            let conf = Configuration::default().try_with(key, wrong);
            let read = |conf| {
                let off_peak = &hdds::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR;
                Share::read(&conf, &hdds::TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS, off_peak)
            };
            assert!(conf.map_or(true, |conf| read(conf).is_err()), "{wrong}");
        }
        assert!(read(&[("trioxide.block.deleting.off-peak.hour", "25")]).is_err());
    }

    #[test]
    fn portions_beside_clients_have_a_size_of_their_own() {
        let pace = pace(&[]);
        let turn = |is_used| pace.next(is_used, 12);
        let work = |is_used, took| {
            let next = turn(is_used);
            pace.note(next, next.items, took, is_used, 12);
        };
        assert_eq!(turn(false), Turn { items: 10, makes_way: false });
        assert_eq!(turn(true), Turn { items: 1, makes_way: true }, "the smallest at first");
        (0..10).for_each(|_| work(false, MS));
        assert_eq!(turn(false).items, 100);
        assert_eq!(turn(true).items, 1, "a quick batch without clients may be slow with them");
        (0..3).for_each(|_| work(true, MS));
        assert_eq!(turn(true).items, 8);
        (0..2).for_each(|_| work(true, 1000 * MS));
        assert_eq!((turn(true).items, turn(false).items), (2, 100));
        // A client came during a batch without one.
        let without = turn(false);
        pace.note(without, without.items, 1000 * MS, true, 12);
        assert_eq!((turn(true).items, turn(false).items), (2, 50));
    }
}
