//! The servers, their addresses, and the configuration of each.

use std::path::Path;
use std::sync::Arc;

use config::Configuration;
use config::keys::scm::OZONE_SCM_DEAD_NODE_INTERVAL;

use super::services::{self, Services};
use super::settings;
use crate::scenario::nemesis::faults::Kind;
use crate::scenario::settings::{Drawn, apply};
use crate::world::disk::damage::LOG;
use crate::world::node::address;
use crate::world::random::Random;

/// Number of SCMs; they are on the first machines.
pub const SCMS: usize = 3;
/// Number of OMs; they are on the next machines.
pub const OMS: usize = 3;
/// Number of DataNodes; on the machines after those.
pub const DATANODES: usize = 5;
/// The OM whose log has what others have trimmed, with the faults that need one.
pub const PATIENT_OM: usize = OMS - 1;
/// HTTP port of OMs, if enabled.
pub const OM_HTTP_PORT: u16 = 9874;

/// The machine of an SCM; the spare one comes after the DataNodes and the spare OM.
pub fn scm_machine(number: usize) -> usize {
    if number < SCMS { 1 + number } else { 2 + SCMS + OMS + DATANODES }
}

/// The machine of an OM; the spare one comes after the DataNodes.
pub fn om_machine(number: usize) -> usize {
    if number < OMS { 1 + SCMS + number } else { 1 + SCMS + OMS + DATANODES }
}

/// The machines of a cluster, with the configuration of each process on them.
#[derive(Clone)]
pub struct Layout {
    conf: Configuration,
    /// One OM trims its log hardly ever.
    has_patient_om: bool,
    services: services::Shared,
}

impl Layout {
    /// The configuration shared by all.
    pub fn new() -> Self {
        let names = |what: &str, count: usize| {
            (1..=count).map(|n| format!("{what}{n}")).collect::<Vec<_>>().join(",")
        };
        let conf = Configuration::default().with("ozone.scm.nodes.scms", names("scm", SCMS));
        Self::over(conf.with("ozone.om.nodes.oms", names("om", OMS)), None)
    }

    /// The same with a spare OM and a spare SCM, and a file at a path that names the members.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn with_services(file: &Path) -> std::io::Result<Self> {
        let services = Services::new();
        services::write_file(file, &services)?;
        let conf = Configuration::builder().file(file).and_then(|builder| builder.build());
        let conf = conf.map_err(std::io::Error::other)?;
        Ok(Self::over(conf, Some((Arc::new(services), file.into()))))
    }

    /// With the members of the services that `conf` names.
    fn over(mut conf: Configuration, services: services::Shared) -> Self {
        for (key, value) in [
            ("ozone.scm.service.ids", "scms"),
            ("ozone.om.service.ids", "oms"),
            ("ozone.scm.http.enabled", "false"),
            ("ozone.om.http.enabled", "false"),
            // Codes with small cells, which fill stripes soon.
            ("ozone.replication.allowed-configs", ".*"),
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
        let spares = usize::from(services.is_some());
        for number in 0..SCMS + spares {
            let key = format!("ozone.scm.address.scms.scm{}", number + 1);
            conf = conf.with(&key, address(scm_machine(number)));
        }
        for number in 0..OMS + spares {
            let key = format!("ozone.om.address.oms.om{}", number + 1);
            conf = conf.with(&key, format!("{}:9862", address(om_machine(number))));
        }
        Self { conf, has_patient_om: false, services }
    }

    /// The services whose members change, and the file that names them.
    pub fn services(&self) -> Option<(&Services, &Path)> {
        self.services.as_ref().map(|(services, file)| (&**services, &**file))
    }

    /// Configuration of a process that starts now.
    fn current(&self) -> Configuration {
        match self.services {
            Some(_) => self.conf.reloaded().unwrap_or_else(|_| self.conf.clone()),
            None => self.conf.clone(),
        }
    }

    /// With settings that the seed picks.
    pub fn varied(self, kinds: &[Kind], random: &mut Random) -> Self {
        let has_patient_om = kinds.contains(&Kind::BlockedReader);
        Self { conf: settings::vary(self.conf, kinds, random), has_patient_om, ..self }
    }

    /// With settings that the seed has drawn.
    pub fn drawn(self, drawn: &[Drawn]) -> Self {
        Self { conf: apply(self.conf, drawn), ..self }
    }

    /// Of an SCM whose tables are in a directory, and its Raft log in another one.
    pub fn scm(&self, number: usize, dir: &Path, log: &Path) -> Configuration {
        self.current()
            .with("ozone.scm.node.id", format!("scm{}", number + 1))
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.scm.db.dirs", dir.display())
            .with("ozone.scm.ha.ratis.storage.dir", log.display())
    }

    /// Of an OM whose tables are in a directory, and its Raft log in another one.
    pub fn om(&self, number: usize, dir: &Path, log: &Path) -> Configuration {
        let conf = match self.has_patient_om && number == PATIENT_OM {
            true => self.current().with("ozone.om.ratis.snapshot.auto.trigger.threshold", "400000"),
            false => self.current(),
        };
        conf.with("ozone.om.node.id", format!("om{}", number + 1))
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.om.db.dirs", dir.display())
            .with("ozone.om.ratis.storage.dir", log.display())
    }

    /// Of a DataNode.
    pub fn datanode(&self, number: usize, dir: &Path) -> Configuration {
        self.current()
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.scm.datanode.id.dir", dir.display())
            .with("hdds.datanode.dir", dir.join("data").display())
            .with("hdds.container.ratis.datanode.storage.dir", dir.join(LOG).display())
            .with("hdds.datanode.hostname", address(1 + SCMS + OMS + number))
            .with("trioxide.datanode.bind.host", address(1 + SCMS + OMS + number))
    }

    /// Of an S3 gateway.
    pub fn gateway(&self, dir: &Path) -> Configuration {
        self.current()
            .with("ozone.metadata.dirs", dir.display())
            .with("ozone.s3g.webadmin.http.enabled", "false")
    }

    /// Seconds after which SCM replaces the replicas of a failed node.
    pub fn dead_after(&self) -> u64 {
        self.conf.get(&OZONE_SCM_DEAD_NODE_INTERVAL).as_secs()
    }

    /// Of a client.
    pub fn client(&self) -> &Configuration {
        &self.conf
    }
}
