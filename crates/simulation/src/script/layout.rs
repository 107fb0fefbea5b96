//! The configuration of a script's cluster: defaults, but for addresses, and for what a simulated
//! machine has not got.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use config::Configuration;

use super::Server;
use crate::world::disk;
use crate::world::disk::damage::{DATA, LOG};

/// Differences from the defaults in each script: no web servers and audit logs, which no script
/// reads, and caches small enough for twelve servers in one process.
const ALWAYS: [(&str, &str); 8] = [
    ("ozone.scm.service.ids", "scms"),
    ("ozone.om.service.ids", "oms"),
    ("ozone.scm.http.enabled", "false"),
    ("ozone.om.http.enabled", "false"),
    ("trioxide.audit.enabled", "false"),
    ("trioxide.om.cache.size", "4MB"),
    ("hdds.datanode.http-address", "0.0.0.0:9882"),
    ("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.TableMapping"),
];

/// A server, where it is, and whether its service has it as a member.
#[derive(Debug, Clone)]
pub struct Place {
    /// The server.
    pub server: Server,
    /// The address of its machine.
    pub address: String,
    /// True if the shared file names it.
    pub is_named: bool,
    /// True if it is started with `--bootstrap`.
    pub joins: Arc<AtomicBool>,
}

/// The file that all servers read when they start, and their own additions.
#[derive(Debug, Clone)]
pub struct Layout {
    conf: Configuration,
    file: PathBuf,
    /// Settings of single servers.
    own: Vec<(Server, String, String)>,
}

impl Layout {
    /// With these settings, of servers in this many racks.
    ///
    /// # Errors
    /// When a file cannot be written, or a setting is refused.
    pub fn new(
        places: &[Place],
        racks: usize,
        settings: &[(String, String)],
    ) -> anyhow::Result<Self> {
        let (file, table) = (disk::aside("ozone-site.xml"), disk::aside("racks"));
        let nodes = places.iter().filter(|place| matches!(place.server, Server::Datanode(_)));
        let rack = |(n, place): (usize, &Place)| format!("{} /rack{}\n", place.address, n % racks);
        std::fs::write(&table, nodes.enumerate().map(rack).collect::<String>())?;
        write_file(&file, places)?;
        let conf = Configuration::builder().file(&file)?.build()?;
        let conf = conf.try_with("net.topology.table.file.name", table.display())?;
        let always = ALWAYS.iter().map(|(key, value)| (*key, *value));
        let more = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let conf =
            always.chain(more).try_fold(conf, |conf, (key, value)| conf.try_with(key, value))?;
        Ok(Self { conf, file, own: Vec::new() })
    }

    /// With settings of single servers.
    pub fn with_own(self, own: Vec<(Server, String, String)>) -> Self {
        Self { own, ..self }
    }

    /// Rewrites the file: members have joined or left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, places: &[Place]) -> anyhow::Result<()> {
        write_file(&self.file, places)
    }

    /// Current configuration of a client.
    pub fn current(&self) -> Configuration {
        self.conf.reloaded().unwrap_or_else(|_| self.conf.clone())
    }

    /// Configuration of a server that starts now, with its data in a directory.
    pub fn of(&self, server: Server, address: &str, dir: &Path) -> Configuration {
        let conf = self.current().with("ozone.metadata.dirs", dir.display());
        let own = self.own.iter().filter(|(of, ..)| *of == server);
        let conf = own.fold(conf, |conf, (_, key, value)| conf.with(key, value));
        match server {
            Server::Scm(_) => conf
                .with("ozone.scm.node.id", server)
                .with("ozone.scm.db.dirs", dir.display())
                .with("ozone.scm.ha.ratis.storage.dir", dir.join(LOG).display()),
            Server::Om(_) => conf
                .with("ozone.om.node.id", server)
                .with("ozone.om.db.dirs", dir.display())
                .with("ozone.om.ratis.storage.dir", dir.join(LOG).display()),
            Server::Datanode(_) | Server::Host(_) => conf
                .with("ozone.scm.datanode.id.dir", dir.display())
                .with("hdds.datanode.dir", dir.join(DATA).display())
                .with("hdds.container.ratis.datanode.storage.dir", dir.join(LOG).display())
                .with("hdds.datanode.hostname", address)
                .with("trioxide.datanode.bind.host", address),
            Server::Gateway(_) => conf.with("ozone.s3g.webadmin.http.enabled", "false"),
        }
    }
}

/// Members of both services by name, and the addresses of all.
fn write_file(path: &Path, places: &[Place]) -> anyhow::Result<()> {
    let property = |key: &str, value: &str| {
        format!("<property><name>{key}</name><value>{value}</value></property>\n")
    };
    let names = |is_kind: fn(&Place) -> bool| {
        let named = places.iter().filter(|place| place.is_named && is_kind(place));
        named.map(|place| place.server.to_string()).collect::<Vec<_>>().join(",")
    };
    let scms = names(|place| matches!(place.server, Server::Scm(_)));
    let oms = names(|place| matches!(place.server, Server::Om(_)));
    let mut text = String::from("<configuration>\n");
    text += &property("ozone.scm.nodes.scms", &scms);
    text += &property("ozone.om.nodes.oms", &oms);
    for Place { server, address, .. } in places {
        match server {
            Server::Scm(_) => {
                text += &property(&format!("ozone.scm.address.scms.{server}"), address);
            }
            Server::Om(_) => {
                let address = format!("{address}:9862");
                text += &property(&format!("ozone.om.address.oms.{server}"), &address);
            }
            Server::Datanode(_) | Server::Host(_) | Server::Gateway(_) => {}
        }
    }
    text += "</configuration>\n";
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(new, path)?;
    Ok(())
}
