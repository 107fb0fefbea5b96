//! Checks of the disks: at every interval, and soon after a device refused an operation.
//!
//! A check writes a small file, syncs it and reads it back, on every data directory and next to
//! every Raft log. A directory has failed if it does not exist, fails too many of its last tests,
//! or does not respond in time. A test also fails when the device refused reads of files since the
//! last one.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::future::join_all;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use service::{BackgroundService, Progress};

use crate::node::Node;
use crate::service_names;
use crate::settings::disk_check::CheckSettings;
use containerstore::{CheckFault, Disk};

/// The last tests of a directory.
#[derive(Debug, Default)]
struct Window {
    failed: VecDeque<bool>,
}

impl Window {
    /// Adds a test; returns `true` if too many of the last ones have failed.
    fn add(&mut self, failed: bool, settings: &CheckSettings) -> bool {
        self.failed.push_back(failed);
        while self.failed.len() > settings.tests.max(1) {
            self.failed.pop_front();
        }
        failed && self.failed.iter().filter(|failed| **failed).count() > settings.tolerated
    }
}

/// Results of a disk's checks.
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

    /// Returns `true` if a disk may be checked again.
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

    /// Returns the reason why a directory has failed with this test, if it has.
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
        tracing::warn!(disk = disk.id(), %fault, "test of a directory failed");
        disk.note_failed_test();
        (fault.is_final() || too_many).then(|| fault.to_string())
    }

    /// Bytes to write; `None` if only the directories are checked.
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
    #![allow(clippy::unwrap_used)]

    use blockio::{Op, Strike};
    use config::Configuration;
    use containerstore::{ContainerStore, ReadTimeout};
    use proto::datanode::{BlockData, ChunkInfo, Result as ResultCode};
    use types::{BlockId, LocalId};

    use super::*;
    use crate::store_on_disk::{CONTAINER, StoreOnDisk};

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

    fn check(timeout: Duration) -> DiskCheck {
        DiskCheck::of(Weak::new(), CheckSettings { timeout, ..settings(3, 1) })
    }

    fn block(local: u64) -> (BlockId, ChunkInfo) {
        let chunk = ChunkInfo { chunk_name: "1".into(), len: 50_000, ..ChunkInfo::default() };
        (BlockId::new(CONTAINER, LocalId(local)), chunk)
    }

    /// Commits a block of one chunk.
    async fn put(store: &ContainerStore, local: u64) {
        let (id, chunk) = block(local);
        store.write_chunk(id, &chunk, vec![7; 50_000].into()).await.unwrap();
        let block_id = id.to_datanode(0);
        let block = BlockData { block_id, chunks: vec![chunk], ..BlockData::default() };
        store.put_block_direct(&block).await.unwrap();
    }

    /// Reads a block; the device refuses.
    async fn read_in_vain(store: &ContainerStore, local: u64) {
        let (id, chunk) = block(local);
        let error = store.read_chunk(id, &chunk, ReadTimeout::Unlimited).await.unwrap_err();
        assert_eq!(error.result(), ResultCode::IoException, "{error}");
    }

    #[tokio::test]
    async fn files_that_the_device_refuses_to_read_count_against_the_disk() {
        let node = StoreOnDisk::new();
        for local in 7..=9 {
            put(&node.store, local).await;
        }
        let (disk, check) = (node.disk(), check(Duration::from_secs(600)));
        node.faults.always(Op::Read, "7.block", Strike::Eio);
        for _ in 0..3 {
            // One bad sector affects the replica only, however often it is read.
            read_in_vain(&node.store, 7).await;
            check.check_data(&disk).await;
            assert_eq!(disk.failure(), None);
        }
        assert_eq!((disk.failed_tests(), disk.refused_files()), (1, 1));
        for (local, fails) in [(8, false), (9, true)] {
            node.faults.always(Op::Read, &format!("{local}.block"), Strike::Eio);
            read_in_vain(&node.store, local).await;
            check.check_data(&disk).await;
            assert_eq!(disk.failure().is_some(), fails);
        }
    }

    #[tokio::test]
    async fn a_disk_whose_check_hangs_has_failed() {
        let node = StoreOnDisk::new();
        let gate = testkit::Gate::closed();
        node.faults.once(Op::Write, "disk-check", Strike::hold(gate.blocking()));
        check(Duration::from_millis(50)).check_data(&node.disk()).await;
        let failure = node.disk().failure().unwrap();
        assert!(failure.contains("no answer within"), "{failure}");
    }
}
