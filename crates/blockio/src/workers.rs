//! The threads that carry out jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::Receiver;

use crate::job::{Job, Shared};

/// Starts the workers; they end when the last sender of jobs is gone.
pub(crate) fn start(
    shared: &Arc<Shared>,
    jobs: &Receiver<Job>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    (0..shared.options.threads.max(1))
        .map(|i| {
            let (shared, jobs) = (Arc::clone(shared), jobs.clone());
            thread::Builder::new().name(format!("{}-{i}", shared.options.name)).spawn(move || {
                for job in jobs {
                    // A thread that ended would never be replaced. The panic is in the log, and
                    // the caller of the operation hears of its end when its sender is dropped.
                    if catch_unwind(AssertUnwindSafe(|| job(&shared))).is_err() {
                        shared.metrics.left();
                    }
                }
            })
        })
        .collect()
}
