//! What SCM keeps and what drives it: directory, tables, Raft log and group, opened and brought
//! together.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use metastore::{Store, StoreOptions};
use multiraft::transport::framed::FramedTransport;
use multiraft::transport::{Frame, Target, Transport, TransportError};
use multiraft::{
    Group, GroupConfig, HostOptions, LogHandle, LogOptions, LogPosition, Membership, Peer,
    RaftHost, RestartPolicy, StateMachine, Supervisor, TrimOptions,
};
use parking_lot::Mutex;
use placement::Cluster;
use service::{DataDir, Expected, JoinNote, VersionFile};
use uuid::Uuid;

use crate::error::ScmError;
use crate::machine::{self, ScmMachine};
use crate::members::Member;
use crate::options::ScmOptions;
use crate::rpc::METHODS;
use crate::{first_start, tables};

/// The layout that this release writes, as Ozone counts them (`STORAGE_SPACE_DISTRIBUTION`).
const LAYOUT_VERSION: u32 = 10;

/// Size of a Raft log file: SCM's entries are small and few.
const LOG_FILE: u64 = 8 << 20;

/// Where, below its directory, SCM's identity is.
const HOME: &str = "scm";
const VERSION_PATH: &str = "current/VERSION";

/// What is on disk, and what drives it.
pub struct State {
    pub cluster_id: String,
    pub scm_id: Uuid,
    pub group: Group,
    /// Starts the group again when it fails.
    pub supervisor: Arc<Supervisor>,
    pub host: RaftHost,
    pub log: LogHandle,
    store: Store,
    // Holds the lock on the directory.
    _dir: DataDir,
}

impl State {
    /// Opens directory, tables and log, finds out the members of the service when the log does not
    /// say, and starts the group.
    ///
    /// # Errors
    /// When something cannot be opened, or the service does not let this SCM in.
    pub async fn open(
        options: &ScmOptions,
        cluster: Arc<Mutex<Cluster>>,
        now: u64,
    ) -> Result<Self, ScmError> {
        let told = match &options.members {
            Some(members) if !is_formatted(options)? => {
                Some(first_start::cluster(members, options.bootstrap).await?)
            }
            _ => None,
        };
        let (known, told) = match told {
            Some((cluster_id, membership)) => (Some(cluster_id), Some(membership)),
            None => (None, None),
        };
        let disk = {
            let (options, cluster) = (options.clone(), cluster.clone());
            blocking(move || Disk::open(&options, &cluster, now, known)).await?
        };
        match begin(options, &disk, cluster, told).await {
            Ok((group, supervisor)) => Ok(Self {
                cluster_id: disk.cluster_id,
                scm_id: disk.scm_id,
                group,
                supervisor,
                host: disk.host,
                log: disk.log,
                store: disk.store,
                _dir: disk.dir,
            }),
            Err(error) => {
                // The next start finds the directory at rest.
                disk.host.shutdown().await;
                blocking(move || {
                    disk.log.close();
                    Ok(())
                })
                .await?;
                Err(error)
            }
        }
    }

    /// Stops the group, makes the tables durable and lets go of the directory.
    pub async fn close(self) {
        self.supervisor.end().await;
        self.host.shutdown().await;
        let closed = tokio::task::spawn_blocking(move || {
            if let Err(error) = self.store.flush() {
                // Nothing is lost: the Raft log has it.
                tracing::warn!(%error, "scm.db was not flushed");
            }
            self.log.close();
        });
        if let Err(error) = closed.await {
            tracing::error!(%error, "SCM was not closed properly");
        }
    }
}

/// What is on disk, before the group runs.
struct Disk {
    cluster_id: String,
    scm_id: Uuid,
    applied: LogPosition,
    host: RaftHost,
    log: LogHandle,
    store: Store,
    dir: DataDir,
}

impl Disk {
    /// Opens everything but the group; `known` is the cluster of a directory that is new. Blocks on
    /// the disk.
    fn open(
        options: &ScmOptions,
        cluster: &Mutex<Cluster>,
        now: u64,
        known: Option<String>,
    ) -> Result<Self, ScmError> {
        let my_id = options.members.as_ref().map(|members| members.me.scm_id);
        let expected =
            Expected { node_type: Some("SCM"), cluster_id: None, layout_version: LAYOUT_VERSION };
        let (dir, version, fresh) =
            DataDir::open_or_format(options.dir.join(HOME), VERSION_PATH, &expected, || {
                let cluster_id = known.unwrap_or_else(|| format!("CID-{}", Uuid::new_v4()));
                VersionFile::new("SCM", &cluster_id, now, LAYOUT_VERSION)
                    .with("scmUuid", my_id.unwrap_or_else(Uuid::new_v4))
                    .with("scmHA", true)
            })?;
        let property = |name: &'static str| {
            version.get(name).map(str::to_owned).ok_or_else(|| service::DataDirError::Malformed {
                path: options.dir.join("scm/current/VERSION"),
                reason: format!("{name} is missing"),
            })
        };
        let cluster_id = property("clusterID")?;
        let scm_id = property("scmUuid")?;
        let scm_id: Uuid = scm_id.parse().map_err(|_| service::DataDirError::Malformed {
            path: options.dir.join("scm/current/VERSION"),
            reason: format!("scmUuid {scm_id} is not a uuid"),
        })?;
        if let Some(expected) = my_id.filter(|id| *id != scm_id) {
            return Err(ScmError::AnotherScm {
                dir: options.dir.display().to_string(),
                found: scm_id.to_string(),
                expected: expected.to_string(),
            });
        }
        if fresh {
            tracing::info!(dir = %options.dir.display(), cluster_id, %scm_id, "new cluster");
        }
        let store_options = StoreOptions {
            block_cache_bytes: options.cache_bytes as usize,
            ..StoreOptions::default()
        };
        let store = Store::open(&options.dir.join("scm.db"), &tables::ALL, &store_options)?;
        let applied = machine::load(&store, &mut cluster.lock())?;

        let host_options = match &options.members {
            None => HostOptions {
                // A group of one needs no clock to speak of; proposals wake the loop by themselves.
                tick: Duration::from_millis(100),
                entry_cache_bytes: 1 << 20,
                ..HostOptions::new(scm_id)
            },
            Some(_) => HostOptions {
                election_timeout: options.election_timeout,
                heartbeat: options.election_timeout / 5,
                ..HostOptions::new(scm_id)
            },
        };
        let transport: Arc<dyn Transport> = match &options.members {
            None => Arc::new(Alone),
            Some(_) => FramedTransport::new(METHODS, host_options.request_timeout),
        };
        let host = RaftHost::start(host_options, transport)?;
        // With the tables: a log that is lost alone is missed there.
        let manifest = Some(options.dir.join(HOME).join("raft-log.manifest"));
        let log_options = LogOptions { file_size: LOG_FILE, manifest, ..LogOptions::default() };
        let log = host.open_log(&options.raft_dir, log_options)?;
        Ok(Self { cluster_id, scm_id, applied, host, log, store, dir })
    }
}

/// Starts the group, with the members that the log knows, or that the others tell.
async fn begin(
    options: &ScmOptions,
    disk: &Disk,
    cluster: Arc<Mutex<Cluster>>,
    told: Option<Option<Membership>>,
) -> Result<(Group, Arc<Supervisor>), ScmError> {
    let id = group_id(&disk.cluster_id);
    let note = JoinNote::below(disk.dir.path());
    let joined = match (&options.members, told) {
        (None, _) => None,
        _ if disk.log.holds(id) => None,
        (Some(_), Some(told)) if told.is_some() || !options.bootstrap => told,
        (Some(members), _) => {
            let cluster_id = &disk.cluster_id;
            first_start::membership(members, cluster_id, &note, options.bootstrap).await?
        }
    };
    let peers = match &options.members {
        None => vec![Peer { node: disk.scm_id, address: String::new(), priority: 0 }],
        Some(members) => members.all().iter().map(peer).collect(),
    };
    let config = GroupConfig {
        trim: TrimOptions {
            entries: options.trim_entries,
            keep: options.trim_entries / 10,
            ..TrimOptions::default()
        },
        joined,
        ..GroupConfig::new(id, disk.scm_id, peers, disk.log.clone())
    };
    let (host, log) = (disk.host.clone(), disk.log.clone());
    let machine = ScmMachine::new(cluster.clone(), disk.store.clone(), disk.applied);
    let group = blocking(move || Ok(host.start_group(config, Box::new(machine))?)).await?;
    // The log says from now on which SCMs are members.
    log.settled().await?;
    note.remove()?;
    let store = disk.store.clone();
    // What a round that failed has changed in memory goes; the tables have what was applied.
    let again = move || {
        let machine = ScmMachine::reload(cluster.clone(), store.clone())?;
        Ok(Box::new(machine) as Box<dyn StateMachine>)
    };
    let supervisor = Arc::new(disk.host.supervise(&group, RestartPolicy::default(), again));
    Ok((group, supervisor))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ScmError> + Send + 'static,
) -> Result<T, ScmError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| ScmError::Interrupted(e.to_string()))?
}

fn peer(member: &Member) -> Peer {
    let address = member.node.raft.connect().to_string();
    Peer { node: member.scm_id, address, priority: 0 }
}

/// Whether the directory is an SCM's already.
fn is_formatted(options: &ScmOptions) -> Result<bool, ScmError> {
    Ok(VersionFile::read(&options.dir.join(HOME).join(VERSION_PATH))?.is_some())
}

/// The group's id: that of the cluster, as in Ozone.
fn group_id(cluster_id: &str) -> Uuid {
    let text = cluster_id.strip_prefix("CID-").unwrap_or(cluster_id);
    text.parse().unwrap_or_else(|_| Uuid::new_v3(&Uuid::NAMESPACE_OID, cluster_id.as_bytes()))
}

/// The transport of a group of one: there is nobody to send to.
struct Alone;

impl Transport for Alone {
    fn send(&self, to: &Target, _: Frame) {
        tracing::error!(node = %to.node, "a group of one has a message for somebody");
    }

    fn send_snapshot(
        &self,
        to: &Target,
        _: Frame,
    ) -> BoxFuture<'static, Result<u64, TransportError>> {
        Box::pin(std::future::ready(Err(nobody(to))))
    }

    fn fetch_payload(
        &self,
        to: &Target,
        _: bytes::Bytes,
    ) -> BoxFuture<'static, Result<bytes::Bytes, TransportError>> {
        Box::pin(std::future::ready(Err(nobody(to))))
    }
}

fn nobody(to: &Target) -> TransportError {
    TransportError::Unreachable {
        address: to.address.clone(),
        detail: "SCM is a group of one".to_owned(),
    }
}
