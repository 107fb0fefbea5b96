//! The role of a daemon.

use std::fmt;

/// A role in the cluster and the id of its server: `datanode` `6f1c…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Role {
    /// `om`, `scm`, `datanode`, `s3g`: also the prefix of the role's metrics.
    pub name: &'static str,
    /// The server's id; may be empty.
    pub id: String,
}

impl Role {
    /// Creates a role from its parts.
    pub fn new(name: &'static str, id: impl Into<String>) -> Self {
        Role { name, id: id.into() }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.id.is_empty() {
            f.write_str(self.name)
        } else {
            write!(f, "{} {}", self.name, self.id)
        }
    }
}
