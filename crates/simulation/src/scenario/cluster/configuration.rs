//! The servers, their addresses, and the configuration of each.

use std::path::Path;

use config::Configuration;
use config::keys::scm::OZONE_SCM_DEAD_NODE_INTERVAL;

use super::settings;
use crate::scenario::storm::faults::Kind;
use crate::world::disk::damage::LOG;
use crate::world::node::address;
use crate::world::random::Random;

/// How many SCMs; they are on the first machines.
pub const SCMS: usize = 3;
/// How many OMs; they are on the machines behind those.
pub const OMS: usize = 3;
/// How many DataNodes; behind those.
pub const DATANODES: usize = 5;

/// The machines of a cluster, with the configuration of each process on them.
#[derive(Clone)]
pub struct Layout {
    conf: Configuration,
}

impl Layout {
    /// What all have in common.
    pub fn new() -> Self {
        let names = |what: &str, count: usize| {
            (1..=count).map(|n| format!("{what}{n}")).collect::<Vec<_>>().join(",")
        };
        let mut conf = Configuration::default();
        for (key, value) in [
            ("ozone.scm.service.ids", "scms"),
            ("ozone.scm.nodes.scms", &names("scm", SCMS)),
            ("ozone.om.service.ids", "oms"),
            ("ozone.om.nodes.oms", &names("om", OMS)),
            ("ozone.scm.http.enabled", "false"),
            ("ozone.om.http.enabled", "false"),
            ("trioxide.audit.enabled", "false"),
            ("ozone.om.follower.read.local.lease.enabled", "true"),
            ("trioxide.om.cache.size", "4MB"),
            ("hdds.datanode.http-address", "0.0.0.0:9882"),
            ("hdds.datanode.volume.min.free.space", "1MB"),
            ("hdds.heartbeat.interval", "2s"),
            ("ozone.scm.stale.node.interval", "20s"),
            ("ozone.scm.dead.node.interval", "60s"),
            ("ozone.datanode.pipeline.limit", "2"),
            ("ozone.scm.container.size", "64MB"),
        ] {
            conf = conf.with(key, value);
        }
        for number in 0..SCMS {
            let key = format!("ozone.scm.address.scms.scm{}", number + 1);
            conf = conf.with(&key, address(1 + number));
        }
        for number in 0..OMS {
            let key = format!("ozone.om.address.oms.om{}", number + 1);
            conf = conf.with(&key, format!("{}:9862", address(1 + SCMS + number)));
        }
        Self { conf }
    }

    /// With settings that the seed picks.
    pub fn varied(self, kinds: &[Kind], random: &mut Random) -> Self {
        Self { conf: settings::vary(self.conf, kinds, random) }
    }

    /// Of an SCM.
    pub fn scm(&self, number: usize, dir: &Path) -> Configuration {
        self.conf
            .with("ozone.scm.node.id", format!("scm{}", number + 1))
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.scm.db.dirs", dir.display())
            .with("ozone.scm.ha.ratis.storage.dir", dir.join(LOG).display())
    }

    /// Of an OM.
    pub fn om(&self, number: usize, dir: &Path) -> Configuration {
        self.conf
            .with("ozone.om.node.id", format!("om{}", number + 1))
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.om.db.dirs", dir.display())
            .with("ozone.om.ratis.storage.dir", dir.join(LOG).display())
    }

    /// Of a DataNode.
    pub fn datanode(&self, number: usize, dir: &Path) -> Configuration {
        self.conf
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.scm.datanode.id.dir", dir.display())
            .with("hdds.datanode.dir", dir.join("data").display())
            .with("hdds.container.ratis.datanode.storage.dir", dir.join(LOG).display())
            .with("hdds.datanode.hostname", address(1 + SCMS + OMS + number))
            .with("trioxide.datanode.bind.host", address(1 + SCMS + OMS + number))
    }

    /// After so many seconds SCM makes up for what a node that is gone had.
    pub fn dead_after(&self) -> u64 {
        self.conf.get(&OZONE_SCM_DEAD_NODE_INTERVAL).as_secs()
    }

    /// Of a client.
    pub fn client(&self) -> &Configuration {
        &self.conf
    }
}
