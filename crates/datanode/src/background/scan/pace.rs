//! Share of a disk that scans take.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::settings::scan::ScanRate;
use crate::throttle::Throttle;
use async_trait::async_trait;
use containerstore::Disk;
use containerstore::Pace;

/// Interval at which a scan checks whether others still wait for the disk.
const STEP: Duration = Duration::from_millis(10);

/// Largest factor by which a scan falls below its rate because others wait for the disk: on a disk
/// that is never idle it continues at a tenth of its rate.
const SLOWEST: u32 = 10;

/// Bytes per second of one disk, less while others wait for it.
pub(super) struct DiskPace {
    rate: ScanRate,
    clock: Arc<dyn Clock>,
    throttle: Throttle,
}

impl DiskPace {
    pub fn new(rate: ScanRate, clock: Arc<dyn Clock>) -> Self {
        Self { rate, clock, throttle: Throttle::default() }
    }
}

#[async_trait]
impl Pace for DiskPace {
    async fn pass(&self, disk: &Disk, bytes: u64) {
        let rate = self.rate.at(self.clock.hour());
        let clock = &*self.clock;
        clock.sleep_until(self.throttle.next(bytes, rate, clock.instant())).await;
        let cost = Duration::from_secs_f64(bytes as f64 / rate as f64);
        step_back(disk, clock, cost.saturating_mul(SLOWEST - 1)).await;
    }
}

/// Waits while others wait for a disk, but not longer than `most`.
pub(super) async fn step_back(disk: &Disk, clock: &dyn Clock, most: Duration) {
    let deadline = clock.instant() + most;
    while disk.scans().others_wait(disk.io()) {
        let now = clock.instant();
        if now >= deadline {
            return;
        }
        clock.sleep_until(deadline.min(now + STEP)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::SystemTime;

    use blockio::{FaultyBackend, Op, Strike, WriteMode};
    use config::Configuration;
    use parking_lot::Mutex;
    use tempfile::TempDir;
    use tokio::time::Instant;
    use types::DatanodeId;

    use super::*;
    use crate::settings::scan::ScanSettings;
    use containerstore::{ContainerStore, DataDirectory, StorageOptions};

    const MIB: u64 = 1 << 20;

    /// A clock that advances while a task waits.
    struct SetClock(Mutex<(u32, Instant)>);

    impl SetClock {
        fn new() -> Arc<Self> {
            Arc::new(Self(Mutex::new((0, Instant::now()))))
        }
    }

    #[async_trait]
    impl Clock for SetClock {
        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }

        fn hour(&self) -> u32 {
            self.0.lock().0
        }

        fn instant(&self) -> Instant {
            self.0.lock().1
        }

        async fn sleep_until(&self, at: Instant) {
            let mut time = self.0.lock();
            time.1 = time.1.max(at);
        }
    }

    fn disk() -> (TempDir, FaultyBackend, ContainerStore) {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(dir.path().join("disk"));
        let options = StorageOptions::new(vec![data], "CID-test", DatanodeId::random());
        let backend = FaultyBackend::default();
        let made = backend.clone();
        let make = move |_| -> Box<dyn blockio::Backend> { Box::new(made.clone()) };
        let store = ContainerStore::open_on(options, Some(&make)).unwrap();
        (dir, backend, store)
    }

    fn pace(clock: &Arc<SetClock>) -> DiskPace {
        let conf = Configuration::builder().build().unwrap();
        let conf = conf.with("hdds.container.scrub.volume.bytes.per.second", "4MB");
        let conf = conf.with("hdds.container.scrub.off-peak.hour", "1-3");
        let conf = conf.with("hdds.container.scrub.off-peak.ratio", "4");
        DiskPace::new(ScanSettings::read(&conf).unwrap().data_rate, clock.clone())
    }

    async fn seconds_for(pace: &DiskPace, disk: &Disk, pieces: u64) -> f64 {
        let begin = pace.clock.instant();
        for _ in 0..pieces {
            pace.pass(disk, MIB).await;
        }
        (pace.clock.instant() - begin).as_secs_f64()
    }

    #[tokio::test]
    async fn bytes_pass_at_the_rate_of_the_hour() {
        let (_dir, _backend, store) = disk();
        let (clock, disk) = (SetClock::new(), store.disks()[0].clone());
        let pace = pace(&clock);
        // One piece and a quarter of a second may be ahead of their time.
        let table = [(0, 4.0), (1, 16.0), (3, 16.0), (4, 4.0), (23, 4.0)];
        for (hour, rate) in table {
            clock.0.lock().0 = hour;
            let took = seconds_for(&pace, &disk, 400).await;
            let expected = 400.0 / rate;
            assert!((took - expected).abs() < 0.6, "hour {hour}: {took} s, not {expected} s");
        }
    }

    #[tokio::test]
    async fn a_scan_steps_back_while_others_wait_and_never_stops() {
        let (dir, backend, store) = disk();
        let (clock, disk) = (SetClock::new(), store.disks()[0].clone());
        let pace = pace(&clock);
        let idle = seconds_for(&pace, &disk, 10).await;
        // The disk works on a write for as long as all of this takes.
        let gate = testkit::Gate::closed();
        backend.faults.once(Op::Write, "slow", Strike::hold(gate.blocking()));
        let path: Arc<Path> = Arc::from(dir.path().join("slow"));
        let write = disk.io().write(path, 0, vec![1; 10].into(), WriteMode::Cached);
        let busy = seconds_for(&pace, &disk, 10).await;
        assert!(disk.scans().others_wait(disk.io()), "the write ended too early");
        assert!(busy > 8.5 * idle, "{busy} s is hardly longer than {idle} s");
        assert!(busy < 11.0 * idle, "{busy} s is more than ten times {idle} s");
        gate.open();
        write.await.unwrap();
        let again = seconds_for(&pace, &disk, 10).await;
        assert!((again - idle).abs() < 0.6, "{again} s, {idle} s before");
    }
}
