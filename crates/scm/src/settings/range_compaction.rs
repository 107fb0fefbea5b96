//! Options of range compaction of the tables.

use std::time::Duration;

use config::Configuration;
use config::keys::hdds;
use metastore::compaction::Limits;

use crate::ScmError;

/// Options of range compaction of the tables.
#[derive(Debug, Clone)]
pub struct RangeCompactionOptions {
    /// Interval of checks of the tables.
    pub interval: Duration,
    /// Thresholds at which a range is compacted.
    pub limits: Limits,
}

impl RangeCompactionOptions {
    pub(super) fn read(conf: &Configuration) -> Result<Option<Self>, ScmError> {
        let interval = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_INTERVAL);
        let percentage = conf.get(&hdds::HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE);
        let refused = |key: &'static str, reason: &'static str| ScmError::Setting { key, reason };
        if interval.is_zero() {
            let key = hdds::HDDS_RANGE_COMPACTION_SERVICE_INTERVAL.name();
            return Err(refused(key, "it must not be 0"));
        }
        if !(1..=100).contains(&percentage) {
            let key = hdds::HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE.name();
            return Err(refused(key, "it is no percentage from 1 to 100"));
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
