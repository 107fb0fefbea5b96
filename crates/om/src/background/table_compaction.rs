//! Ozone's CompactionService: whole tables, at long intervals.

use std::sync::Arc;
use std::time::Duration;

use metastore::Table as StoreTable;
use namespace::Table;
use scheduling::on_background_thread;
use service::{BackgroundService, Progress};

use crate::dispatch::Dispatcher;
use crate::state::column_families::stored;

/// Name in lists and metrics, Ozone's.
const NAME: &str = "CompactionService";

/// Compacted tables, and the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FullCompactionOptions {
    /// Time between two rounds.
    pub(crate) interval: Duration,
    /// The tables.
    pub(crate) tables: Vec<Table>,
}

/// Compacts whole tables.
pub(crate) struct CompactionService {
    dispatcher: Arc<Dispatcher>,
    options: FullCompactionOptions,
}

impl CompactionService {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, options: FullCompactionOptions) -> Arc<Self> {
        Arc::new(Self { dispatcher, options })
    }
}

#[async_trait::async_trait]
impl BackgroundService for CompactionService {
    fn name(&self) -> &str {
        NAME
    }

    fn interval(&self) -> Duration {
        self.options.interval
    }

    async fn run_once(&self) -> Progress {
        let mut done = Progress::idle();
        for table in self.options.tables.iter().map(|table| stored(*table)) {
            let Ok(tables) = self.dispatcher.tables() else { return done };
            match on_background_thread(move || tables.store().compact_table(table)).await {
                Ok(Ok(())) => done.items = done.items.saturating_add(1),
                Ok(Err(error)) => done.failure = Some(not_compacted(table, &error)),
                Err(error) => done.failure = Some(not_compacted(table, &error)),
            }
        }
        done
    }
}

fn not_compacted(table: StoreTable, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", table.name())
}
