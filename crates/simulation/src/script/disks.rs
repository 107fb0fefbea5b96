//! Contents of the DataNodes' disks, independent of the servers' reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::ensure;
use types::ContainerId;

use super::Server;
use super::cluster::Cluster;
use super::stage::Stage;
use crate::world::disk::damage::{BLOCKS, DATA};
use crate::world::node;

impl Cluster {
    /// The directory of what a server keeps.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn home(&self, server: Server) -> anyhow::Result<PathBuf> {
        Ok(node::home(self.machines().number(server)?))
    }

    /// The containers that a DataNode has a directory of.
    ///
    /// # Errors
    /// When there is no such DataNode.
    pub fn on_disk(&self, datanode: Server) -> anyhow::Result<BTreeSet<ContainerId>> {
        let clusters = below(self.home(datanode)?.join(DATA).join("hdds"));
        let containers = clusters.flat_map(|dir| below(dir.join("current"))).flat_map(below);
        Ok(containers.filter_map(id_of).collect())
    }

    /// The containers of which a DataNode has a part: a copy, or one that is being rebuilt there.
    ///
    /// # Errors
    /// When there is no such DataNode.
    pub fn arriving(&self, datanode: Server) -> anyhow::Result<BTreeSet<ContainerId>> {
        let clusters = below(self.home(datanode)?.join(DATA).join("hdds"));
        let parts = clusters.flat_map(|dir| below(dir.join("tmp").join("arriving-containers")));
        Ok(parts.filter_map(id_of).collect())
    }

    /// Bytes of all blocks on a DataNode's disk.
    ///
    /// # Errors
    /// When there is no such DataNode.
    pub fn bytes_of_blocks(&self, datanode: Server) -> anyhow::Result<u64> {
        let clusters = below(self.home(datanode)?.join(DATA).join("hdds"));
        let containers = clusters.flat_map(|dir| below(dir.join("current"))).flat_map(below);
        let files = containers.flat_map(|dir| below(dir.join(BLOCKS)));
        Ok(files.filter_map(|path| Some(path.metadata().ok()?.len())).sum())
    }

    /// Checks that each of these containers is on the disks of this many DataNodes.
    ///
    /// # Errors
    /// The first that is not, and where it is.
    pub fn are_on_disks(
        &self,
        containers: &BTreeSet<ContainerId>,
        copies: usize,
    ) -> anyhow::Result<()> {
        let mut of_nodes = Vec::new();
        for server in self.machines().servers().iter().copied() {
            if matches!(server, Server::Datanode(_)) {
                of_nodes.push((server, self.on_disk(server)?));
            }
        }
        for id in containers {
            let with = of_nodes.iter().filter(|(_, of)| of.contains(id));
            let with: Vec<Server> = with.map(|(server, _)| *server).collect();
            ensure!(with.len() == copies, "container {id} is on the disks of {with:?}");
        }
        Ok(())
    }
}

/// The container whose directory it is.
fn id_of(path: PathBuf) -> Option<ContainerId> {
    Some(ContainerId(path.file_name()?.to_str()?.parse().ok()?))
}

fn below(dir: PathBuf) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}
