//! The servers, their addresses and configuration: one OM, one SCM and DataNodes. The first two
//! keep their disks; what several of them do is the scenario `cluster`.

use std::fs;
use std::path::{Path, PathBuf};

use config::Configuration;
use types::StorageType;

use crate::scenario::process::{ended, on_runtime};
use crate::scenario::servers;
use crate::world::disk::damage::{DATA, LOG};
use crate::world::node::{self, address};
use crate::world::random::Random;

/// The machine of SCM.
const SCM: usize = 1;
/// The machine of OM.
const OM: usize = 2;

/// The machine of a DataNode.
pub fn machine(datanode: usize) -> usize {
    1 + OM + datanode
}

/// Settings of all runs: nodes die soon, containers are full soon, scans are repeated soon.
const ALWAYS: [(&str, &str); 24] = [
    ("ozone.scm.nodes.scms", "scm1"),
    ("ozone.om.nodes.oms", "om1"),
    ("ozone.scm.service.ids", "scms"),
    ("ozone.om.service.ids", "oms"),
    ("ozone.scm.http.enabled", "false"),
    ("ozone.om.http.enabled", "false"),
    // Codes with small cells, which fill stripes soon.
    ("ozone.replication.allowed-configs", ".*"),
    ("trioxide.audit.enabled", "false"),
    ("trioxide.om.cache.size", "4MB"),
    ("hdds.datanode.http-address", "0.0.0.0:9882"),
    ("hdds.datanode.volume.min.free.space", "1MB"),
    ("hdds.heartbeat.interval", "1s"),
    ("ozone.scm.stale.node.interval", "8s"),
    ("ozone.scm.dead.node.interval", "25s"),
    ("hdds.scm.replication.thread.interval", "2s"),
    ("hdds.scm.wait.time.after.safemode.exit", "5s"),
    ("ozone.block.deleting.service.interval", "2s"),
    ("trioxide.om.key.deleting.service.interval", "1s"),
    ("trioxide.om.deleted.blocks.kept", "0s"),
    ("hdds.container.scrub.metadata.scan.interval", "10s"),
    ("hdds.container.scrub.data.scan.interval", "20s"),
    ("hdds.container.scrub.min.gap", "0s"),
    ("hdds.datanode.recovering.container.scrubbing.service.interval", "10s"),
    ("ozone.recovering.container.timeout", "60s"),
];

/// Settings that a seed picks.
const CHOICES: [(&str, &[&str]); 7] = [
    ("ozone.scm.container.size", &["1MB", "2MB", "8MB"]),
    ("ozone.scm.block.size", &["256KB", "1MB"]),
    ("ozone.scm.ec.pipeline.minimum", &["1", "3"]),
    ("trioxide.small.block.size", &["16B", "4KB", "128KB"]),
    ("hdds.scm.replication.event.timeout", &["30s", "2m"]),
    ("hdds.scm.block.deleting.service.interval", &["1s", "10s"]),
    ("ozone.scm.pipeline.destroy.timeout", &["10s", "66s"]),
];

/// Numbers of machines, and of disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// DataNodes.
    pub datanodes: usize,
    /// Disks for containers of each of them.
    pub disks: usize,
}

/// The types of a DataNode's disks, in their order.
pub type Types = Vec<StorageType>;

/// The configuration of a run.
#[derive(Clone)]
pub struct Layout {
    conf: Configuration,
    shape: Shape,
    /// The types of each DataNode's disks; of those that have none here all disks are DISK.
    types: Vec<Types>,
}

/// A directory for containers, below a DataNode's home.
fn disk(shape: Shape, number: usize) -> PathBuf {
    match shape.disks {
        1 => PathBuf::from(DATA),
        _ => Path::new(DATA).join(format!("disk-{number}")),
    }
}

fn below(dir: PathBuf) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Directories whose names are the ids of containers, by these. In the order of the real file
/// system they would not be the same in each run.
fn by_ids(dirs: impl Iterator<Item = PathBuf>) -> Vec<(u64, PathBuf)> {
    let id = |dir: &Path| dir.file_name()?.to_str()?.parse().ok();
    let mut found: Vec<_> = dirs.filter_map(|dir| Some((id(&dir)?, dir))).collect();
    found.sort_unstable();
    found
}

/// Text of a container's file, in the container's directory; empty if there is none.
pub fn replica_file(dir: &Path) -> String {
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    fs::read_to_string(dir.join("metadata").join(format!("{name}.container"))).unwrap_or_default()
}

impl Layout {
    /// With what the seed picks.
    pub fn new(shape: Shape, random: &mut Random) -> Self {
        let always = |conf: Configuration, (key, value): &(&str, &str)| conf.with(key, *value);
        let conf = ALWAYS.iter().fold(Configuration::default(), always);
        let conf = CHOICES.iter().fold(conf, |conf, (key, of)| conf.with(key, *random.pick(of)));
        let conf = conf.with("ozone.scm.address.scms.scm1", address(SCM));
        let conf = conf.with("ozone.om.address.oms.om1", format!("{}:9862", address(OM)));
        Self { conf, shape, types: Vec::new() }
    }

    /// With a setting.
    pub fn with(self, key: &str, value: &str) -> Self {
        Self { conf: self.conf.with(key, value), ..self }
    }

    /// With disks of these types, for each DataNode.
    pub fn with_types(self, types: Vec<Types>) -> Self {
        Self { types, ..self }
    }

    /// The type of a DataNode's disk.
    pub fn type_of(&self, datanode: usize, disk: usize) -> StorageType {
        let types = self.types.get(datanode);
        types.and_then(|types| types.get(disk)).copied().unwrap_or_default()
    }

    /// The type of the disk that a container's directory is on.
    pub fn type_at(&self, datanode: usize, dir: &Path) -> Option<StorageType> {
        let home = node::home(machine(datanode));
        let on = |number: &usize| dir.starts_with(home.join(self.disk(*number)));
        (0..self.shape.disks).find(on).map(|number| self.type_of(datanode, number))
    }

    /// Number of DataNodes.
    pub fn datanodes(&self) -> usize {
        self.shape.datanodes
    }

    /// Number of disks of each of them.
    pub fn disks(&self) -> usize {
        self.shape.disks
    }

    /// The directory of a DataNode's disk, below its home.
    pub fn disk(&self, number: usize) -> PathBuf {
        disk(self.shape, number)
    }

    /// The containers on a DataNode's disks, with their directories.
    pub fn containers(&self, datanode: usize) -> Vec<(u64, PathBuf)> {
        let dirs = self.clusters(datanode).flat_map(|dir| below(dir.join("current")));
        by_ids(dirs.flat_map(below))
    }

    /// The containers of which copies are arriving on a DataNode's disks, with their directories.
    pub fn arrivals(&self, datanode: usize) -> Vec<(u64, PathBuf)> {
        by_ids(self.clusters(datanode).flat_map(|dir| below(dir.join("tmp/arriving-containers"))))
    }

    /// The directories of a DataNode's disks that have all of a cluster.
    fn clusters(&self, datanode: usize) -> impl Iterator<Item = PathBuf> + use<> {
        let (home, shape) = (node::home(machine(datanode)), self.shape);
        let disks = (0..shape.disks).map(move |number| home.join(disk(shape, number)));
        disks.flat_map(|disk| below(disk.join("hdds")))
    }

    /// Of a client.
    pub fn client(&self) -> &Configuration {
        &self.conf
    }

    /// SCM's process.
    pub fn run_scm(&self, dir: &Path) {
        let conf = self.conf.clone().with("ozone.scm.node.id", "scm1");
        let conf = conf.with("ozone.metadata.dirs", dir.display());
        let conf = conf.with("ozone.scm.db.dirs", dir.display());
        let conf = conf.with("ozone.scm.ha.ratis.storage.dir", dir.join(LOG).display());
        let run = servers::scm(&conf, false, std::future::pending());
        ended("scm", 0, on_runtime(run).unwrap_or_default());
    }

    /// OM's process.
    pub fn run_om(&self, dir: &Path) {
        let conf = self.conf.clone().with("ozone.om.node.id", "om1");
        let conf = conf.with("ozone.metadata.dirs", dir.display());
        let conf = conf.with("ozone.om.db.dirs", dir.display());
        let conf = conf.with("ozone.om.ratis.storage.dir", dir.join(LOG).display());
        let run = servers::om(&conf, false, std::future::pending());
        ended("om", 0, on_runtime(run).unwrap_or_default());
    }

    /// A DataNode's process.
    pub fn run_datanode(&self, number: usize, dir: &Path) {
        let here = address(machine(number));
        let conf = self.conf.clone().with("ozone.metadata.dirs", dir.display());
        let conf = conf.with("ozone.scm.datanode.id.dir", dir.display());
        let disks = (0..self.shape.disks).map(|disk| {
            let dir = dir.join(self.disk(disk));
            match self.type_of(number, disk) {
                StorageType::Disk => dir.display().to_string(),
                of => format!("[{of}]{}", dir.display()),
            }
        });
        let disks: Vec<String> = disks.collect();
        let conf = conf.with("hdds.datanode.dir", disks.join(","));
        let log = dir.join(LOG);
        let conf = conf.with("hdds.container.ratis.datanode.storage.dir", log.display());
        let conf = conf.with("hdds.datanode.hostname", &here);
        let conf = conf.with("trioxide.datanode.bind.host", here);
        let run = servers::datanode(&conf);
        ended("datanode", number, on_runtime(run).unwrap_or_default());
    }
}
