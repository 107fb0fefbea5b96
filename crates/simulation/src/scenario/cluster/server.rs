//! The servers' processes: the product as it is, on a runtime of its own.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use datanode::{Datanode, DatanodeOptions};
use om::{Om, OmOptions};
use scm::Scm;

use super::configuration::Layout;
use crate::world::node::exit;
use crate::world::{real, world};

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

/// A process that comes to its end says why; the storm starts it again.
fn ended(who: &str, number: usize, why: impl Display) {
    real::say(&format!("{who} {number} ended at {} ms: {why}\n", world().now / 1_000_000));
    exit();
}

/// An SCM's process.
pub fn scm(layout: &Layout, number: usize, dir: &Path) {
    let conf = layout.scm(number, dir);
    let run = async {
        match Scm::start(&conf).await {
            Ok(_handle) => std::future::pending().await,
            Err(error) => error.to_string(),
        }
    };
    ended("scm", number, on_runtime(run).unwrap_or_default());
}

/// An OM's process.
pub fn om(layout: &Layout, number: usize, dir: &Path) {
    let conf = layout.om(number, dir);
    let run = async {
        match Om::start(&conf, OmOptions::default()).await {
            Ok(handle) => {
                handle.stopped().await;
                String::from("stopped")
            }
            Err(error) => error.to_string(),
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
            Err(error) => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                error.to_string()
            }
        }
    };
    ended("datanode", number, on_runtime(run).unwrap_or_default());
}
