//! Compacts ranges of the disks' databases in which deletions left many tombstones.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use metastore::compaction::{PATIENCE, RangeCompactor, TablePlan};
use parking_lot::Mutex;
use scheduling::on_background_thread;
use service::{BackgroundService, Progress};

use crate::node::Node;
use crate::service_names;
use crate::settings::range_compaction::RangeCompactionSettings;
use containerstore::{ContainerStore, TABLES_WITH_DELETIONS};

/// Compacts one range of each disk at a time, disk by disk.
pub(crate) struct RangeCompaction {
    node: Weak<Node>,
    settings: RangeCompactionSettings,
    disks: Arc<Mutex<HashMap<String, Arc<RangeCompactor>>>>,
}

impl RangeCompaction {
    pub fn new(node: &Arc<Node>, settings: &RangeCompactionSettings) -> Self {
        let (node, settings) = (Arc::downgrade(node), settings.clone());
        Self { node, settings, disks: Arc::default() }
    }
}

#[async_trait]
impl BackgroundService for RangeCompaction {
    fn name(&self) -> &str {
        service_names::RANGE_COMPACTION
    }

    fn interval(&self) -> Duration {
        self.settings.interval
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let (store, disks) = (node.store.clone(), Arc::clone(&self.disks));
        let limits = self.settings.limits;
        let run = move || {
            let of = |disk: &str| {
                let mut disks = disks.lock();
                let new = || Arc::new(RangeCompactor::new(limits, None).patient(PATIENCE));
                Arc::clone(disks.entry(disk.to_owned()).or_insert_with(new))
            };
            compact(&store, of)
        };
        match on_background_thread(run).await {
            Ok(progress) => progress,
            Err(error) => Progress::failed(error),
        }
    }
}

/// Compacts a range of each disk. A failing disk does not stop the others.
fn compact(store: &ContainerStore, of: impl Fn(&str) -> Arc<RangeCompactor>) -> Progress {
    let mut progress = Progress::idle();
    for disk in store.disks().iter().filter(|disk| disk.failure().is_none()) {
        let compactor = of(disk.id());
        let one = || -> metastore::Result<u64> {
            if compactor.waiting() == 0 {
                let tables = TABLES_WITH_DELETIONS.into_iter().map(TablePlan::whole);
                compactor.look(disk.database(), tables)?;
            }
            let Some(done) = compactor.compact_next(disk.database()) else { return Ok(0) };
            done.outcome.map(|_| 1)
        };
        match one() {
            Ok(done) => progress.items = progress.items.saturating_add(done),
            Err(error) => progress.failure = Some(format!("disk {}: {error}", disk.id())),
        }
        progress.more |= compactor.waiting() > 0;
    }
    progress
}
