//! Settings of the disk balancer.

use std::path::Path;

use config::Configuration;
use config::keys::datanode as dn;

use crate::DatanodeError;
use crate::disk_balancer::{DiskBalancerSettings, MovableStates, ParameterError, Parameters};

/// Name of the file that keeps over a restart whether it runs, and how.
const INFO_FILE: &str = "diskBalancer.info";

/// Reads the settings of the disk balancer.
///
/// # Errors
/// When a setting makes no sense.
pub(super) fn read(
    conf: &Configuration,
    metadata_dir: &Path,
) -> Result<DiskBalancerSettings, DatanodeError> {
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
            threshold: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_VOLUME_DENSITY_THRESHOLD_PERCENT),
            bandwidth_mb: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_MAX_DISK_THROUGHPUT),
            threads: u32::try_from(threads).map_err(|_| ParameterError::Threads(threads))?,
            stop_after_even: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_STOP_AFTER_DISK_EVEN),
            states: MovableStates::parse(&states)?,
        }
        .checked()
    };
    Ok(DiskBalancerSettings {
        enabled: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_ENABLED),
        runs_at_first: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_SHOULD_RUN_DEFAULT),
        info_file: dir.unwrap_or_else(|| metadata_dir.to_owned()).join(INFO_FILE),
        interval,
        timeout: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_SERVICE_TIMEOUT),
        deletion_delay: conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_REPLICA_DELETION_DELAY),
        parameters: parameters().map_err(DatanodeError::DiskBalancer)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_pairs(pairs: &[(&str, &str)]) -> Result<DiskBalancerSettings, DatanodeError> {
        let empty = Configuration::builder().build().unwrap();
        let conf = pairs.iter().fold(empty, |conf, (key, value)| {
            conf.with(&format!("hdds.datanode.disk.balancer.{key}"), value)
        });
        read(&conf, Path::new("/meta"))
    }

    #[test]
    fn without_a_word_it_is_there_and_does_not_run() {
        let settings = read_pairs(&[]).unwrap();
        assert!(settings.enabled && !settings.runs_at_first);
        assert_eq!(settings.info_file, Path::new("/meta/diskBalancer.info"));
        assert_eq!(settings.parameters, crate::disk_balancer::defaults());
        let elsewhere = read_pairs(&[("info.dir", "/other")]).unwrap();
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
            assert!(read_pairs(&[(key, value)]).is_err(), "{key} {value}");
        }
    }
}
