//! The directory of all roles.
//!
//! ```text
//! DIR/in_use.lock       held while the server runs
//! DIR/om  DIR/scm       metadata of OM and SCM
//! DIR/om2 DIR/scm2      of further ones
//! DIR/ozone-site.xml    for clients of this server, written at every start
//! DIR/datanode1/        identity of a DataNode
//! DIR/datanode1/data    its disk
//! DIR/datanode1/data2   a further one
//! ```
//! Each role has its own VERSION file, and checks it itself.

use std::io;
use std::path::{Path, PathBuf};

use service::{DataDir, DataDirError};

const DATANODE: &str = "datanode";
const OM: &str = "om";
const SCM: &str = "scm";
const DISK: &str = "data";

/// The locked directory.
#[derive(Debug)]
pub struct Directory {
    lock: DataDir,
}

impl Directory {
    /// Creates and locks the directory.
    ///
    /// # Errors
    /// If it cannot be created, or another process has locked it.
    pub fn open(path: &Path) -> Result<Directory, DataDirError> {
        // Relative paths must keep their meaning for all roles.
        let absolute = std::path::absolute(path)
            .map_err(|source| DataDirError::Io { path: path.into(), source })?;
        DataDir::lock(absolute).map(|lock| Directory { lock })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.lock.path()
    }

    /// Metadata directory of an OM; numbers start at 1.
    pub fn om(&self, number: usize) -> PathBuf {
        self.member(OM, number)
    }

    /// Metadata directory of an SCM; numbers start at 1.
    pub fn scm(&self, number: usize) -> PathBuf {
        self.member(SCM, number)
    }

    /// Path of the configuration for clients.
    pub fn site(&self) -> PathBuf {
        self.lock.path().join("ozone-site.xml")
    }

    fn member(&self, role: &str, number: usize) -> PathBuf {
        match number {
            1 => self.lock.path().join(role),
            _ => self.lock.path().join(format!("{role}{number}")),
        }
    }

    /// Metadata directory of a DataNode; numbers start at 1.
    pub fn datanode(&self, number: usize) -> PathBuf {
        self.lock.path().join(format!("{DATANODE}{number}"))
    }

    /// A disk of a DataNode; both numbers start at 1.
    pub fn datanode_disk(&self, number: usize, disk: usize) -> PathBuf {
        let node = self.datanode(number);
        match disk {
            1 => node.join(DISK),
            _ => node.join(format!("{DISK}{disk}")),
        }
    }

    /// The highest number of a DataNode in the directory; 0 for none.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn known_datanodes(&self) -> io::Result<usize> {
        highest(self.lock.path(), DATANODE)
    }

    /// The number of disks of the first DataNode; 0 if there is none.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn known_disks(&self) -> io::Result<usize> {
        match self.datanode(1) {
            node if node.exists() => Ok(highest(&node, DISK)?.max(1)),
            _ => Ok(0),
        }
    }

    /// The number of OMs in the directory.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn known_oms(&self) -> io::Result<usize> {
        Ok(highest(self.lock.path(), OM)?.max(usize::from(self.om(1).exists())))
    }

    /// The number of SCMs in the directory.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn known_scms(&self) -> io::Result<usize> {
        Ok(highest(self.lock.path(), SCM)?.max(usize::from(self.scm(1).exists())))
    }
}

/// The highest number after this prefix among the names in a directory; 0 for none.
fn highest(dir: &Path, name: &str) -> io::Result<usize> {
    let mut highest = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?.file_name();
        let number = entry.to_str().and_then(|n| n.strip_prefix(name)).and_then(|n| n.parse().ok());
        highest = highest.max(number.unwrap_or(0));
    }
    Ok(highest)
}
