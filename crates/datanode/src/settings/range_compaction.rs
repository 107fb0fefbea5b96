//! Settings of compaction of ranges of the disks' databases.

use std::time::Duration;

use config::Configuration;
use config::keys::hdds;
use metastore::compaction::Limits;

use crate::DatanodeError;

/// Settings of range compaction.
#[derive(Debug, Clone)]
pub struct RangeCompactionSettings {
    /// Interval between checks of the tables.
    pub interval: Duration,
    /// Limits from which a range is compacted.
    pub limits: Limits,
}

impl RangeCompactionSettings {
    /// Reads them; `None` if automatic compaction is disabled.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub(crate) fn read(conf: &Configuration) -> Result<Option<Self>, DatanodeError> {
        let interval = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_INTERVAL);
        let percentage = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE);
        if interval.is_zero() {
            return Err(DatanodeError::Setting {
                key: hdds::HDDS_RANGE_COMPACTION_SERVICE_INTERVAL.name(),
                value: "0".to_owned(),
                reason: "it must not be 0",
            });
        }
        if !(1..=100).contains(&percentage) {
            return Err(DatanodeError::Setting {
                key: hdds::HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE.name(),
                value: percentage.to_string(),
                reason: "a percentage from 1 to 100 is expected",
            });
        }
        let max_entries = &hdds::HDDS_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES;
        let limits = Limits {
            max_entries: conf.get(max_entries).max(1),
            min_tombstones: conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES).max(1),
            tombstone_percentage: percentage,
        };
        let enabled = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_ENABLED);
        Ok(enabled.then_some(Self { interval, limits }))
    }
}
