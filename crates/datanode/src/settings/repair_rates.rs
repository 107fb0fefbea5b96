//! Rate limits of copies and reconstructions.

use config::Configuration;
use config::keys::datanode as dn;

/// Bytes per second; 0 is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepairRates {
    /// Sent, at any time.
    pub most: u64,
    /// Sent, received, and read, each, while clients use the DataNode.
    pub with_clients: u64,
}

impl RepairRates {
    /// Reads them, for a DataNode with this number of data directories.
    pub(crate) fn read(conf: &Configuration, directories: usize) -> Self {
        let with_clients = &dn::TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH_WITH_CLIENTS;
        Self {
            most: conf.get(&dn::TRIOXIDE_DATANODE_REPLICATION_BANDWIDTH).bytes(),
            with_clients: conf.get(with_clients).bytes().saturating_mul(directories as u64),
        }
    }

    /// Returns the present rate: `is_used` is true if clients use the DataNode.
    pub(crate) fn at(&self, is_used: bool) -> u64 {
        match (self.most, self.with_clients) {
            (most, with_clients) if !is_used || with_clients == 0 => most,
            (0, with_clients) => with_clients,
            (most, with_clients) => most.min(with_clients),
        }
    }
}
