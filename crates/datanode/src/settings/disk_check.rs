//! Settings of disk checks.

use std::time::Duration;

use config::Configuration;
use config::keys::datanode as dn;

/// Settings of disk checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSettings {
    /// Between two checks of all disks.
    pub interval: Duration,
    /// Least time between two checks of a disk.
    pub min_gap: Duration,
    /// A check that takes longer has failed.
    pub timeout: Duration,
    /// Number of the last tests that count; 0 disables reading and writing.
    pub tests: usize,
    /// Number of them that may fail.
    pub tolerated: usize,
    /// Bytes of the file of a test.
    pub file_size: usize,
}

impl CheckSettings {
    pub(crate) fn read(conf: &Configuration) -> Self {
        let minutes = conf.get(&dn::HDDS_DATANODE_PERIODIC_DISK_CHECK_INTERVAL_MINUTES).max(1);
        Self {
            interval: Duration::from_secs(minutes.saturating_mul(60)),
            min_gap: conf.get(&dn::HDDS_DATANODE_DISK_CHECK_MIN_GAP),
            timeout: conf.get(&dn::HDDS_DATANODE_DISK_CHECK_TIMEOUT),
            tests: conf.get(&dn::HDDS_DATANODE_DISK_CHECK_IO_TEST_COUNT),
            tolerated: conf.get(&dn::HDDS_DATANODE_DISK_CHECK_IO_FAILURES_TOLERATED),
            file_size: conf.get(&dn::HDDS_DATANODE_DISK_CHECK_IO_FILE_SIZE).as_usize(),
        }
    }
}
