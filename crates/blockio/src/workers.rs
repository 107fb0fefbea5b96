//! The threads that carry out jobs.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::Receiver;

use crate::disk::Shared;
use crate::job::Job;

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
                    job(&shared);
                }
            })
        })
        .collect()
}
