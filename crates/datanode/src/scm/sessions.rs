//! The sessions with all SCMs.
//!
//! It begins with those that the configuration names. Every SCM tells with its answers where the
//! SCMs of the service are, as of which change of members; a later change than the last one known
//! begins sessions with SCMs that came and ends those with SCMs that went. It is not kept: what a
//! DataNode starts with is what its configuration says.

use std::sync::Arc;

use config::HostPort;
use parking_lot::Mutex;
use proto::hdds::ScmPlacesProto;
use service::Shutdown;
use tokio::task::JoinHandle;

use super::session;
use crate::daemon::Daemon;

/// The sessions, by the address of their SCM.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The change of members that was heard of last.
    index: u64,
    running: Vec<Running>,
    /// Sessions that were told to end.
    ended: Vec<JoinHandle<()>>,
    closed: bool,
}

#[derive(Debug)]
struct Running {
    address: HostPort,
    stop: Shutdown,
    task: JoinHandle<()>,
}

impl Sessions {
    /// The change of members that was heard of last.
    pub fn known(&self) -> u64 {
        self.inner.lock().index
    }

    /// Where there are sessions.
    pub fn addresses(&self) -> Vec<String> {
        self.inner.lock().running.iter().map(|r| r.address.to_string()).collect()
    }

    /// Begins with the SCMs of the configuration.
    pub fn begin(&self, daemon: &Arc<Daemon>) {
        self.inner.lock().set(daemon, &daemon.settings.scm);
    }

    /// An SCM says where they all are.
    pub fn hear(&self, daemon: &Arc<Daemon>, places: &ScmPlacesProto) {
        let parse = |address: &String| HostPort::parse_with(address, None).map(|a| a.connect());
        let scms = places.scms.iter().map(|scm| parse(&scm.datanode_address));
        let Some(scms) = scms.collect::<Option<Vec<_>>>().filter(|scms| !scms.is_empty()) else {
            tracing::warn!(?places, "an SCM names SCMs that cannot be reached: not taken");
            return;
        };
        let mut inner = self.inner.lock();
        if places.index <= inner.index {
            return;
        }
        inner.index = places.index;
        inner.set(daemon, &scms);
    }

    /// Waits until all have ended, after the DataNode's shutdown was triggered.
    pub async fn join(&self) {
        let tasks: Vec<_> = {
            let mut inner = self.inner.lock();
            inner.closed = true;
            let running: Vec<_> = inner.running.drain(..).map(|running| running.task).collect();
            running.into_iter().chain(inner.ended.drain(..)).collect()
        };
        for task in tasks {
            // A session that panicked has ended, too.
            let _ = task.await;
        }
    }
}

impl Inner {
    fn set(&mut self, daemon: &Arc<Daemon>, scms: &[HostPort]) {
        if self.closed {
            return;
        }
        self.ended.retain(|task| !task.is_finished());
        let (stay, go) = std::mem::take(&mut self.running)
            .into_iter()
            .partition::<Vec<_>, _>(|running| scms.contains(&running.address));
        self.running = stay;
        for gone in go {
            tracing::info!(scm = %gone.address, "SCM does not belong to the service any more");
            gone.stop.trigger();
            self.ended.push(gone.task);
        }
        for address in scms {
            if self.running.iter().any(|running| running.address == *address) {
                continue;
            }
            tracing::debug!(scm = %address, "a session with SCM begins");
            let stop = daemon.shutdown.child();
            let run = session::run(daemon.clone(), address.clone(), stop.clone());
            let task = tokio::spawn(run);
            self.running.push(Running { address: address.clone(), stop, task });
        }
    }
}
