//! The configuration of each role of a server, derived from the one the server was given.
//!
//! What is set explicitly is kept, so that `-D ozone.om.address=127.0.0.1:0` moves OM. What is not
//! set is put on the server's interface with Ozone's port, or with any free one when
//! `trioxide.server.ports` says so. DataNodes always take free ports, for there are several; an
//! explicit port goes to the first of them. Several OMs or SCMs form a service: see `members.rs`.

use std::io;
use std::path::Path;

use config::keys::{datanode, hdds, om, s3g, scm, trioxide};
use config::{Configuration, HostPort, Key};

use crate::directory::Directory;
use crate::members;
use crate::ports::Ports;

/// Memory for OM's cached blocks when everything shares one process.
const OM_CACHE: &str = "256MB";

/// The file system of a path without a scheme: Hadoop's key, read by its clients only.
const DEFAULT_FS: &str = "fs.defaultFS";

/// What all roles of a server have in common.
#[derive(Debug, Clone)]
pub struct Base {
    conf: Configuration,
    bind: String,
    free_ports: bool,
    oms: usize,
    scms: usize,
    disks: usize,
    /// The settings that make services of several OMs and SCMs.
    services: Vec<(String, String)>,
}

impl Base {
    /// From the server's configuration, the address to bind everything to, and the number of
    /// DataNodes.
    pub fn new(conf: &Configuration, bind: &str, datanodes: usize) -> Base {
        let free_ports = conf.get(&trioxide::TRIOXIDE_SERVER_PORTS) == "free";
        let mut base = Base {
            conf: conf.clone(),
            bind: bind.to_string(),
            free_ports,
            oms: 1,
            scms: 1,
            disks: 1,
            services: Vec::new(),
        };
        for key in [
            &om::OZONE_OM_ADDRESS,
            &om::OZONE_OM_HTTP_ADDRESS,
            &scm::OZONE_SCM_CLIENT_ADDRESS,
            &scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS,
            &scm::OZONE_SCM_DATANODE_ADDRESS,
            &scm::OZONE_SCM_HTTP_ADDRESS,
            &s3g::OZONE_S3G_HTTP_ADDRESS,
            &s3g::OZONE_S3G_WEBADMIN_HTTP_ADDRESS,
            &datanode::HDDS_DATANODE_HTTP_ADDRESS,
        ] {
            base.place(key);
        }
        if free_ports {
            base.default(&om::OZONE_OM_GRPC_PORT, "0");
        }
        base.default(&datanode::HDDS_DATANODE_BIND_HOST, bind);
        base.default(&trioxide::TRIOXIDE_OM_CACHE_SIZE, OM_CACHE);
        // All of them are coming: no pipeline is made of the first few only, to be closed when the
        // others are there.
        base.default(&scm::HDDS_SCM_SAFEMODE_MIN_DATANODE, &datanodes.to_string());
        if datanodes < 3 {
            base.default(&hdds::OZONE_SERVER_DEFAULT_REPLICATION, "1");
        }
        base
    }

    /// The same server with so many OMs and SCMs, each a service when there are several.
    ///
    /// # Errors
    /// When no free ports can be had.
    pub fn with_members(mut self, oms: usize, scms: usize) -> io::Result<Base> {
        let mut ports = Ports::new(&self.bind, self.free_ports);
        (self.oms, self.scms) = (oms, scms);
        self.services.clear();
        if oms > 1 {
            self.services.extend(members::oms(&self.conf, oms, &mut ports)?);
        }
        if scms > 1 {
            self.services.extend(members::scms(&self.conf, scms, &mut ports)?);
        }
        for (name, value) in &self.services {
            self.conf = self.conf.with(name, value);
        }
        Ok(self)
    }

    /// The same server with so many disks on each DataNode.
    pub fn with_disks(self, disks: usize) -> Base {
        Base { disks, ..self }
    }

    /// How many OMs.
    pub fn oms(&self) -> usize {
        self.oms
    }

    /// How many SCMs.
    pub fn scms(&self) -> usize {
        self.scms
    }

    /// Puts an endpoint on the server's interface unless its address is set.
    fn place(&mut self, key: &'static Key<HostPort>) {
        let port = if self.free_ports { 0 } else { self.conf.get(key).port };
        self.default(key, &HostPort::new(&self.bind, port).to_string());
    }

    fn default<T: config::Value>(&mut self, key: &'static Key<T>, value: &str) {
        if !self.conf.is_set(key) {
            self.conf = self.conf.with(key.name(), value);
        }
    }

    /// An SCM's configuration; they count from 1.
    pub fn scm(&self, directory: &Directory, number: usize) -> Configuration {
        let dir = directory.scm(number);
        let conf = rooted(&self.conf, &dir).with(scm::OZONE_SCM_DB_DIRS.name(), dir.display());
        match self.scms {
            1 => conf,
            _ => conf.with(scm::OZONE_SCM_NODE_ID.name(), members::scm_id(number)),
        }
    }

    /// The same server once SCM is up and its ports are known.
    pub fn with_scm(&self, client: &HostPort, block: &HostPort, datanode: &HostPort) -> Base {
        let conf = self
            .conf
            .with(scm::OZONE_SCM_CLIENT_ADDRESS.name(), client)
            .with(scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS.name(), block)
            .with(scm::OZONE_SCM_DATANODE_ADDRESS.name(), datanode);
        Base { conf, ..self.clone() }
    }

    /// An OM's configuration; they count from 1.
    pub fn om(&self, directory: &Directory, number: usize) -> Configuration {
        let dir = directory.om(number);
        let conf = rooted(&self.conf, &dir).with(om::OZONE_OM_DB_DIRS.name(), dir.display());
        match self.oms {
            1 => conf,
            _ => conf.with(om::OZONE_OM_NODE_ID.name(), members::om_id(number)),
        }
    }

    /// A DataNode's configuration; they count from 1.
    pub fn datanode(&self, directory: &Directory, number: usize) -> Configuration {
        let mut conf = rooted(&self.conf, &directory.datanode(number))
            .with(datanode::OZONE_SCM_DATANODE_ID_DIR.name(), directory.datanode(number).display());
        // An explicit list of disks is the first DataNode's.
        if number > 1 || !conf.is_set(&datanode::HDDS_DATANODE_DIR) {
            let types = self.conf.get(&trioxide::TRIOXIDE_SERVER_STORAGE_TYPES).0;
            let storage_type = |disk: usize| types.get((disk - 1).checked_rem(types.len())?);
            let disk = |disk| {
                let path = directory.datanode_disk(number, disk).display().to_string();
                storage_type(disk).map_or(path.clone(), |of| format!("[{of}]{path}"))
            };
            let disks: Vec<_> = (1..=self.disks).map(disk).collect();
            conf = conf.with(datanode::HDDS_DATANODE_DIR.name(), disks.join(","));
        }
        for port in [
            &datanode::HDDS_CONTAINER_IPC_PORT,
            &datanode::TRIOXIDE_DATANODE_PORT,
            &datanode::HDDS_CONTAINER_RATIS_IPC_PORT,
        ] {
            if number > 1 || !conf.is_set(port) {
                conf = conf.with(port.name(), 0);
            }
        }
        let hadoop = &datanode::HDDS_DATANODE_CLIENT_PORT;
        if number > 1 || (self.free_ports && !conf.is_set(hadoop)) {
            conf = conf.with(hadoop.name(), 0);
        }
        if number > 1 {
            let http = HostPort::new(conf.get(&datanode::HDDS_DATANODE_HTTP_ADDRESS).host, 0);
            conf = conf.with(datanode::HDDS_DATANODE_HTTP_ADDRESS.name(), http);
        }
        let wildcard = matches!(self.bind.as_str(), "0.0.0.0" | "::");
        if !wildcard && !conf.is_set(&datanode::HDDS_DATANODE_HOSTNAME) {
            conf = conf.with(datanode::HDDS_DATANODE_HOSTNAME.name(), &self.bind);
        }
        conf
    }

    /// The configuration of the S3 gateway and of other clients, once OM is up.
    pub fn client(&self, om_address: &HostPort, grpc_port: Option<u16>) -> Configuration {
        if self.oms > 1 {
            return self.conf.clone();
        }
        let conf = self.conf.with(om::OZONE_OM_ADDRESS.name(), om_address);
        match grpc_port {
            Some(port) => conf.with(om::OZONE_OM_GRPC_PORT.name(), port),
            None => conf,
        }
    }

    /// What a client outside of this process must be told, given its configuration within.
    pub fn site(&self, client: &Configuration) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        let mut endpoint = |key: &'static Key<HostPort>| {
            settings.push((key.name().to_owned(), client.get(key).connect().to_string()));
        };
        if self.oms == 1 {
            endpoint(&om::OZONE_OM_ADDRESS);
        }
        if self.scms == 1 {
            endpoint(&scm::OZONE_SCM_CLIENT_ADDRESS);
        }
        settings.extend(self.services.iter().cloned());
        // Without it Hadoop's commands take a path for one of the local disk.
        let authority = match self.oms {
            1 => client.get(&om::OZONE_OM_ADDRESS).connect().to_string(),
            _ => members::OM_SERVICE.to_owned(),
        };
        settings.push((DEFAULT_FS.to_owned(), format!("ofs://{authority}/")));
        settings
    }
}

/// Metadata without a key of its own goes below the role's directory.
fn rooted(conf: &Configuration, dir: &Path) -> Configuration {
    conf.with(hdds::OZONE_METADATA_DIRS.name(), dir.display())
}
