//! Starting SCM: directory, store, Raft group, services, doors.

use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

use config::keys::scm as keys;
use config::{Configuration, HostPort};
use framed::{Guest, Server, ServerOptions};
use futures::future::BoxFuture;
use metastore::{Store, StoreOptions};
use multiraft::transport::framed::{Door as RaftDoor, FramedTransport};
use multiraft::transport::{Frame, Target, Transport, TransportError};
use multiraft::{
    Group, GroupConfig, HostOptions, LogHandle, LogOptions, Peer, RaftHost, TrimOptions,
};
use parking_lot::Mutex;
use placement::Cluster;
use service::{
    BackgroundServices, BindError, DataDir, Expected, MetricsRegistry, Role, Shutdown,
    StatusServer, VersionFile,
};
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::clock::Clock;
use crate::core::{Core, Identity, Parts};
use crate::door::{Door, HadoopDoor, METHODS};
use crate::error::ScmError;
use crate::first_start::Told;
use crate::handle::{Doors, ScmAddresses, ScmHandle};
use crate::machine::{self, ScmMachine};
use crate::members::Member;
use crate::metrics::Metrics;
use crate::options::ScmOptions;
use crate::status::Status;
use crate::{first_start, reign, service as services, tables};

/// The layout that this release writes, as Ozone counts them (`STORAGE_SPACE_DISTRIBUTION`).
const LAYOUT_VERSION: u32 = 10;

/// Size of a Raft log file: SCM's entries are small and few.
const LOG_FILE: u64 = 8 << 20;

/// Where, below its directory, SCM's identity is.
const HOME: &str = "scm";
const VERSION_PATH: &str = "current/VERSION";

/// Storage Container Manager.
pub struct Scm;

impl Scm {
    /// Starts SCM, initialising its directory at the first start. Returns when it serves; it may be in safe mode then.
    ///
    /// # Errors
    /// When the directory is in use, another cluster's, damaged or of a newer layout, or a port cannot be had.
    pub async fn start(conf: &Configuration) -> Result<ScmHandle, ScmError> {
        Self::start_with(ScmOptions::from_configuration(conf)?).await
    }

    /// Like [`Scm::start`], with options made elsewhere.
    ///
    /// # Errors
    /// As [`Scm::start`].
    pub async fn start_with(options: ScmOptions) -> Result<ScmHandle, ScmError> {
        let clock = Clock::new();
        let cluster = Arc::new(Mutex::new(Cluster::new(options.settings.clone())));
        let joins = match &options.members {
            Some(members) if !is_formatted(&options)? => {
                Some(first_start::ask(members, options.bootstrap).await?)
            }
            _ => None,
        };
        let blocking = {
            let (options, cluster) = (options.clone(), cluster.clone());
            tokio::task::spawn_blocking(move || State::open(&options, cluster, clock.now(), joins))
        };
        let state = blocking.await.map_err(|e| ScmError::Interrupted(e.to_string()))??;
        if options.members.is_none() {
            lead(&state.group).await?;
        }
        {
            let mut cluster = cluster.lock();
            cluster.begin_safe_mode();
            if options.members.is_none() {
                cluster.note_state_machine_ready();
            }
        }

        let registry = MetricsRegistry::new(Role::new("scm", state.scm_id.to_string()));
        let shutdown = Shutdown::new();
        let identity = Identity {
            cluster_id: state.cluster_id.clone(),
            scm_id: state.scm_id,
            host: options.client_address.connect().host,
            ip: resolve(&options.client_address.connect()),
            port: options.client_address.port,
            members: options.members.clone(),
        };
        let core = Core::new(Parts {
            metrics: Metrics::new(&registry, &cluster),
            services: BackgroundServices::new(&registry, shutdown.clone()),
            cluster,
            group: state.group.clone(),
            identity,
            clock,
            shutdown,
            options,
        });
        match open_doors(&core, &state.host, registry).await {
            Ok((doors, status, addresses)) => {
                services::spawn(&core);
                if core.is_shared() {
                    reign::watch(&core);
                    reign::watch_members(&core);
                }
                core.try_leave_safe_mode();
                tracing::info!(
                    cluster = %core.identity.cluster_id, scm = %core.identity.scm_id, client = %addresses.client,
                    block = %addresses.block, datanode = %addresses.datanode, "SCM serves"
                );
                Ok(ScmHandle::new(core, state, doors, status, addresses))
            }
            Err(error) => {
                core.shutdown.trigger();
                state.close().await;
                Err(error)
            }
        }
    }
}

/// What is on disk, and what drives it.
pub struct State {
    pub cluster_id: String,
    pub scm_id: Uuid,
    pub group: Group,
    host: RaftHost,
    log: LogHandle,
    store: Store,
    // Holds the lock on the directory.
    _dir: DataDir,
}

impl State {
    /// Opens everything. Blocks on the disk.
    fn open(
        options: &ScmOptions,
        cluster: Arc<Mutex<Cluster>>,
        now: u64,
        told: Option<Told>,
    ) -> Result<Self, ScmError> {
        let my_id = options.members.as_ref().map(|members| members.me.scm_id);
        let expected =
            Expected { node_type: Some("SCM"), cluster_id: None, layout_version: LAYOUT_VERSION };
        let (dir, version, fresh) =
            DataDir::open_or_format(options.dir.join(HOME), VERSION_PATH, &expected, || {
                let known = told.as_ref().map(|told| told.cluster_id.clone());
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
        let log_options = LogOptions { file_size: LOG_FILE, ..LogOptions::default() };
        let log = host.open_log(&options.raft_dir, log_options)?;
        let peers = match &options.members {
            None => vec![Peer { node: scm_id, address: String::new(), priority: 0 }],
            Some(members) => members.all().iter().map(peer).collect(),
        };
        let group_config = GroupConfig {
            trim: TrimOptions {
                entries: options.trim_entries,
                keep: options.trim_entries / 10,
                ..TrimOptions::default()
            },
            joined: told.and_then(|told| told.membership),
            ..GroupConfig::new(group_id(&cluster_id), scm_id, peers, log.clone())
        };
        let machine = ScmMachine::new(cluster, store.clone(), applied);
        let group = host.start_group(group_config, Box::new(machine))?;
        Ok(Self { cluster_id, scm_id, group, host, log, store, _dir: dir })
    }

    /// Stops the group, makes the tables durable and lets go of the directory.
    pub async fn close(self) {
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

fn peer(member: &Member) -> Peer {
    let address = member.node.raft.connect().to_string();
    Peer { node: member.scm_id, address, priority: 0 }
}

/// Whether the directory is an SCM's already.
fn is_formatted(options: &ScmOptions) -> Result<bool, ScmError> {
    Ok(VersionFile::read(&options.dir.join(HOME).join(VERSION_PATH))?.is_some())
}

/// Waits until this SCM leads its group of one and has replayed its log.
async fn lead(group: &Group) -> Result<(), ScmError> {
    let mut changes = group.leader_changes();
    let ready = changes.wait_for(|leader| leader.ready).await;
    ready.map(drop).map_err(|_| ScmError::Interrupted("the raft group ended".to_owned()))
}

/// The group's id: that of the cluster, as in Ozone.
fn group_id(cluster_id: &str) -> Uuid {
    let text = cluster_id.strip_prefix("CID-").unwrap_or(cluster_id);
    text.parse().unwrap_or_else(|_| Uuid::new_v3(&Uuid::NAMESPACE_OID, cluster_id.as_bytes()))
}

async fn open_doors(
    core: &Arc<Core>,
    host: &RaftHost,
    registry: MetricsRegistry,
) -> Result<(Doors, Option<StatusServer>, ScmAddresses), ScmError> {
    let door = Arc::new(Door::new(core.clone()));
    let bind = async |key: &'static str, address: &HostPort, guest: Option<Arc<dyn Guest>>| {
        let bound = TcpListener::bind(address.to_string()).await.and_then(|listener| {
            Server::serve_with_guest(listener, door.clone(), guest, ServerOptions::default())
        });
        bound.map_err(|e| BindError::new(key, address, e))
    };
    let options = &core.options;
    let raft = match &options.members {
        None => None,
        Some(members) => {
            // On all addresses where the other doors are.
            let key = keys::OZONE_SCM_RATIS_PORT.name();
            let bound_to = &options.datanode_address.host;
            let address = HostPort::new(bound_to.clone(), members.me.node.raft.port);
            let served = TcpListener::bind(address.to_string()).await.and_then(|listener| {
                Server::serve(
                    listener,
                    RaftDoor::new(host.clone(), METHODS),
                    ServerOptions::default(),
                )
            });
            Some(served.map_err(|e| BindError::new(key, &address, e))?)
        }
    };
    let hadoop = HadoopDoor::serve(core.clone());
    let guest = Some(Arc::new(hadoop.clone()) as _);
    let key = keys::OZONE_SCM_CLIENT_ADDRESS.name();
    let client = bind(key, &options.client_address, guest).await?;
    let key = keys::OZONE_SCM_BLOCK_CLIENT_ADDRESS.name();
    let block = bind(key, &options.block_address, None).await?;
    let key = keys::OZONE_SCM_DATANODE_ADDRESS.name();
    let datanode = bind(key, &options.datanode_address, None).await?;
    let mut addresses = ScmAddresses {
        client: client.local_addr(),
        block: block.local_addr(),
        datanode: datanode.local_addr(),
        http: None,
    };
    let status = match &options.http_address {
        None => None,
        Some(address) => {
            let page = Arc::new(Status::new(core.clone(), addresses));
            let started = StatusServer::start(&address.to_string(), registry, page).await;
            let key = keys::OZONE_SCM_HTTP_ADDRESS.name();
            let server = started.map_err(|e| BindError::new(key, address, e))?;
            addresses.http = Some(server.local_addr());
            Some(server)
        }
    };
    Ok((Doors { framed: vec![client, block, datanode], raft, hadoop }, status, addresses))
}

/// The IP address of a host, or what the host says of itself when it has none.
pub fn resolve(address: &HostPort) -> String {
    let found =
        (address.host.as_str(), address.port).to_socket_addrs().ok().and_then(|mut a| a.next());
    found.map_or_else(|| address.host.clone(), |a| a.ip().to_string())
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
