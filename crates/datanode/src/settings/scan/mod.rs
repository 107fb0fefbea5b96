//! Settings of container scans.

mod off_peak;

use std::time::Duration;

use config::keys::datanode as dn;
use config::{ByteSize, Configuration, Key};

pub use off_peak::OffPeak;

use crate::DatanodeError;

/// At a lower rate no scan would end: a container of 5 GB takes two weeks.
const MIN_RATE: u64 = 4 << 10;

/// Settings of container scans.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanSettings {
    /// True if they are enabled.
    pub enabled: bool,
    /// Interval between two checks of a container's parts.
    pub metadata_interval: Duration,
    /// Between two readings of a closed container.
    pub data_interval: Duration,
    /// Least time between two scans of a container.
    pub min_gap: Duration,
    /// Rate of the scans of all closed containers on a disk.
    pub data_rate: ScanRate,
    /// Rate of the scans of suspicious containers on a disk.
    pub on_demand_rate: ScanRate,
}

/// Bytes per second that a scan reads of a disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanRate {
    /// Rate in most hours.
    pub bytes_per_second: u64,
    /// The other hours.
    pub off_peak: OffPeak,
}

impl ScanSettings {
    pub(crate) fn read(conf: &Configuration) -> Result<Self, DatanodeError> {
        let off_peak = OffPeak::read(conf)?;
        let rate = |key| {
            let bytes_per_second = rate(conf, key)?;
            Ok::<_, DatanodeError>(ScanRate { bytes_per_second, off_peak })
        };
        Ok(Self {
            enabled: conf.get(&dn::HDDS_CONTAINER_SCRUB_ENABLED),
            metadata_interval: conf.get(&dn::HDDS_CONTAINER_SCRUB_METADATA_SCAN_INTERVAL),
            data_interval: conf.get(&dn::HDDS_CONTAINER_SCRUB_DATA_SCAN_INTERVAL),
            min_gap: conf.get(&dn::HDDS_CONTAINER_SCRUB_MIN_GAP),
            data_rate: rate(&dn::HDDS_CONTAINER_SCRUB_VOLUME_BYTES_PER_SECOND)?,
            on_demand_rate: rate(&dn::HDDS_CONTAINER_SCRUB_ON_DEMAND_VOLUME_BYTES_PER_SECOND)?,
        })
    }
}

impl ScanRate {
    /// Bytes per second in an hour of the day.
    pub fn at(&self, hour: u32) -> u64 {
        if !self.off_peak.contains(hour) {
            return self.bytes_per_second;
        }
        ((self.bytes_per_second as f64 * self.off_peak.ratio()) as u64).max(1)
    }
}

fn rate(conf: &Configuration, key: &'static Key<ByteSize>) -> Result<u64, DatanodeError> {
    let rate = conf.get(key);
    if rate.bytes() >= MIN_RATE {
        return Ok(rate.bytes());
    }
    Err(DatanodeError::Setting {
        key: key.name(),
        value: rate.to_string(),
        reason: "at least 4KB are read per second; hdds.container.scrub.enabled=false turns scans off",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ScanSettings, DatanodeError> {
        let empty = Configuration::builder().build().expect("an empty configuration");
        ScanSettings::read(&pairs.iter().fold(empty, |conf, (key, value)| conf.with(key, value)))
    }

    #[test]
    fn scans_have_ozones_defaults() {
        let settings = read(&[]).expect("the defaults");
        assert!(settings.enabled);
        assert_eq!(settings.metadata_interval, Duration::from_secs(3 * 3_600));
        assert_eq!(settings.data_interval, Duration::from_secs(7 * 86_400));
        assert_eq!(settings.min_gap, Duration::from_secs(15 * 60));
        for hour in 0..24 {
            assert_eq!(settings.data_rate.at(hour), 5 << 20);
            assert_eq!(settings.on_demand_rate.at(hour), 5 << 20);
        }
    }

    #[test]
    fn a_rate_is_its_ratio_in_the_hours_that_are_off_peak() {
        let settings = read(&[
            ("hdds.container.scrub.volume.bytes.per.second", "8MB"),
            ("hdds.container.scrub.on.demand.volume.bytes.per.second", "4MB"),
            ("hdds.container.scrub.off-peak.hour", "22-1,5"),
            ("hdds.container.scrub.off-peak.ratio", "2.5"),
        ]);
        let settings = settings.expect("they make sense");
        for hour in 0..24 {
            let off_peak = [22, 23, 0, 1, 5].contains(&hour);
            let (data, on_demand) =
                if off_peak { (20 << 20, 10 << 20) } else { (8 << 20, 4 << 20) };
            assert_eq!(settings.data_rate.at(hour), data, "hour {hour}");
            assert_eq!(settings.on_demand_rate.at(hour), on_demand, "hour {hour}");
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_by_name() {
        let cases = [
            ("hdds.container.scrub.volume.bytes.per.second", "0"),
            ("hdds.container.scrub.volume.bytes.per.second", "5"),
            ("hdds.container.scrub.on.demand.volume.bytes.per.second", "0B"),
            ("hdds.container.scrub.off-peak.ratio", "0"),
            ("hdds.container.scrub.off-peak.ratio", "-2"),
            ("hdds.container.scrub.off-peak.hour", "24"),
            ("hdds.container.scrub.off-peak.hour", "1,night"),
            ("hdds.container.scrub.off-peak.hour", "22-25"),
            ("hdds.container.scrub.off-peak.hour", "22-"),
            ("hdds.container.scrub.off-peak.hour", "1-2-3"),
            ("hdds.container.scrub.off-peak.hour", "-1"),
        ];
        for (key, value) in cases {
            let error = read(&[(key, value)]).expect_err("it makes no sense").to_string();
            assert!(error.starts_with(key), "{key}={value}: {error}");
        }
    }
}
