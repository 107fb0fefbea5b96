//! The servers' processes: the product as it is, on a runtime of its own.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use datanode::{Datanode, DatanodeOptions};
use om::{Bootstrap, Om, OmOptions};
use scm::{Scm, ScmOptions};

use super::configuration::Layout;
use super::services::{Kind, Node};
use crate::world::disk::damage::LOG;
use crate::world::node::exit;
use crate::world::{real, world};

/// Delay before a server that ended by itself is started again, at least.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// Threads of a runtime.
const WORKERS: usize = 2;
/// Threads of a runtime that may block.
const BLOCKING: usize = 16;

/// Runs something on a runtime of its own.
pub fn on_runtime<R>(work: impl Future<Output = R>) -> Option<R> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(WORKERS).max_blocking_threads(BLOCKING).enable_all();
    Some(runtime.build().ok()?.block_on(work))
}

/// A process that comes to its end says why; the nemesis starts it again.
fn ended(role: &str, number: usize, why: impl Display) {
    real::say(&format!("{role} {number} ended at {} ms: {why}\n", world().now / 1_000_000));
    exit();
}

/// A server that ended by itself is started again at once where faults are over.
async fn after_delay(why: impl Display) -> String {
    tokio::time::sleep(RESTART_DELAY).await;
    why.to_string()
}

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
