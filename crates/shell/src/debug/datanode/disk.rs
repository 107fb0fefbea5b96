//! A data directory of a stopped DataNode.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metastore::OfflineStore;
use service::{DataDir, DataDirError, VersionFile};
use types::ContainerId;

use crate::ShellError;

/// Location of a container's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lies {
    /// The final location.
    InPlace,
    /// The location of incomplete copies.
    Arriving,
    /// The location of replicas being deleted.
    SetAside,
}

/// A data directory, locked against use by a DataNode.
pub(super) struct Disk {
    dir: PathBuf,
    cluster: PathBuf,
    /// The id of its DataNode, from its VERSION file.
    pub datanode: Option<String>,
    pub store: OfflineStore,
    _lock: DataDir,
}

impl Disk {
    /// Opens a data directory.
    pub fn open(dir: &Path) -> Result<Self, ShellError> {
        let root = dir.join("hdds");
        let version = root.join("VERSION");
        let refuse = |error: DataDirError| match error {
            DataDirError::InUse { .. } => ShellError::Refused(format!(
                "{error}: stop the DataNode first, unflushed data would be reported as lost"
            )),
            error => ShellError::Refused(error.to_string()),
        };
        let found = VersionFile::read(&version).map_err(refuse)?;
        let version_of = found.ok_or_else(|| {
            let why = "none found: give a directory of hdds.datanode.dir";
            ShellError::Refused(format!("{}: {why}", version.display()))
        })?;
        let lock = DataDir::lock(&root).map_err(refuse)?;
        let get = |name: &str| {
            let value = version_of.get(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| {
                ShellError::Refused(format!("{}: {name} is missing", version.display()))
            })
        };
        let cluster = root.join(get("clusterID")?);
        let store = cluster.join(get("storageID")?).join("container.db");
        let store = OfflineStore::open_read_only(&store)?;
        let datanode = version_of.get("datanodeUuid").map(str::to_owned);
        Ok(Self { dir: dir.to_owned(), cluster, datanode, store, _lock: lock })
    }

    /// Its name in findings.
    pub fn name(&self) -> String {
        self.dir.display().to_string()
    }

    /// The directory of a container.
    pub fn place(&self, id: ContainerId) -> PathBuf {
        let group = format!("containerDir{}", (id.0 >> 9) & 0xFF);
        self.cluster.join("current").join(group).join(id.to_string())
    }

    /// The directories of containers at a location.
    pub fn list(&self, lies: Lies) -> Result<Vec<(ContainerId, PathBuf)>, ShellError> {
        let groups = match lies {
            Lies::InPlace => entries(&self.cluster.join("current"))?,
            Lies::Arriving => vec![self.cluster.join("tmp").join("arriving-containers")],
            Lies::SetAside => vec![self.cluster.join("tmp").join("deleted-containers")],
        };
        let mut found = Vec::new();
        for group in groups {
            for path in entries(&group)? {
                let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
                found.extend(id.map(|id| (id, path)));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Reads a value of a container's `.container` file.
    pub fn field(&self, id: ContainerId, name: &str) -> Result<Option<String>, ShellError> {
        let path = self.place(id).join("metadata").join(format!("{id}.container"));
        let text = fs::read_to_string(&path).map_err(ShellError::local(path.display()))?;
        let value =
            |line: &str| Some(line.strip_prefix(name)?.strip_prefix(": ")?.trim().to_owned());
        Ok(text.lines().find_map(value))
    }

    /// Short description of a replica.
    pub fn describe(&self, id: ContainerId) -> String {
        let state = self.field(id, "state").ok().flatten();
        let index = self.field(id, "replicaIndex").ok().flatten();
        let index = index.map_or_else(String::new, |index| format!(", replica index {index}"));
        format!("{} on {}{index}", state.as_deref().unwrap_or("not readable"), self.name())
    }
}

/// The entries of a directory; none if it does not exist.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, ShellError> {
    let listed = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(ShellError::local(dir.display()))?,
    };
    let paths = listed.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(ShellError::local(dir.display()))
}
