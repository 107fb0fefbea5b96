//! How fast the space of deleted blocks is given back: as fast as the disks can where nobody else
//! uses a DataNode, and in a share of the time while clients do.
//!
//! A run deletes a portion and says how long it took; the next one is so large that it takes about
//! as long as it should. While clients use the node portions are short, so that a client waits
//! behind one for a moment only, and there is a pause behind each. In the hours that are off peak
//! clients are not waited for.

use std::time::Duration;

use config::Configuration;
use config::keys::datanode as dn;
use parking_lot::Mutex;

use crate::DatanodeError;
use crate::hours::Hours;

/// How long a portion should take while clients use the node, and else.
const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_millis(500);

/// Blocks of a portion of each disk.
const LEAST: usize = 50;
const MOST: usize = 10_000;
const FIRST: usize = 500;

/// A pause is not longer, so that the service can be stopped.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How deletions make way for clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeletionShare {
    /// Share of the time that deletions take while clients use the node; 1 is all of it.
    share: f64,
    off_peak: Hours,
}

impl DeletionShare {
    /// # Errors
    /// When the share is not more than 0 and at most 1, or an hour is none.
    pub(crate) fn read(conf: &Configuration) -> Result<Self, DatanodeError> {
        let key = &dn::TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS;
        let share = conf.get(key);
        if !(share > 0.0 && share <= 1.0) {
            return Err(DatanodeError::Setting {
                key: key.name(),
                value: share.to_string(),
                reason: "expected more than 0 and at most 1, such as 0.25",
            });
        }
        let off_peak = Hours::read(conf, &dn::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR)?;
        Ok(Self { share, off_peak })
    }

    /// Whether deletions make way now: clients use the node, and the hour is not off peak.
    fn makes_way(&self, is_used: bool, hour: u32) -> bool {
        is_used && self.share < 1.0 && !self.off_peak.contains(hour)
    }
}

/// Sizes portions, and the pauses behind them.
#[derive(Debug)]
pub(crate) struct DeletionPace {
    share: DeletionShare,
    portion: Mutex<usize>,
}

impl DeletionPace {
    pub fn new(share: DeletionShare) -> Self {
        Self { share, portion: Mutex::new(FIRST) }
    }

    /// Blocks to delete next, of each disk.
    pub fn portion(&self) -> usize {
        *self.portion.lock()
    }

    /// A portion took so long; how long to pause before the next.
    pub fn note(&self, took: Duration, is_used: bool, hour: u32) -> Duration {
        let makes_way = self.share.makes_way(is_used, hour);
        let wanted = if makes_way { SHORT } else { LONG };
        let mut portion = self.portion.lock();
        // No more than twice or half at once: one that was held up by chance says little.
        let factor = (wanted.as_secs_f64() / took.as_secs_f64().max(1e-6)).clamp(0.5, 2.0);
        *portion = ((*portion as f64 * factor) as usize).clamp(LEAST, MOST);
        match makes_way {
            true => took.mul_f64(1.0 / self.share.share - 1.0).min(LONGEST_PAUSE),
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<DeletionShare, DatanodeError> {
        let conf = Configuration::default();
        let conf = settings.iter().fold(conf, |conf, (key, value)| conf.with(key, value));
        DeletionShare::read(&conf)
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn deletions_pause_while_clients_use_the_node_and_not_off_peak() {
        let pace = DeletionPace::new(read(&[]).unwrap());
        assert_eq!(pace.note(100 * MS, false, 12), Duration::ZERO);
        assert_eq!(pace.note(100 * MS, true, 12), 300 * MS, "a quarter of the time");
        assert_eq!(pace.note(3_600_000 * MS, true, 12), LONGEST_PAUSE);
        let night = [("trioxide.block.deleting.off-peak.hour", "22-5")];
        let pace = DeletionPace::new(read(&night).unwrap());
        assert_eq!(pace.note(100 * MS, true, 3), Duration::ZERO);
        assert_eq!(pace.note(100 * MS, true, 12), 300 * MS);
        let all = [("trioxide.block.deleting.share.with.clients", "1")];
        assert_eq!(DeletionPace::new(read(&all).unwrap()).note(100 * MS, true, 3), Duration::ZERO);
        for wrong in ["0", "-1", "1.5", "NaN"] {
            let key = "trioxide.block.deleting.share.with.clients";
            let conf = Configuration::default().try_with(key, wrong);
            assert!(conf.map_or(true, |conf| DeletionShare::read(&conf).is_err()), "{wrong}");
        }
        assert!(read(&[("trioxide.block.deleting.off-peak.hour", "25")]).is_err());
    }

    #[test]
    fn a_portion_takes_about_as_long_as_it_should() {
        let pace = DeletionPace::new(read(&[]).unwrap());
        // A disk that deletes ten blocks in a millisecond.
        let run = |is_used| {
            for _ in 0..20 {
                let took = pace.portion() as u32 * MS / 10;
                pace.note(took, is_used, 12);
            }
            pace.portion()
        };
        assert_eq!(run(false), 5_000);
        assert_eq!(run(true), 500);
        // One that hangs, and one that takes no time.
        let repeat = |took| (0..20).for_each(|_| _ = pace.note(took, true, 12));
        repeat(Duration::from_secs(60));
        assert_eq!(pace.portion(), LEAST);
        repeat(Duration::ZERO);
        assert_eq!(pace.portion(), MOST);
    }
}
