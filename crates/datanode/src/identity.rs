//! The identity of this DataNode: created at its first start, stored in `datanode.id`, guarded by a
//! lock on the metadata directory.

use std::fs;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use blockio::durable;
use config::keys::hdds;
use service::{DataDir, Expected, VersionFile, data_dir};
use types::{DatanodeDetails, DatanodeId, PortName};

use crate::DatanodeError;
use crate::id_file;
use crate::settings::Settings;

/// Layout of the metadata directory and of the data that it leads to.
pub const LAYOUT_VERSION: u32 = 1;

const NODE_TYPE: &str = "DATANODE";

/// The identity on disk, locked while this lives.
#[derive(Debug)]
pub struct Identity {
    id_file: PathBuf,
    version_file: PathBuf,
    details: DatanodeDetails,
    cluster_id: Option<String>,
    // Excludes other processes.
    _lock: DataDir,
}

impl Identity {
    /// Locks the metadata directory and reads the identity, or creates one. Only the lock is
    /// written: the ports are not known yet.
    ///
    /// # Errors
    /// When the directory is in use, of a newer layout, or its files cannot be read.
    pub fn open(settings: &Settings) -> Result<Self, DatanodeError> {
        let permissions = settings.conf.get(&hdds::OZONE_METADATA_DIRS_PERMISSIONS);
        data_dir::make(&settings.metadata_dir, permissions)?;
        // A separate one, which others may use, is not changed.
        if let Some(id_dir) = settings.id_file.parent().filter(|dir| !dir.is_dir()) {
            data_dir::make(id_dir, permissions)?;
        }
        let dir = settings.metadata_dir.join("dnlayoutversion");
        let lock = DataDir::lock(&dir)?;
        let version_file = dir.join("VERSION");
        let mut cluster_id = None;
        if let Some(version) = VersionFile::read(&version_file)? {
            let expected = Expected {
                node_type: Some(NODE_TYPE),
                cluster_id: None,
                layout_version: LAYOUT_VERSION,
            };
            version.verify(&version_file, &expected)?;
            cluster_id = version.cluster_id().map(str::to_owned);
        }
        let mut details = match read(&settings.id_file)? {
            Some(details) => details,
            None => DatanodeDetails::new(DatanodeId::random(), "", ""),
        };
        let ip = reachable_ip(&settings.bind_host);
        details.host = match settings.host_name.as_str() {
            "" => host_name().filter(|_| !ip.is_loopback()).unwrap_or_else(|| "localhost".into()),
            name => name.to_owned(),
        };
        details.ip = ip.to_string();
        Ok(Self {
            id_file: settings.id_file.clone(),
            version_file,
            details,
            cluster_id,
            _lock: lock,
        })
    }

    /// Returns the identity, with the ports of the last start until they are set.
    pub fn details(&self) -> &DatanodeDetails {
        &self.details
    }

    /// The cluster that the data here is of; `None` before the first registration.
    pub fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Replaces the ports by the ones listened on, and stores them.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_ports(&mut self, ports: &[(PortName, u16)]) -> Result<(), DatanodeError> {
        self.details.ports.clear();
        for (name, port) in ports {
            self.details.set_port(name.clone(), *port);
        }
        self.save()
    }

    /// Stores the operational state set by the operator.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_op_state(
        &mut self,
        state: types::OperationalState,
        expiry: i64,
    ) -> Result<(), DatanodeError> {
        (self.details.op_state, self.details.op_state_expiry) = (state, expiry);
        self.save()
    }

    /// Joins a cluster, permanently.
    ///
    /// # Errors
    /// When this DataNode is of another one, or the file cannot be written.
    pub fn join(&mut self, cluster_id: &str) -> Result<(), DatanodeError> {
        match self.cluster_id.as_deref() {
            Some(ours) if ours == cluster_id => return Ok(()),
            Some(ours) => {
                return Err(DatanodeError::ForeignCluster {
                    scm: cluster_id.to_owned(),
                    ours: ours.to_owned(),
                });
            }
            None => {}
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        VersionFile::new(NODE_TYPE, cluster_id, now, LAYOUT_VERSION)
            .with("datanodeUuid", self.details.id)
            .write(&self.version_file)?;
        self.cluster_id = Some(cluster_id.to_owned());
        Ok(())
    }

    fn save(&self) -> Result<(), DatanodeError> {
        write(&self.id_file, &id_file::render(&self.details))
            .map_err(|source| DatanodeError::IdentityFile { path: self.id_file.clone(), source })
    }
}

fn read(path: &Path) -> Result<Option<DatanodeDetails>, DatanodeError> {
    let mut text = String::new();
    // One byte above the limit: `parse` then refuses it.
    let read = fs::File::open(path)
        .and_then(|file| file.take(id_file::MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DatanodeError::IdentityFile { path: path.into(), source }),
    }
    id_file::parse(&text)
        .map(Some)
        .map_err(|source| DatanodeError::Identity { path: path.into(), source })
}

/// Replaces a file so that after a crash there is either the old one or the whole new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let temporary = path.with_extension("id.tmp");
    durable::replace(path, &temporary, text.as_bytes())
}

/// The address that others reach this machine by: the one that is bound, or, when that is all of
/// them, the one that packets to the outside leave from.
fn reachable_ip(bind_host: &str) -> IpAddr {
    match bind_host.parse::<IpAddr>() {
        Ok(ip) if !ip.is_unspecified() => ip,
        // Connecting a UDP socket sends nothing; it only looks the route up.
        _ => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
            .and_then(|socket| {
                socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
                socket.local_addr()
            })
            .map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip()),
    }
}

fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok())?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use config::Configuration;

    use super::*;

    fn settings(dir: &Path) -> Settings {
        let conf = Configuration::builder().build().unwrap();
        let conf = conf.with("hdds.datanode.dir", dir.join("data").display());
        let conf = conf.with("ozone.metadata.dirs", dir.join("meta").display());
        Settings::read(&conf.with("trioxide.datanode.bind.host", "127.0.0.1")).unwrap()
    }

    #[test]
    fn an_identity_outlives_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path());
        let mut first = Identity::open(&settings).unwrap();
        assert_eq!(first.cluster_id(), None);
        first.set_ports(&[(PortName::Native, 7)]).unwrap();
        first.join("CID-1").unwrap();
        let details = first.details().clone();
        assert_eq!((details.ip.as_str(), details.host.as_str()), ("127.0.0.1", "localhost"));
        drop(first);
        let second = Identity::open(&settings).unwrap();
        assert_eq!(*second.details(), details);
        assert_eq!(second.cluster_id(), Some("CID-1"));
    }

    #[test]
    fn a_metadata_directory_serves_one_process_and_one_cluster() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path());
        let mut first = Identity::open(&settings).unwrap();
        assert!(matches!(Identity::open(&settings), Err(DatanodeError::Directory(_))));
        first.join("CID-1").unwrap();
        assert!(matches!(first.join("CID-2"), Err(DatanodeError::ForeignCluster { .. })));
    }

    #[test]
    fn a_newer_layout_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path());
        let path = settings.metadata_dir.join("dnlayoutversion/VERSION");
        VersionFile::new(NODE_TYPE, "CID-1", 0, LAYOUT_VERSION + 1).write(&path).unwrap();
        assert!(matches!(Identity::open(&settings), Err(DatanodeError::Directory(_))));
    }
}
