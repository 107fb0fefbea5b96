//! SCM's state and what drives it: directory, tables, Raft log and group, opened in order.

use std::sync::Arc;
use std::time::Duration;

use metastore::{Store, StoreOptions};
use multiraft::{HostOptions, LogOptions, LogPosition, Membership, Peer, TrimOptions};
use parking_lot::Mutex;
use placement::Cluster;
use replicated::{GroupOptions, Options, RaftLog, Service};
use service::data_dir;
use uuid::Uuid;

use crate::directory::Directory;
use crate::error::ScmError;
use crate::first_start::FirstStart;
use crate::members::Member;
use crate::settings::ScmOptions;
use crate::state::tables;
use crate::state::takeover;
use crate::state::{self, ScmMachine};

/// Size of a Raft log file: SCM's entries are small and few.
const LOG_FILE: u64 = 8 << 20;
/// Time limit at shutdown for users of the tables.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The state on disk, and its Raft group.
pub struct State {
    pub cluster_id: String,
    pub scm_id: Uuid,
    pub service: Service<ScmMachine>,
    store: Store,
    // Holds the lock on the directory.
    _directory: Directory,
}

impl State {
    /// Opens directory, tables and log, determines the members of the service if the log does not
    /// have them, and starts the group.
    ///
    /// # Errors
    /// When something cannot be opened, or the service does not add this SCM.
    pub async fn open(
        options: &ScmOptions,
        cluster: Arc<Mutex<Cluster>>,
        now: u64,
    ) -> Result<Self, ScmError> {
        let mut first_start = None;
        let opened = Opened::open(options, &cluster, now, &mut first_start).await;
        // Also when it failed: the next start in this process needs the port.
        if let Some(first_start) = first_start {
            first_start.close().await;
        }
        let Opened { tables: Tables { directory, store, applied }, log, joined } = opened?;
        let group = GroupOptions {
            id: directory.group_id(),
            peers: match &options.members {
                None => vec![Peer { node: directory.scm_id, address: String::new(), priority: 0 }],
                Some(members) => members.all().iter().map(peer).collect(),
            },
            joined,
            trim: TrimOptions {
                entries: options.trim_entries,
                keep: options.trim_entries / 10,
                ..TrimOptions::default()
            },
        };
        let machine = ScmMachine::new(cluster.clone(), store.clone(), applied);
        let tables = store.clone();
        // Reverts the changes in memory of a round that failed; the tables have the applied
        // entries.
        let again = move || {
            let machine = ScmMachine::reload(cluster.clone(), tables.clone())?;
            machine.check_room()?;
            Ok(machine)
        };
        let service = log.start(group, machine, again).await?;
        let (cluster_id, scm_id) = (directory.cluster_id.clone(), directory.scm_id);
        Ok(Self { cluster_id, scm_id, service, store, _directory: directory })
    }

    /// The tables.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stops the group, flushes the tables and releases the directory, after background tasks have
    /// finished their current step.
    pub async fn close(self) {
        let Self { service, store, _directory, .. } = self;
        store.cancel_compactions();
        service.close().await;
        let close = move || {
            let closing = store.closing();
            let flushed = store.flush();
            drop(store);
            let closed = closing.wait(CLOSE_TIMEOUT);
            flushed.map(|()| closed)
        };
        match tokio::task::spawn_blocking(close).await {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => tracing::warn!("scm.db is still in use"),
            // Nothing is lost: the Raft log has it.
            Ok(Err(error)) => tracing::warn!(%error, "cannot flush scm.db"),
            Err(error) => tracing::error!(%error, "SCM was not closed properly"),
        }
    }
}

/// Parts that are opened before the group starts.
struct Opened {
    tables: Tables,
    log: RaftLog,
    /// See [`joined`].
    joined: Option<Membership>,
}

impl Opened {
    /// Opens it; `first_start` is what has begun of a first start, for the caller to close.
    async fn open<'a>(
        options: &'a ScmOptions,
        cluster: &Arc<Mutex<Cluster>>,
        now: u64,
        first_start: &mut Option<FirstStart<'a>>,
    ) -> Result<Self, ScmError> {
        let formatted = Directory::is_formatted(options)?;
        let mut told = None;
        if let Some(members) = options.members.as_ref().filter(|_| !formatted) {
            let first_start = first_start.insert(FirstStart::begin(members, options).await?);
            told = Some(first_start.cluster().await?);
        }
        let (known, told) = told.unzip();
        let open = {
            let (options, cluster) = (options.clone(), cluster.clone());
            move || Tables::open(&options, &cluster, now, known)
        };
        let tables = tokio::task::spawn_blocking(open).await??;
        let log = open_log(options, &tables.directory).await?;
        match joined(options, &tables.directory, &log, first_start, told.flatten()).await {
            Ok(joined) => Ok(Self { tables, log, joined }),
            Err(error) => {
                log.close().await;
                Err(error)
            }
        }
    }
}

/// Directory and tables, the latter loaded into the cluster.
struct Tables {
    directory: Directory,
    store: Store,
    applied: LogPosition,
}

impl Tables {
    /// Opens them; `known` is the cluster of a new directory. Blocks on the disk.
    fn open(
        options: &ScmOptions,
        cluster: &Mutex<Cluster>,
        now: u64,
        known: Option<String>,
    ) -> Result<Self, ScmError> {
        let directory = Directory::open(options, known, now)?;
        let store_options = StoreOptions {
            block_cache_bytes: options.cache_bytes as usize,
            ..StoreOptions::default()
        };
        let path = options.dir.join("scm.db");
        state::discard_sent(&path).map_err(ScmError::Checkpoint)?;
        takeover::take_over(&path, &options.raft_dir, directory.home.path())?;
        data_dir::make(&options.raft_dir, options.permissions)?;
        let store = Store::open(&path, &tables::ALL, &store_options)?;
        state::resume_restore(&store).map_err(ScmError::Restore)?;
        let applied = state::load(&store, &mut cluster.lock())?;
        Ok(Self { directory, store, applied })
    }
}

async fn open_log(options: &ScmOptions, directory: &Directory) -> Result<RaftLog, ScmError> {
    let host = match &options.members {
        None => HostOptions {
            // A group of one needs no clock; proposals wake its event loop.
            tick: Duration::from_millis(100),
            entry_cache_bytes: 1 << 20,
            ..HostOptions::new(directory.scm_id)
        },
        Some(_) => HostOptions {
            election_timeout: options.election_timeout,
            heartbeat: options.election_timeout / 5,
            ..HostOptions::new(directory.scm_id)
        },
    };
    let opened = RaftLog::open(Options {
        host,
        shared: options.members.is_some(),
        home: directory.home.path().to_path_buf(),
        log_dir: options.raft_dir.clone(),
        log: LogOptions { file_size: LOG_FILE, ..LogOptions::default() },
    });
    Ok(opened.await?)
}

/// The members of the group that this SCM joins; `told` are those that the others reported at a
/// first start. `None` if it creates a group, or its log has one already.
async fn joined<'a>(
    options: &'a ScmOptions,
    directory: &Directory,
    log: &RaftLog,
    begun: &mut Option<FirstStart<'a>>,
    told: Option<Membership>,
) -> Result<Option<Membership>, ScmError> {
    let Some(members) = &options.members else { return Ok(None) };
    if log.holds(directory.group_id()) {
        return Ok(None);
    }
    let first_start = match begun {
        Some(begun) => begun,
        None => begun.insert(FirstStart::begin(members, options).await?),
    };
    let cluster_id = &directory.cluster_id;
    first_start.has_cluster(cluster_id);
    match told {
        Some(told) => Ok(Some(told)),
        None => first_start.membership(cluster_id, log.join_note()).await,
    }
}

fn peer(member: &Member) -> Peer {
    let address = member.node.raft.connect().to_string();
    Peer { node: member.scm_id, address, priority: 0 }
}

#[cfg(test)]
mod tests {
    use config::Configuration;

    use super::*;

    #[tokio::test]
    async fn what_is_closed_can_be_opened_again_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let conf = Configuration::default().with("ozone.scm.db.dirs", dir.path().display());
        let options = ScmOptions::from_configuration(&conf).unwrap();
        let open = async || {
            let cluster = Arc::new(Mutex::new(Cluster::new(options.settings.clone())));
            State::open(&options, cluster, 1).await.unwrap()
        };
        let state = open().await;
        let used = state.store().clone();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(used);
        });
        state.close().await;
        open().await.close().await;
        reader.join().unwrap();
    }

    /// On one thread: no other task runs between the failure and the next bind.
    #[tokio::test]
    async fn a_first_start_that_fails_lets_go_of_its_port() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("scm.db"), "no directory").unwrap();
        let port = testkit::free_ports(1)[0];
        let conf = Configuration::default()
            .with("ozone.scm.service.ids", "s")
            .with("ozone.scm.nodes.s", "scm1")
            .with("ozone.scm.address.s.scm1", "127.0.0.1")
            .with("ozone.scm.block.client.port.s.scm1", port)
            .with("ozone.scm.db.dirs", dir.path().display());
        let options = ScmOptions::from_configuration(&conf).unwrap();
        let cluster = Arc::new(Mutex::new(Cluster::new(options.settings.clone())));
        let error = State::open(&options, cluster, 1).await.err().unwrap();
        let free = std::net::TcpListener::bind(("127.0.0.1", port));
        assert!(matches!(error, ScmError::Store(_)), "{error}");
        free.unwrap();
    }
}
