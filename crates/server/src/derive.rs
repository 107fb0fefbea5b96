//! Derivation of each role's configuration from that of the server.
//!
//! Explicit settings are kept, so that `-D ozone.om.address=127.0.0.1:0` moves OM. Other addresses
//! are on the server's interface with Ozone's port, or with a free port if `trioxide.server.ports`
//! says so. DataNodes always use free ports, because there are several; an explicit port applies to
//! the first of them. Several OMs or SCMs form a service: see `members.rs`.

use std::io;
use std::path::Path;

use config::keys::{datanode, hdds, om, s3g, scm, trioxide};
use config::{Configuration, HostPort, Key};

use crate::directory::Directory;
use crate::members;
use crate::ports::Ports;

/// Size of OM's block cache if all roles share one process.
const OM_CACHE: &str = "256MB";

/// Hadoop's default file system, which only its clients read.
const DEFAULT_FS: &str = "fs.defaultFS";

/// Common settings of all roles of a server.
#[derive(Debug, Clone)]
pub struct Base {
    conf: Configuration,
    bind: String,
    free_ports: bool,
    oms: usize,
    scms: usize,
    disks: usize,
    /// The settings of the services of several OMs and SCMs.
    services: Vec<(String, String)>,
}

impl Base {
    /// Builds the base from the server's configuration, the address to bind to, and the number of
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
        // All of them will register: no pipeline is created of the first few only, to be closed
        // when the others have registered.
        base.default(&scm::HDDS_SCM_SAFEMODE_MIN_DATANODE, &datanodes.to_string());
        if datanodes < 3 {
            base.default(&hdds::OZONE_SERVER_DEFAULT_REPLICATION, "1");
        }
        base
    }

    /// The same server with several OMs and SCMs, each a service if there is more than one.
    ///
    /// # Errors
    /// If there are no free ports.
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

    /// The same server with this number of disks of each DataNode.
    pub fn with_disks(self, disks: usize) -> Base {
        Base { disks, ..self }
    }

    /// Number of OMs.
    pub fn oms(&self) -> usize {
        self.oms
    }

    /// Number of SCMs.
    pub fn scms(&self) -> usize {
        self.scms
    }

    /// Sets the address of an endpoint to the server's interface unless it is set.
    fn place(&mut self, key: &'static Key<HostPort>) {
        let port = if self.free_ports { 0 } else { self.conf.get(key).port };
        self.default(key, &HostPort::new(&self.bind, port).to_string());
    }

    fn default<T: config::Value>(&mut self, key: &'static Key<T>, value: &str) {
        if !self.conf.is_set(key) {
            self.conf = self.conf.with(key.name(), value);
        }
    }

    /// Configuration of an SCM; numbers start at 1.
    pub fn scm(&self, directory: &Directory, number: usize) -> Configuration {
        let dir = directory.scm(number);
        let conf = rooted(&self.conf, &dir).with(scm::OZONE_SCM_DB_DIRS.name(), dir.display());
        match self.scms {
            1 => conf,
            _ => conf.with(scm::OZONE_SCM_NODE_ID.name(), members::scm_id(number)),
        }
    }

    /// The same server after the start of SCM, with its ports.
    pub fn with_scm(&self, client: &HostPort, block: &HostPort, datanode: &HostPort) -> Base {
        let conf = self
            .conf
            .with(scm::OZONE_SCM_CLIENT_ADDRESS.name(), client)
            .with(scm::OZONE_SCM_BLOCK_CLIENT_ADDRESS.name(), block)
            .with(scm::OZONE_SCM_DATANODE_ADDRESS.name(), datanode);
        Base { conf, ..self.clone() }
    }

    /// Configuration of an OM; numbers start at 1.
    pub fn om(&self, directory: &Directory, number: usize) -> Configuration {
        let dir = directory.om(number);
        let conf = rooted(&self.conf, &dir).with(om::OZONE_OM_DB_DIRS.name(), dir.display());
        match self.oms {
            1 => conf,
            _ => conf.with(om::OZONE_OM_NODE_ID.name(), members::om_id(number)),
        }
    }

    /// Configuration of a DataNode; numbers start at 1.
    pub fn datanode(&self, directory: &Directory, number: usize) -> Configuration {
        let mut conf = rooted(&self.conf, &directory.datanode(number))
            .with(datanode::OZONE_SCM_DATANODE_ID_DIR.name(), directory.datanode(number).display());
        // An explicit list of disks applies to the first DataNode.
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

    /// Configuration of the S3 gateway and other clients, after the start of OM.
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

    /// Settings for clients outside this process, from their configuration within it.
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
        // Without it, Hadoop's commands use the local file system.
        let authority = match self.oms {
            1 => client.get(&om::OZONE_OM_ADDRESS).connect().to_string(),
            _ => members::OM_SERVICE.to_owned(),
        };
        settings.push((DEFAULT_FS.to_owned(), format!("ofs://{authority}/")));
        settings
    }
}

/// Metadata without a directory key is below the role's directory.
fn rooted(conf: &Configuration, dir: &Path) -> Configuration {
    conf.with(hdds::OZONE_METADATA_DIRS.name(), dir.display())
}
