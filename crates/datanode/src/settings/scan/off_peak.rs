//! The hours of the day in which scans may take another share of the disks.

use config::Configuration;
use config::keys::datanode as dn;

use service::Hours;

use crate::DatanodeError;

/// Hours of the day, and what rates are multiplied by in them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffPeak {
    hours: Hours,
    ratio: f64,
}

impl OffPeak {
    pub(super) fn read(conf: &Configuration) -> Result<Self, DatanodeError> {
        let hours = Hours::read(conf, &dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_HOUR)?;
        let ratio = conf.get(&dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_RATIO);
        if ratio > 0.0 {
            return Ok(Self { hours, ratio });
        }
        Err(DatanodeError::Setting {
            key: dn::HDDS_CONTAINER_SCRUB_OFF_PEAK_RATIO.name(),
            value: ratio.to_string(),
            reason: "expected more than 0, such as 3",
        })
    }

    /// Returns `true` if an hour of the day is one of them.
    pub fn contains(&self, hour: u32) -> bool {
        self.hours.contains(hour)
    }

    /// Returns the factor of rates in them.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }
}
