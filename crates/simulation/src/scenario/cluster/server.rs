//! The servers' processes: the product as it is, on a runtime of its own.

use std::path::{Path, PathBuf};

use datanode::{Datanode, DatanodeOptions};
use om::{Bootstrap, Om, OmOptions};
use scm::{Scm, ScmOptions};

use super::configuration::Layout;
use super::services::{Kind, Node};
use crate::scenario::process::{after_delay, ended, on_runtime};
use crate::world::disk::damage::LOG;

/// The directory of a node's term: one that comes back has an empty disk.
fn of_term(dir: &Path, term: u64) -> PathBuf {
    if term == 0 { dir.to_owned() } else { dir.join(format!("term-{term}")) }
}

/// The node of a process, where members of its service come and go; and its term.
async fn node(layout: &Layout, kind: Kind, number: usize) -> (Option<&Node>, u64) {
    match layout.services() {
        Some((services, _)) => {
            let node = &services.of(kind)[number];
            (Some(node), node.is_in().await)
        }
        None => (None, 0),
    }
}

/// What a server says when it stops, or that its term is over.
async fn until_over(
    node: Option<&Node>,
    term: u64,
    stopped: impl Future<Output = String>,
) -> String {
    let over = async {
        match node {
            Some(node) => node.is_over(term).await,
            None => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        why = stopped => why,
        () = over => String::from("its term is over"),
    };
    after_delay(why).await
}

/// An SCM's process.
pub fn scm(layout: &Layout, number: usize, dir: &Path) {
    let run = async {
        let (node, term) = node(layout, Kind::Scm, number).await;
        let conf = layout.scm(number, &of_term(dir, term), &of_term(&dir.join(LOG), term));
        let options = match ScmOptions::from_configuration(&conf) {
            Ok(options) => ScmOptions { bootstrap: term > 0, ..options },
            Err(error) => return error.to_string(),
        };
        match Scm::start_with(options).await {
            Ok(handle) => until_over(node, term, handle.stopped()).await,
            Err(error) => after_delay(error).await,
        }
    };
    ended("scm", number, on_runtime(run).unwrap_or_default());
}

/// An OM's process.
pub fn om(layout: &Layout, number: usize, dir: &Path) {
    let run = async {
        let (node, term) = node(layout, Kind::Om, number).await;
        let conf = layout.om(number, &of_term(dir, term), &of_term(&dir.join(LOG), term));
        let bootstrap = (term > 0).then_some(Bootstrap { force: false });
        match Om::start(&conf, OmOptions { bootstrap, ..OmOptions::default() }).await {
            Ok(handle) => until_over(node, term, handle.stopped()).await,
            Err(error) => after_delay(error).await,
        }
    };
    ended("om", number, on_runtime(run).unwrap_or_default());
}

/// A DataNode's process.
pub fn datanode(layout: &Layout, number: usize, dir: &Path) {
    let conf = layout.datanode(number, dir);
    let run = async {
        match Datanode::start(&conf, DatanodeOptions::default()).await {
            Ok(handle) => handle.failed().await.to_string(),
            Err(error) => after_delay(error).await,
        }
    };
    ended("datanode", number, on_runtime(run).unwrap_or_default());
}
