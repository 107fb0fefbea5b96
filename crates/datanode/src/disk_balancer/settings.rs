//! The balancer's settings, from the configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use config::Configuration;
use config::keys::datanode as dn;

use super::parameters::{MovableStates, ParameterError, Parameters};
use crate::DatanodeError;

/// Name of the file that stores its status and parameters across restarts.
const INFO_FILE: &str = "diskBalancer.info";

/// Settings of disk balancing.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskBalancerSettings {
    /// True if it may run at all.
    pub enabled: bool,
    /// True if it runs before an operator first starts or stops it.
    pub runs_at_first: bool,
    /// The file that stores its status and parameters.
    pub info_file: PathBuf,
    /// Between two looks whether there is something to move.
    pub interval: Duration,
    /// A move that takes longer is logged.
    pub timeout: Duration,
    /// Delay before the source of a moved replica is deleted.
    pub deletion_delay: Duration,
    /// Parameters until the operator changes them.
    pub parameters: Parameters,
}

impl DiskBalancerSettings {
    /// Reads them.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub(crate) fn read(conf: &Configuration, metadata_dir: &Path) -> Result<Self, DatanodeError> {
        let dir = conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_INFO_DIR);
        let interval = conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_SERVICE_INTERVAL);
        if interval.is_zero() {
            return Err(DatanodeError::Setting {
                key: dn::HDDS_DATANODE_DISK_BALANCER_SERVICE_INTERVAL.name(),
                value: "0".to_owned(),
                reason: "it must not be 0",
            });
        }
        let threads = conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_PARALLEL_THREAD);
        let states = conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_CONTAINER_STATES).join(",");
        let parameters = || -> Result<Parameters, ParameterError> {
            Parameters {
                threshold: conf
                    .get(&dn::HDDS_DATANODE_DISK_BALANCER_VOLUME_DENSITY_THRESHOLD_PERCENT),
                bandwidth_mb: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_MAX_DISK_THROUGHPUT),
                threads: u32::try_from(threads).map_err(|_| ParameterError::Threads(threads))?,
                stop_after_even: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_STOP_AFTER_DISK_EVEN),
                states: MovableStates::parse(&states)?,
            }
            .checked()
        };
        Ok(Self {
            enabled: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_ENABLED),
            runs_at_first: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_SHOULD_RUN_DEFAULT),
            info_file: dir.unwrap_or_else(|| metadata_dir.to_owned()).join(INFO_FILE),
            interval,
            timeout: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_SERVICE_TIMEOUT),
            deletion_delay: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_REPLICA_DELETION_DELAY),
            parameters: parameters().map_err(DatanodeError::DiskBalancer)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<DiskBalancerSettings, DatanodeError> {
        let empty = Configuration::builder().build().unwrap();
        let conf = pairs.iter().fold(empty, |conf, (key, value)| {
            conf.with(&format!("hdds.datanode.disk.balancer.{key}"), value)
        });
        DiskBalancerSettings::read(&conf, Path::new("/meta"))
    }

    #[test]
    fn without_a_word_it_is_there_and_does_not_run() {
        let settings = read(&[]).unwrap();
        assert!(settings.enabled && !settings.runs_at_first);
        assert_eq!(settings.info_file, Path::new("/meta/diskBalancer.info"));
        assert_eq!(settings.parameters, super::super::parameters::defaults());
        let elsewhere = read(&[("info.dir", "/other")]).unwrap();
        assert_eq!(elsewhere.info_file, Path::new("/other/diskBalancer.info"));
    }

    #[test]
    fn a_datanode_does_not_start_with_what_it_cannot_do() {
        for (key, value) in [
            ("volume.density.threshold.percent", "100"),
            ("volume.density.threshold.percent", "0"),
            ("max.disk.throughputInMBPerSec", "0"),
            ("parallel.thread", "0"),
            ("parallel.thread", "-1"),
            ("container.states", "OPEN"),
            ("service.interval", "0s"),
        ] {
            assert!(read(&[(key, value)]).is_err(), "{key} {value}");
        }
    }
}
