//! Operations with a timeout for slow disks: a late one is retried once on a new worker, then
//! fails, so that its caller can use another source.
//!
//! An operation is late if its worker made no progress for the limit, or if no worker took it for
//! the limit and the disk completed no such operation in the meantime: waiting in the queue of a
//! busy disk does not count.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::disk::Disk;
use crate::job::{Job, Shared};
use crate::worker_counts::Progress;
use crate::{IoError, IoErrorKind};

/// Marks an attempt as finished, also after a panic.
struct Finish<'a> {
    shared: &'a Shared,
    progress: &'a Progress,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.shared.workers.finish(self.progress);
    }
}

/// One attempt as a job. It is skipped if its receiver was dropped.
fn attempt<T, F>(
    work: Arc<F>,
    progress: Arc<Progress>,
    limit: Duration,
    permit: Option<OwnedSemaphorePermit>,
) -> (Job, oneshot::Receiver<Result<T, IoError>>)
where
    T: Send + 'static,
    F: Fn(&Shared, &Progress) -> Result<T, IoError> + Send + Sync + 'static,
{
    let (done, outcome) = oneshot::channel();
    let job = move |shared: &Shared| {
        if done.is_closed() {
            shared.metrics.dropped();
        } else {
            let begun = shared.now();
            progress.note(begun);
            let finish = Finish { shared, progress: &progress };
            let outcome = work(shared, &progress);
            drop(finish);
            if Duration::from_nanos(shared.now().saturating_sub(begun)) < limit {
                shared.note_in_time();
            }
            // Fails if the caller has stopped waiting.
            let _ = done.send(outcome);
        }
        shared.metrics.left();
        drop(permit);
    };
    (Box::new(job), outcome)
}

impl Disk {
    /// Runs `work`, possibly twice, within the limit of the options; without one, for as long as it
    /// takes.
    ///
    /// # Errors
    /// Those of `work`; [`IoErrorKind::Late`] if it is late twice, or once while there are no more
    /// workers for a retry.
    pub(crate) async fn timely<T, F>(
        &self,
        op: &'static str,
        path: Arc<Path>,
        work: F,
    ) -> Result<T, IoError>
    where
        T: Send + 'static,
        F: Fn(&Shared, &Progress) -> Result<T, IoError> + Send + Sync + 'static,
    {
        let Some(limit) = self.shared.options.read_limit else {
            let run = move |shared: &Shared, ()| work(shared, &Progress::default());
            return self.submit(op, path, (), run).await;
        };
        let work = Arc::new(work);
        let stopped = || IoError::new(op, &path, IoErrorKind::Stopped, "the disk is stopped");
        let first = Arc::new(Progress::default());
        let queued = async {
            let permit = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| stopped())?;
            let (job, outcome) =
                attempt(Arc::clone(&work), Arc::clone(&first), limit, Some(permit));
            self.push(job);
            outcome.await.map_err(|_| stopped())?
        };
        tokio::pin!(queued);
        tokio::select! {
            biased;
            outcome = &mut queued => return outcome,
            () = self.late(&first, limit) => {}
        }
        self.shared.metrics.late();
        self.shared.workers.give_up(&first);
        let late = |reason: &str| {
            self.shared.metrics.refused();
            IoError::new(op, &path, IoErrorKind::Late, reason)
        };
        let second = Arc::new(Progress::default());
        let (job, outcome) = attempt(Arc::clone(&work), Arc::clone(&second), limit, None);
        self.shared.metrics.entered();
        if !self.workers.start_spare(Some(job)) {
            self.shared.metrics.left();
            return Err(late("the disk is too slow, and all its workers hang"));
        }
        tokio::select! {
            biased;
            outcome = &mut queued => return outcome,
            outcome = outcome => return outcome.map_err(|_| stopped())?,
            () = self.late(&second, limit) => {}
        }
        self.shared.workers.give_up(&second);
        self.workers.replace();
        Err(late("the disk is too slow, also on retry"))
    }

    /// Waits until an attempt is late.
    async fn late(&self, progress: &Progress, limit: Duration) {
        let asked = self.shared.now();
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        loop {
            let since = progress.last().unwrap_or_else(|| asked.max(self.shared.last_in_time()));
            let left = since.saturating_add(limit).saturating_sub(self.shared.now());
            if left == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_nanos(left)).await;
        }
    }
}
