//! Background work that only the OM that leads does, on a thread of its own ([`on_thread`]): on the
//! others a run does nothing.

use std::sync::Arc;
use std::time::Duration;

use service::{BackgroundService, Progress};

use super::BackgroundError;
use super::on_thread::on_thread;
use crate::dispatch::Dispatcher;

/// Work of the OM that leads.
#[async_trait::async_trait]
pub(crate) trait LeaderWork: Send + Sync + 'static {
    /// Its name in lists, metrics and logs.
    fn name(&self) -> &'static str;

    /// Interval of two runs.
    fn interval(&self) -> Duration;

    /// Does one bounded piece of the work.
    async fn run(&self) -> Result<Progress, BackgroundError>;
}

/// The work as a background service.
pub(crate) struct WhileLeading<W> {
    dispatcher: Arc<Dispatcher>,
    work: Arc<W>,
}

impl<W> WhileLeading<W> {
    /// `work`, for as long as `dispatcher` leads.
    pub(crate) fn new(dispatcher: &Arc<Dispatcher>, work: Arc<W>) -> Arc<Self> {
        Arc::new(Self { dispatcher: Arc::clone(dispatcher), work })
    }
}

#[async_trait::async_trait]
impl<W: LeaderWork> BackgroundService for WhileLeading<W> {
    fn name(&self) -> &str {
        self.work.name()
    }

    fn interval(&self) -> Duration {
        self.work.interval()
    }

    async fn run_once(&self) -> Progress {
        if !self.dispatcher.is_leader() {
            return Progress::idle();
        }
        let work = Arc::clone(&self.work);
        let run = async move { work.run().await.unwrap_or_else(Progress::failed) };
        on_thread(run).await.unwrap_or_else(Progress::failed)
    }

    fn makes_way(&self) -> bool {
        self.dispatcher.parts().admission.made_way()
    }
}
