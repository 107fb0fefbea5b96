//! The sessions with SCMs that run.

use config::HostPort;
use parking_lot::Mutex;
use service::Shutdown;
use tokio::task::JoinHandle;

/// The sessions, by the address of their SCM.
#[derive(Debug, Default)]
pub(crate) struct SessionTable {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Index of the last change of members received.
    index: u64,
    running: Vec<Running>,
    /// Sessions that are ending.
    ended: Vec<JoinHandle<()>>,
    closed: bool,
}

#[derive(Debug)]
struct Running {
    address: HostPort,
    stop: Shutdown,
    task: JoinHandle<()>,
}

impl SessionTable {
    /// Returns the index of the last change of members received.
    pub fn known(&self) -> u64 {
        self.inner.lock().index
    }

    /// Returns the addresses of the sessions.
    pub fn addresses(&self) -> Vec<String> {
        self.inner.lock().running.iter().map(|r| r.address.to_string()).collect()
    }

    /// Ends sessions with SCMs that are not among `scms`, and calls `begin` for the missing ones,
    /// which returns the session's shutdown handle and task. Does nothing for a change of members,
    /// by its index, that is older than the last one.
    pub fn set(
        &self,
        index: u64,
        scms: &[HostPort],
        begin: impl Fn(&HostPort) -> (Shutdown, JoinHandle<()>),
    ) {
        let mut inner = self.inner.lock();
        if inner.closed || index < inner.index || (index == inner.index && index > 0) {
            return;
        }
        inner.index = index;
        inner.ended.retain(|task| !task.is_finished());
        let (stay, go) = std::mem::take(&mut inner.running)
            .into_iter()
            .partition::<Vec<_>, _>(|running| scms.contains(&running.address));
        inner.running = stay;
        for gone in go {
            tracing::info!(scm = %gone.address, "SCM was removed from the service");
            gone.stop.trigger();
            inner.ended.push(gone.task);
        }
        for address in scms {
            if inner.running.iter().any(|running| running.address == *address) {
                continue;
            }
            tracing::debug!(scm = %address, "session with SCM started");
            let (stop, task) = begin(address);
            inner.running.push(Running { address: address.clone(), stop, task });
        }
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
