//! The threads that run jobs, and those that replace hanging ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::Receiver;

use crate::job::{Job, Shared};

/// The workers of a disk. They end when the last sender of jobs is dropped.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    jobs: Receiver<Job>,
}

impl Workers {
    /// Starts the configured number of workers.
    pub(crate) fn start(shared: Arc<Shared>, jobs: Receiver<Job>) -> std::io::Result<Arc<Self>> {
        let workers = Arc::new(Self { shared, jobs });
        for _ in 0..workers.wanted() {
            workers.spawn(None, workers.wanted())?;
        }
        Ok(workers)
    }

    /// Starts an additional worker, whose first job is `first`; it stays as long as others hang.
    /// Returns `false` if the maximum is reached.
    pub(crate) fn start_spare(self: &Arc<Self>, first: Option<Job>) -> bool {
        let most = self.wanted().saturating_add(self.shared.options.spare_threads);
        self.spawn(first, most).unwrap_or_else(|error| {
            tracing::warn!(disk = self.shared.options.name, %error, "cannot start a thread for a disk");
            false
        })
    }

    /// Replaces a hanging worker, if there are fewer than configured.
    pub(crate) fn replace(self: &Arc<Self>) {
        let most = self.wanted().saturating_add(self.shared.options.spare_threads);
        let most = most.min(self.wanted().saturating_add(self.shared.workers.stuck()));
        if let Err(error) = self.spawn(None, most) {
            tracing::warn!(disk = self.shared.options.name, %error, "cannot start a thread for a disk");
        }
    }

    fn wanted(&self) -> usize {
        self.shared.options.threads.max(1)
    }

    fn spawn(self: &Arc<Self>, first: Option<Job>, most: usize) -> std::io::Result<bool> {
        let Some(number) = self.shared.workers.enter(most) else { return Ok(false) };
        if number >= self.wanted() {
            self.shared.metrics.replaced();
        }
        let workers = Arc::clone(self);
        let thread = thread::Builder::new().name(format!("{}-{number}", self.shared.options.name));
        match thread.spawn(move || workers.work(first)) {
            Ok(_) => Ok(true),
            Err(error) => {
                self.shared.workers.leave();
                Err(error)
            }
        }
    }

    fn work(&self, first: Option<Job>) {
        scheduling::in_foreground();
        let shared = &self.shared;
        for job in first.into_iter().chain(self.jobs.iter()) {
            // A thread that ended would never be replaced. The panic is logged, and the operation's
            // caller gets an error when its sender is dropped.
            if catch_unwind(AssertUnwindSafe(|| job(shared))).is_err() {
                shared.metrics.left();
            }
            if shared.workers.leave_surplus(self.wanted()) {
                return;
            }
        }
        shared.workers.leave();
    }
}
