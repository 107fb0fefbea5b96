//! The servers' processes: the product as it is, on a runtime of its own.

use std::path::{Path, PathBuf};

use super::configuration::Layout;
use super::services::{Kind, Node};
use crate::scenario::process::{ended, on_runtime};
use crate::scenario::servers;
use crate::world::disk::damage::LOG;

/// The directory of a node's term: one that rejoins has an empty disk.
fn of_term(dir: &Path, term: u64) -> PathBuf {
    if term == 0 { dir.to_owned() } else { dir.join(format!("term-{term}")) }
}

/// The node of a process, where members of its service join and leave; and its term.
async fn node(layout: &Layout, kind: Kind, number: usize) -> (Option<&Node>, u64) {
    match layout.services() {
        Some((services, _)) => {
            let node = &services.of(kind)[number];
            (Some(node), node.is_in().await)
        }
        None => (None, 0),
    }
}

/// Returns when the term of a node is over.
async fn is_over(node: Option<&Node>, term: u64) {
    match node {
        Some(node) => node.is_over(term).await,
        None => std::future::pending().await,
    }
}

/// An SCM's process.
pub fn scm(layout: &Layout, number: usize, dir: &Path) {
    let run = async {
        let (node, term) = node(layout, Kind::Scm, number).await;
        let conf = layout.scm(number, &of_term(dir, term), &of_term(&dir.join(LOG), term));
        servers::scm(&conf, term > 0, is_over(node, term)).await
    };
    ended("scm", number, on_runtime(run).unwrap_or_default());
}

/// An OM's process.
pub fn om(layout: &Layout, number: usize, dir: &Path) {
    let run = async {
        let (node, term) = node(layout, Kind::Om, number).await;
        let conf = layout.om(number, &of_term(dir, term), &of_term(&dir.join(LOG), term));
        servers::om(&conf, term > 0, is_over(node, term)).await
    };
    ended("om", number, on_runtime(run).unwrap_or_default());
}

/// A DataNode's process.
pub fn datanode(layout: &Layout, number: usize, dir: &Path) {
    let conf = layout.datanode(number, dir);
    ended("datanode", number, on_runtime(servers::datanode(&conf)).unwrap_or_default());
}

/// An S3 gateway's process.
pub fn gateway(layout: &Layout, number: usize, dir: &Path) {
    let conf = layout.gateway(dir);
    ended("s3g", number, on_runtime(servers::gateway(&conf)).unwrap_or_default());
}
