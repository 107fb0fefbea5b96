//! The configuration of each role of a server, derived from the one the server was given.
//!
//! What is set explicitly is kept, so that `-D ozone.om.address=127.0.0.1:0` moves OM. What is not set is put on the
//! server's interface with Ozone's port, or with any free one when `trioxide.server.ports` says so. DataNodes always
//! take free ports, for there are several; an explicit port goes to the first of them.

use std::path::Path;

use config::keys::{datanode, hdds, om, s3g, scm, trioxide};
use config::{Configuration, HostPort, Key};

use crate::directory::Directory;

/// Memory for OM's cached blocks when everything shares one process.
const OM_CACHE: &str = "256MB";

/// What all roles of a server have in common.
#[derive(Debug, Clone)]
pub struct Base {
    conf: Configuration,
    bind: String,
    free_ports: bool,
}

impl Base {
    /// From the server's configuration, the address to bind everything to, and the number of DataNodes.
    pub fn new(conf: &Configuration, bind: &str, datanodes: usize) -> Base {
        let free_ports = conf.get(&trioxide::TRIOXIDE_SERVER_PORTS) == "free";
        let mut base = Base { conf: conf.clone(), bind: bind.to_string(), free_ports };
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
        // All of them are coming: no pipeline is made of the first few only.
        base.default(&scm::HDDS_SCM_SAFEMODE_MIN_DATANODE, &datanodes.min(3).to_string());
        if datanodes < 3 {
            base.default(&hdds::OZONE_SERVER_DEFAULT_REPLICATION, "1");
        }
        base
    }

    /// Puts a door on the server's interface unless its address is set.
    fn place(&mut self, key: &'static Key<HostPort>) {
        let port = if self.free_ports { 0 } else { self.conf.get(key).port };
        self.default(key, &HostPort::new(&self.bind, port).to_string());
    }

    fn default<T: config::Value>(&mut self, key: &'static Key<T>, value: &str) {
        if !self.conf.is_set(key) {
            self.conf = self.conf.with(key.name(), value);
        }
    }

    /// SCM's configuration.
    pub fn scm(&self, directory: &Directory) -> Configuration {
        rooted(&self.conf, &directory.scm())
            .with(scm::OZONE_SCM_DB_DIRS.name(), directory.scm().display())
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

    /// OM's configuration.
    pub fn om(&self, directory: &Directory) -> Configuration {
        rooted(&self.conf, &directory.om())
            .with(om::OZONE_OM_DB_DIRS.name(), directory.om().display())
    }

    /// A DataNode's configuration; they count from 1.
    pub fn datanode(&self, directory: &Directory, number: usize) -> Configuration {
        let mut conf = rooted(&self.conf, &directory.datanode(number))
            .with(datanode::OZONE_SCM_DATANODE_ID_DIR.name(), directory.datanode(number).display());
        // An explicit list of disks is the first DataNode's.
        if number > 1 || !conf.is_set(&datanode::HDDS_DATANODE_DIR) {
            conf = conf.with(
                datanode::HDDS_DATANODE_DIR.name(),
                directory.datanode_data(number).display(),
            );
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
        let conf = self.conf.with(om::OZONE_OM_ADDRESS.name(), om_address);
        match grpc_port {
            Some(port) => conf.with(om::OZONE_OM_GRPC_PORT.name(), port),
            None => conf,
        }
    }
}

/// Metadata without a key of its own goes below the role's directory.
fn rooted(conf: &Configuration, dir: &Path) -> Configuration {
    conf.with(hdds::OZONE_METADATA_DIRS.name(), dir.display())
}
