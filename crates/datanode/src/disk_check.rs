//! Checks of the disks: at every interval, and soon after a device refused an operation.
//!
//! A check writes a small file, syncs it and reads it back, on every data directory and beside
//! every Raft log. A directory that is gone, that fails too many of its last tests, or that gives
//! no answer in time has failed. A test also fails when the device refused reads of files since the
//! last one.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::future::join_all;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use service::{BackgroundService, Progress};

use crate::check_settings::CheckSettings;
use crate::node::Node;
use crate::service_names;
use crate::storage::{CheckFault, Disk};

/// The last tests of a directory.
#[derive(Debug, Default)]
struct Window {
    failed: VecDeque<bool>,
}

impl Window {
    /// Adds a test; says whether too many of the last have failed.
    fn add(&mut self, failed: bool, settings: &CheckSettings) -> bool {
        self.failed.push_back(failed);
        while self.failed.len() > settings.tests.max(1) {
            self.failed.pop_front();
        }
        failed && self.failed.iter().filter(|failed| **failed).count() > settings.tolerated
    }
}

/// What is known of a disk's checks.
#[derive(Debug, Default)]
struct Known {
    checked: Option<Instant>,
    data: Window,
    log: Window,
}

/// Checks all disks.
pub(crate) struct DiskCheck {
    node: Weak<Node>,
    settings: CheckSettings,
    known: Mutex<FxHashMap<String, Known>>,
}

impl DiskCheck {
    pub fn new(node: &Arc<Node>) -> Self {
        Self::of(Arc::downgrade(node), node.settings.checks.clone())
    }

    pub(crate) fn of(node: Weak<Node>, settings: CheckSettings) -> Self {
        Self { node, settings, known: Mutex::default() }
    }

    /// Whether a disk may be checked again.
    fn due(&self, disk: &Disk) -> bool {
        let mut known = self.known.lock();
        let known = known.entry(disk.id().to_owned()).or_default();
        let due = known.checked.is_none_or(|at| at.elapsed() >= self.settings.min_gap);
        if due {
            known.checked = Some(Instant::now());
        }
        due
    }

    async fn check(&self, node: &Node, disk: &Arc<Disk>) {
        tokio::join!(self.check_data(disk), self.check_log(node, disk));
    }

    /// Tests a data directory; fails the disk when that must be.
    pub(crate) async fn check_data(&self, disk: &Arc<Disk>) {
        let test = tokio::time::timeout(self.settings.timeout, disk.test_data(self.size())).await;
        let reads = self.size().map_or(Ok(()), |_| disk.test_reads());
        let outcome = test.unwrap_or_else(|_| Err(self.silent())).and(reads);
        if let Some(why) = self.judge(disk, outcome, |known| &mut known.data) {
            disk.io().fail("check the data directory", disk.path(), why);
        }
    }

    async fn check_log(&self, node: &Node, disk: &Arc<Disk>) {
        let Some(log) = node.pipelines.logs().get(disk.id()) else { return };
        if log.failure().is_some() {
            return;
        }
        let (tested, size) = (Arc::clone(disk), self.size());
        let test = tokio::task::spawn_blocking(move || tested.test_log(size));
        let outcome = match tokio::time::timeout(self.settings.timeout, test).await {
            Err(_) => Err(self.silent()),
            Ok(Err(error)) => Err(CheckFault::Test(error.to_string())),
            Ok(Ok(outcome)) => outcome,
        };
        if let Some(why) = self.judge(disk, outcome, |known| &mut known.log) {
            log.fail(&format!("{}: {why}", disk.raft_dir().display()));
        }
    }

    fn silent(&self) -> CheckFault {
        CheckFault::Silent(self.settings.timeout)
    }

    /// Why a directory has failed with this test, if it has.
    fn judge(
        &self,
        disk: &Disk,
        outcome: Result<(), CheckFault>,
        window: impl FnOnce(&mut Known) -> &mut Window,
    ) -> Option<String> {
        let mut known = self.known.lock();
        let known = known.entry(disk.id().to_owned()).or_default();
        let too_many = window(known).add(outcome.is_err(), &self.settings);
        let fault = outcome.err()?;
        tracing::warn!(disk = disk.id(), %fault, "a test of a directory failed");
        disk.failed_tests.fetch_add(1, Ordering::Relaxed);
        (fault.is_final() || too_many).then(|| fault.to_string())
    }

    /// Bytes to write; `None` when only the directories are looked at.
    fn size(&self) -> Option<usize> {
        (self.settings.tests > 0).then_some(self.settings.file_size.max(1))
    }
}

#[async_trait]
impl BackgroundService for DiskCheck {
    fn name(&self) -> &str {
        service_names::DISK_CHECK
    }

    fn interval(&self) -> Duration {
        self.settings.interval
    }

    async fn run_once(&self) -> Progress {
        let Some(node) = self.node.upgrade() else { return Progress::idle() };
        let working = node.store.disks().iter().filter(|disk| disk.failure().is_none());
        let due: Vec<_> = working.filter(|disk| self.due(disk)).collect();
        let items = due.len() as u64;
        // Side by side: one that hangs holds up no other.
        join_all(due.into_iter().map(|disk| self.check(&node, disk))).await;
        Progress::done(items)
    }
}

#[cfg(test)]
mod tests {
    use config::Configuration;

    use super::*;

    fn settings(tests: usize, tolerated: usize) -> CheckSettings {
        let conf = Configuration::builder().build().expect("an empty configuration");
        CheckSettings { tests, tolerated, ..CheckSettings::read(&conf) }
    }

    #[test]
    fn a_directory_may_fail_as_many_of_its_last_tests_as_is_tolerated() {
        let settings = settings(3, 1);
        let mut window = Window::default();
        let failed = [true, false, false, true, false, true];
        let fatal: Vec<_> = failed.iter().map(|failed| window.add(*failed, &settings)).collect();
        assert_eq!(fatal, [false, false, false, false, false, true]);
    }

    #[test]
    fn defaults_are_ozones() {
        let conf = Configuration::builder().build().expect("an empty configuration");
        let settings = CheckSettings::read(&conf);
        let minutes = |n: u64| Duration::from_secs(60 * n);
        assert_eq!((settings.interval, settings.min_gap), (minutes(60), minutes(10)));
        assert_eq!(settings.timeout, minutes(10));
        assert_eq!((settings.tests, settings.tolerated, settings.file_size), (3, 1, 100));
    }
}
