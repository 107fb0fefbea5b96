//! The one directory all roles live under.
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
//! Each role keeps its own VERSION file; what is checked there is not checked again here.

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
    /// Makes and locks it.
    ///
    /// # Errors
    /// When it cannot be made, or another process has it.
    pub fn open(path: &Path) -> Result<Directory, DataDirError> {
        // Roles may be told of it from anywhere: keep what a relative path means now.
        let absolute = std::path::absolute(path)
            .map_err(|source| DataDirError::Io { path: path.into(), source })?;
        DataDir::lock(absolute).map(|lock| Directory { lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.lock.path()
    }

    /// Where an OM's metadata is; they count from 1.
    pub fn om(&self, number: usize) -> PathBuf {
        self.member(OM, number)
    }

    /// Where an SCM's metadata is; they count from 1.
    pub fn scm(&self, number: usize) -> PathBuf {
        self.member(SCM, number)
    }

    /// Where the configuration for clients is.
    pub fn site(&self) -> PathBuf {
        self.lock.path().join("ozone-site.xml")
    }

    fn member(&self, role: &str, number: usize) -> PathBuf {
        match number {
            1 => self.lock.path().join(role),
            _ => self.lock.path().join(format!("{role}{number}")),
        }
    }

    /// Where the identity of a DataNode is; they count from 1.
    pub fn datanode(&self, number: usize) -> PathBuf {
        self.lock.path().join(format!("{DATANODE}{number}"))
    }

    /// A disk of a DataNode; both count from 1.
    pub fn datanode_disk(&self, number: usize, disk: usize) -> PathBuf {
        let node = self.datanode(number);
        match disk {
            1 => node.join(DISK),
            _ => node.join(format!("{DISK}{disk}")),
        }
    }

    /// The highest number of a DataNode that lived here before; 0 for none.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn known_datanodes(&self) -> io::Result<usize> {
        highest(self.lock.path(), DATANODE)
    }

    /// How many disks the first DataNode has; 0 when there is none.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn known_disks(&self) -> io::Result<usize> {
        match self.datanode(1) {
            node if node.exists() => Ok(highest(&node, DISK)?.max(1)),
            _ => Ok(0),
        }
    }

    /// How many OMs lived here before.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn known_oms(&self) -> io::Result<usize> {
        Ok(highest(self.lock.path(), OM)?.max(usize::from(self.om(1).exists())))
    }

    /// How many SCMs lived here before.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn known_scms(&self) -> io::Result<usize> {
        Ok(highest(self.lock.path(), SCM)?.max(usize::from(self.scm(1).exists())))
    }
}

/// The highest number that a name which begins like this ends with; 0 for none.
fn highest(dir: &Path, name: &str) -> io::Result<usize> {
    let mut highest = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?.file_name();
        let number = entry.to_str().and_then(|n| n.strip_prefix(name)).and_then(|n| n.parse().ok());
        highest = highest.max(number.unwrap_or(0));
    }
    Ok(highest)
}
