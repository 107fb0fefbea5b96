//! Compacts ranges of `scm.db` in which deletions left many tombstones. Works on every SCM: the
//! contents of the tables do not change.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use metastore::Store;
use metastore::compaction::{PATIENCE, RangeCompactor, TablePlan};
use scheduling::on_background_thread;
use service::{BackgroundService, Progress};

use crate::service_names as names;
use crate::settings::RangeCompactionOptions;
use crate::state::tables::{CONTAINERS, DELETED_BLOCKS, PIPELINES};

pub struct RangeCompaction {
    store: Store,
    compactor: Arc<RangeCompactor>,
    interval: Duration,
}

impl RangeCompaction {
    pub fn new(store: Store, options: &RangeCompactionOptions) -> Self {
        let compactor = Arc::new(RangeCompactor::new(options.limits, None).patient(PATIENCE));
        Self { store, compactor, interval: options.interval }
    }
}

#[async_trait]
impl BackgroundService for RangeCompaction {
    fn name(&self) -> &str {
        names::RANGE_COMPACTION
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    async fn run_once(&self) -> Progress {
        let (store, compactor) = (self.store.clone(), Arc::clone(&self.compactor));
        let run = move || -> metastore::Result<Progress> {
            if compactor.waiting() == 0 {
                let tables = [CONTAINERS.raw(), PIPELINES.raw(), DELETED_BLOCKS.raw()];
                compactor.look(&store, tables.into_iter().map(TablePlan::whole))?;
            }
            let Some(done) = compactor.compact_next(&store) else { return Ok(Progress::idle()) };
            done.outcome?;
            Ok(if compactor.waiting() > 0 { Progress::more(1) } else { Progress::done(1) })
        };
        match on_background_thread(run).await {
            Ok(Ok(progress)) => progress,
            Ok(Err(error)) => Progress::failed(error),
            Err(error) => Progress::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use metastore::compaction::Limits;
    use metastore::{Batch, Durability, StoreOptions};

    use super::*;

    #[tokio::test]
    async fn trimmed_transactions_leave_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions { deletion_trigger: None, ..StoreOptions::default() };
        let store = Store::open(dir.path(), &crate::state::tables::ALL, &options).unwrap();
        let write = |change: &dyn Fn(&mut Batch, u64)| {
            let mut batch = Batch::new();
            (0..500).for_each(|id| change(&mut batch, id));
            store.write(batch, Durability::NoWal).unwrap();
            store.flush().unwrap();
        };
        let table = DELETED_BLOCKS.raw();
        write(&|batch, id: u64| batch.put(table, id.to_be_bytes(), "transaction"));
        write(&|batch, id: u64| batch.delete(table, id.to_be_bytes()));
        let limits = Limits { min_tombstones: 100, ..Limits::default() };
        let options = RangeCompactionOptions { interval: Duration::from_secs(1), limits };
        let service = RangeCompaction::new(store.clone(), &options);
        assert_eq!(service.run_once().await, Progress::done(1));
        assert_eq!(store.table_files(table).unwrap(), []);
        assert_eq!(service.run_once().await, Progress::idle());
    }
}
