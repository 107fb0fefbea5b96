//! State of the balancer and results of its moves.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use blockio::durable;
use parking_lot::Mutex;
use proto::disk_balancer::DiskBalancerConfigurationProto;
use proto::disk_balancer::DiskBalancerRunningStatus as Status;
use rustc_hash::FxHashMap;
use tokio::sync::watch;
use types::ContainerId;

use super::info::{self, Info};
use super::parameters::{ParameterError, Parameters};
use super::settings::DiskBalancerSettings;
use crate::throttle::Throttle;
use containerstore::Disk;

/// Pause after which a failed move of a replica is retried.
const RETRY_DELAY: Duration = Duration::from_secs(600);

/// The disk balancer of a node.
pub(crate) struct DiskBalancer {
    /// Its settings at start.
    pub settings: DiskBalancerSettings,
    /// Bounds the bytes of all moves together.
    pub throttle: Throttle,
    /// Results of moves since the start.
    pub counts: Counts,
    info: watch::Sender<Info>,
    /// Serializes changes of `info` and its file.
    changing: Mutex<()>,
    under_way: Mutex<FxHashMap<ContainerId, UnderWay>>,
    failed: Mutex<FxHashMap<ContainerId, Instant>>,
}

/// Results of moves since the start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Replicas that were moved.
    pub moves: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// Moves that were not carried out.
    pub failures: AtomicU64,
}

/// A move in progress.
#[derive(Debug, Clone)]
struct UnderWay {
    from: String,
    to: String,
    bytes: u64,
    /// Bytes that are still to be copied.
    left: u64,
}

/// Outcome of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The replica is on the other disk; size of the replica in bytes.
    Moved(u64),
    /// It is where it was.
    Failed,
    /// It is where it was, because the balancer was stopped.
    Stopped,
}

/// Errors of the operator's commands.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BalancerError {
    /// `hdds.datanode.disk.balancer.enabled` is false.
    #[error("the disk balancer of this datanode is disabled by its configuration")]
    Disabled,
    /// An invalid parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The command could not be stored.
    #[error("{path}: {source}")]
    InfoFile {
        /// The file.
        path: std::path::PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
}

impl DiskBalancer {
    /// Opens the balancer in the state of the last run. Blocks.
    pub fn open(settings: DiskBalancerSettings) -> Self {
        let info = read(&settings);
        Self {
            throttle: Throttle::default(),
            counts: Counts::default(),
            info: watch::Sender::new(info),
            changing: Mutex::default(),
            under_way: Mutex::default(),
            failed: Mutex::default(),
            settings,
        }
    }

    /// Returns its status.
    pub fn status(&self) -> Status {
        self.info.borrow().status
    }

    /// Returns its parameters.
    pub fn parameters(&self) -> Parameters {
        self.info.borrow().parameters.clone()
    }

    /// Starts balancing the disks with the given parameters changed: immediately, or when the node
    /// is back in service. Stored when it returns. Blocks.
    ///
    /// # Errors
    /// When it is disabled, a parameter is invalid, or the file cannot be written.
    pub fn start(
        &self,
        named: &DiskBalancerConfigurationProto,
        in_service: bool,
    ) -> Result<(), BalancerError> {
        let status = if in_service { Status::Running } else { Status::Paused };
        self.failed.lock().clear();
        self.change(|info| Ok(Info { status, parameters: info.parameters.with(named)? }))
    }

    /// Starts no more moves; moves in progress are given up. Stored when it returns. Blocks.
    ///
    /// # Errors
    /// When it is disabled, or the file cannot be written.
    pub fn stop(&self) -> Result<(), BalancerError> {
        self.change(|info| Ok(Info { status: Status::Stopped, ..info.clone() }))
    }

    /// Changes its parameters. Stored when it returns. Blocks.
    ///
    /// # Errors
    /// When it is disabled, a parameter is invalid, or the file cannot be written.
    pub fn update(&self, named: &DiskBalancerConfigurationProto) -> Result<(), BalancerError> {
        self.change(|info| Ok(Info { parameters: info.parameters.with(named)?, ..info.clone() }))
    }

    /// Stops for a node that leaves the service, and continues when it is back. Blocks.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn follow_service(&self, in_service: bool) -> Result<(), BalancerError> {
        let status = match (self.status(), in_service) {
            (Status::Running, false) => Status::Paused,
            (Status::Paused, true) => Status::Running,
            _ => return Ok(()),
        };
        self.change(|info| Ok(Info { status, ..info.clone() }))
    }

    fn change(
        &self,
        change: impl FnOnce(&Info) -> Result<Info, ParameterError>,
    ) -> Result<(), BalancerError> {
        if !self.settings.enabled {
            return Err(BalancerError::Disabled);
        }
        let _one = self.changing.lock();
        let next = change(&self.info.borrow())?;
        if *self.info.borrow() != next {
            write(&self.settings, &next)?;
            let (status, parameters) = (next.status.as_str_name(), &next.parameters);
            tracing::info!(status, ?parameters, "disk balancer changed");
            self.info.send_replace(next);
        }
        Ok(())
    }

    /// Waits until it runs no more.
    pub async fn stopped(&self) {
        let mut info = self.info.subscribe();
        // It cannot fail: the other end is this one.
        drop(info.wait_for(|info| info.status != Status::Running).await);
    }

    /// Records the start of a replica's move; until [`ended`](Self::ended) it counts for both
    /// disks.
    pub fn begun(&self, id: ContainerId, from: &Disk, to: &Disk, bytes: u64) {
        let (from, to) = (from.id().to_owned(), to.id().to_owned());
        let begun = UnderWay { from, to, bytes, left: bytes };
        self.under_way.lock().insert(id, begun);
    }

    /// Records copied bytes of a moving replica.
    pub fn copied(&self, id: ContainerId, bytes: u64) {
        if let Some(found) = self.under_way.lock().get_mut(&id) {
            found.left = found.left.saturating_sub(bytes);
        }
    }

    /// Records the outcome of a move; a failed one is not retried soon.
    pub fn ended(&self, id: ContainerId, ending: Ending) {
        self.under_way.lock().remove(&id);
        match ending {
            Ending::Moved(bytes) => {
                self.counts.moves.fetch_add(1, Ordering::Relaxed);
                self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
            }
            Ending::Failed => {
                self.counts.failures.fetch_add(1, Ordering::Relaxed);
                self.failed.lock().insert(id, Instant::now());
            }
            Ending::Stopped => {}
        }
    }

    /// Bytes that are on their way to a disk, and from it.
    pub fn moves_of(&self, disk: &Disk) -> (u64, u64) {
        let under_way = self.under_way.lock();
        let sum =
            |of: &dyn Fn(&UnderWay) -> u64| under_way.values().map(of).fold(0, u64::saturating_add);
        let coming = sum(&|one| if one.to == disk.id() { one.left } else { 0 });
        let leaving = sum(&|one| if one.from == disk.id() { one.bytes } else { 0 });
        (coming, leaving)
    }

    /// Returns the number of moves in progress.
    pub fn running(&self) -> usize {
        self.under_way.lock().len()
    }

    /// Returns `true` if a move of the replica failed recently.
    pub fn failed_lately(&self, id: ContainerId) -> bool {
        self.failed.lock().get(&id).is_some_and(|at| at.elapsed() < RETRY_DELAY)
    }

    /// Returns the number of replicas whose move failed recently.
    pub fn failures(&self) -> usize {
        let mut failed = self.failed.lock();
        failed.retain(|_, at| at.elapsed() < RETRY_DELAY);
        failed.len()
    }
}

/// Reads the file; without one, takes the configuration.
fn read(settings: &DiskBalancerSettings) -> Info {
    let status = if settings.runs_at_first { Status::Running } else { Status::Stopped };
    let first = Info { status, parameters: settings.parameters.clone() };
    if !settings.enabled {
        return Info { status: Status::Stopped, ..first };
    }
    let path = settings.info_file.display();
    match fs::read_to_string(&settings.info_file) {
        Ok(text) => info::parse(&text, &settings.parameters).unwrap_or_else(|error| {
            tracing::error!(%path, %error, "cannot read the disk balancer's stored state");
            first
        }),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::error!(%path, %error, "cannot read the disk balancer's stored state");
            }
            first
        }
    }
}

fn write(settings: &DiskBalancerSettings, info: &Info) -> Result<(), BalancerError> {
    let path = &settings.info_file;
    let fail = |source| BalancerError::InfoFile { path: path.clone(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    let temporary = path.with_extension("info.new");
    durable::replace(path, &temporary, info::render(info).as_bytes()).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::super::parameters::defaults;
    use super::*;

    fn settings(dir: &std::path::Path) -> DiskBalancerSettings {
        DiskBalancerSettings {
            enabled: true,
            runs_at_first: false,
            info_file: dir.join("meta").join("diskBalancer.info"),
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(300),
            deletion_delay: Duration::from_secs(300),
            parameters: defaults(),
        }
    }

    #[test]
    fn what_it_was_told_holds_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let open = || DiskBalancer::open(settings(dir.path()));
        let balancer = open();
        assert_eq!(balancer.status(), Status::Stopped);
        let named = DiskBalancerConfigurationProto { threshold: Some(2.5), ..Default::default() };
        balancer.start(&named, true).unwrap();
        let balancer = open();
        assert_eq!((balancer.status(), balancer.parameters().threshold), (Status::Running, 2.5));
        let wrong = DiskBalancerConfigurationProto { threshold: Some(250.0), ..Default::default() };
        assert!(balancer.update(&wrong).is_err());
        let named =
            DiskBalancerConfigurationProto { parallel_thread: Some(9), ..Default::default() };
        balancer.update(&named).unwrap();
        balancer.stop().unwrap();
        let balancer = open();
        let now = balancer.parameters();
        assert_eq!(balancer.status(), Status::Stopped);
        assert_eq!((now.threshold, now.threads), (2.5, 9));
        // A file that cannot be read is none.
        fs::write(&balancer.settings.info_file, "version: 7\n").unwrap();
        assert_eq!(open().parameters(), defaults());
    }

    #[test]
    fn a_node_that_leaves_the_service_pauses_it() {
        let dir = tempfile::tempdir().unwrap();
        let balancer = DiskBalancer::open(settings(dir.path()));
        balancer.follow_service(true).unwrap();
        assert_eq!(balancer.status(), Status::Stopped, "nobody started it");
        balancer.start(&DiskBalancerConfigurationProto::default(), false).unwrap();
        assert_eq!(balancer.status(), Status::Paused);
        balancer.follow_service(true).unwrap();
        assert_eq!(balancer.status(), Status::Running);
        balancer.follow_service(false).unwrap();
        assert_eq!(DiskBalancer::open(settings(dir.path())).status(), Status::Paused);
        balancer.stop().unwrap();
        balancer.follow_service(true).unwrap();
        assert_eq!(balancer.status(), Status::Stopped);
    }

    #[test]
    fn one_that_is_disabled_takes_no_word() {
        let dir = tempfile::tempdir().unwrap();
        let off =
            DiskBalancerSettings { enabled: false, runs_at_first: true, ..settings(dir.path()) };
        let balancer = DiskBalancer::open(off);
        assert_eq!(balancer.status(), Status::Stopped);
        let started = balancer.start(&DiskBalancerConfigurationProto::default(), true);
        assert!(matches!(started, Err(BalancerError::Disabled)));
        assert!(balancer.stop().is_err());
    }
}
