//! The one directory all roles live under.
//!
//! ```text
//! DIR/in_use.lock       held while the server runs
//! DIR/om  DIR/scm       metadata of OM and SCM
//! DIR/datanode1/        identity of a DataNode
//! DIR/datanode1/data    its disk
//! ```
//! Each role keeps its own VERSION file; what is checked there is not checked again here.

use std::io;
use std::path::{Path, PathBuf};

use service::{DataDir, DataDirError};

const DATANODE: &str = "datanode";

/// The locked directory.
#[derive(Debug)]
pub struct Directory {
    lock: DataDir,
}

impl Directory {
    /// Makes and locks it.
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

    /// Where OM's metadata is.
    pub fn om(&self) -> PathBuf {
        self.lock.path().join("om")
    }

    /// Where SCM's metadata is.
    pub fn scm(&self) -> PathBuf {
        self.lock.path().join("scm")
    }

    /// Where the identity of a DataNode is; they count from 1.
    pub fn datanode(&self, number: usize) -> PathBuf {
        self.lock.path().join(format!("{DATANODE}{number}"))
    }

    /// The disk of a DataNode.
    pub fn datanode_data(&self, number: usize) -> PathBuf {
        self.datanode(number).join("data")
    }

    /// The highest number of a DataNode that lived here before; 0 for none.
    pub fn known_datanodes(&self) -> io::Result<usize> {
        let mut highest = 0;
        for entry in std::fs::read_dir(self.lock.path())? {
            let name = entry?.file_name();
            let number =
                name.to_str().and_then(|n| n.strip_prefix(DATANODE)).and_then(|n| n.parse().ok());
            highest = highest.max(number.unwrap_or(0));
        }
        Ok(highest)
    }
}
