//! The balancer's settings, from the configuration.

use std::path::PathBuf;
use std::time::Duration;

use super::parameters::Parameters;

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
