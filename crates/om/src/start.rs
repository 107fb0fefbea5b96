//! Starting an OM, from its directory to its endpoints.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use config::keys::om as keys;
use config::{Configuration, HostPort};
use framed::{Server, ServerOptions};
use futures::future::LocalBoxFuture;
use limits::Connections;
use multiraft::RaftHost;
use multiraft::framed::RaftEndpoint;
use replicated::METHODS;
use service::{
    Ages, AuditLog, BackgroundServices, BindError, GroupSettings, Groups, MetricsRegistry, Role,
    RpcMetrics, Shutdown, StageMetrics, StatusServer, own_user,
};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use topology::Racks;

use crate::background::{
    CompactionService, DeletedRows, DirectoryDeletingService, KeyDeletingService,
    MultipartUploadCleanupService, OpenKeyCleanupService, RangeCompactionService,
    SnapshotDeletingService, TombstoneService, TrashEmptier, WhileLeading,
};
use crate::background::{prepared, pressure};
use crate::dispatch::{Admission, Dispatcher, DispatcherParts, STAGES, ServerFacts};
use crate::error::Error;
use crate::handle::{Addresses, Endpoints, OmHandle, Running, TriggerOnDrop};
use crate::identity::{Identity, check_cluster};
use crate::members::Members;
use crate::raft::{LEADERSHIP_TIMEOUT, State};
use crate::rpc::{FramedHandler, HadoopService, grpc};
use crate::scm::{BlockPool, Locations, ScmClient};
use crate::settings::{OmOptions, Setup};
use crate::state::MachineEvents;
use crate::state::compaction::OmCompactor;
use crate::status::OmPage;
use crate::{background, checkpoint, first_start, leadership, metrics};

/// Delay during which rows gather in the deletedTable before SCM receives them.
const DELETION_BATCH_DELAY: Duration = Duration::from_millis(500);

/// Bytes of updates in one answer, whatever is configured: a client of Hadoop RPC takes 128 MB.
const MOST_UPDATE_BYTES: usize = 32 << 20;

/// The Ozone Manager.
#[derive(Debug)]
pub struct Om;

impl Om {
    /// Starts an OM. When this returns its endpoints are open; a single OM then leads and has its
    /// initial state, one of several waits for the others to elect a leader.
    ///
    /// # Errors
    /// When its directory cannot be used, belongs to another cluster, is damaged, or an endpoint
    /// cannot be opened.
    pub fn start(
        conf: &Configuration,
        options: OmOptions,
    ) -> LocalBoxFuture<'_, Result<OmHandle, Error>> {
        Box::pin(Self::begin(conf, options))
    }

    async fn begin(conf: &Configuration, options: OmOptions) -> Result<OmHandle, Error> {
        let setup = Setup::read(conf)?;
        let racks = Racks::from_configuration(conf)?;
        let user = own_user();
        let scm = ScmClient::new(setup.scm.clone(), setup.scm_timeout, user);
        let identity = Identity::open(&setup, &options, &scm).await?;
        let state = State::open(&setup, &identity, options.bootstrap).await?;
        let raft = state.service.handle().clone();
        let mut listeners = Listeners::bind(&setup).await?;

        let shutdown = Shutdown::new();
        let registry = MetricsRegistry::new(Role::new("om", &setup.members.me.node_id));
        let rpc = RpcMetrics::new(&registry, "rpc");
        let help = "Time of requests and of their stages";
        let stages = StageMetrics::new(&registry, "request_stage_seconds", help, &STAGES);
        let audit = match &setup.audit {
            Some(options) => {
                let fail = |e| Error::io(&options.path, e);
                AuditLog::open(options.clone()).map_err(fail)?
            }
            None => AuditLog::disabled(),
        };
        let locations = Locations::new(scm.clone(), racks);
        let groups = Groups::new(&GroupSettings::from_configuration(conf));
        // Requests without a user are taken to be from the one that OM runs as.
        let default_user = own_user();
        let mut settings = setup.settings.clone();
        settings.authorization.admins.users.push(default_user.clone());
        let compactor = OmCompactor::new(setup.compaction.clone(), &setup.dir.join("om"));
        let parts = DispatcherParts {
            current: Arc::clone(&state.current),
            group: raft.group().clone(),
            raft: raft.clone(),
            prepared: state.events.prepared.subscribe(),
            pool: BlockPool::new(scm.clone(), Arc::clone(&locations), setup.pool.clone()),
            scm: scm.clone(),
            locations,
            settings,
            local_reads: setup.local_reads,
            updates_bytes: setup.delta_update_size.as_usize().min(MOST_UPDATE_BYTES),
            audit,
            audit_reads: setup.audit_reads,
            rpc: rpc.clone(),
            stages: stages.clone(),
            edge: telemetry::Edge::new("om", setup.slow_request),
            admission: Admission::new(&setup.limits),
            facts: listeners.facts(&setup),
            compactor: Arc::new(compactor),
            deletion_ages: Ages::default(),
            keep_deleted: setup.keep_deleted,
            default_user,
            groups,
            root_access_key: OnceLock::new(),
        };
        let dispatcher = Dispatcher::new(parts, setup.snapshot_diffs.clone());
        let given = options.root_credentials;
        let raft_server = match listeners.open_raft(&setup, state.service.host())? {
            None => {
                raft.lead(LEADERSHIP_TIMEOUT).await?;
                first_start::prepare(&dispatcher, given).await?;
                None
            }
            server => {
                let shared = first_start::shared_access_key(&identity.cluster_id);
                let access_key = given.as_ref().map_or(shared, |g| g.access_key.clone());
                // Set once: an OM is either alone or not.
                let _ = dispatcher.parts().root_access_key.set(access_key.clone());
                leadership::watch(&dispatcher, given, access_key, &shutdown);
                raft.watch_members(setup.members.clone(), &shutdown);
                server
            }
        };

        metrics::register(&registry, &dispatcher, &state.events);
        dispatcher.parts().compactor.register(&registry);
        state.service.export_metrics(&registry);
        let background = start_background(&setup, &dispatcher, &state.events, &registry, &shutdown);
        let page = OmPage {
            dispatcher: Arc::downgrade(&dispatcher),
            rpc,
            stages,
            background: background.clone(),
            facts: listeners.page_facts(&setup, &identity),
            node_id: setup.members.me.node_id.clone(),
            supervisor: Arc::clone(raft.supervisor()),
            log: state.service.log().clone(),
        };
        let http = match &setup.http {
            None => None,
            Some(address) => {
                let bound = address.to_string();
                let page = Arc::new(page);
                let routes = checkpoint::routes(checkpoint::CheckpointRoutes {
                    dispatcher: Arc::downgrade(&dispatcher),
                    dir: setup.dir.clone(),
                    rate: setup.checkpoint_rate,
                    stall: setup.stall,
                });
                let registry = registry.clone();
                let started = StatusServer::start_with(&bound, registry, page, conf, routes).await;
                let key = keys::OZONE_OM_HTTP_ADDRESS.name();
                Some(started.map_err(|e| BindError::new(key, &bound, e))?)
            }
        };
        if let Some(http) = &http {
            // Set once: this is the only place that does.
            let _ = dispatcher.parts().facts.http_port.set(http.local_addr().port());
        }
        prepared::watch(&dispatcher, &shutdown);
        pressure::watch(&dispatcher, &shutdown);
        raft.stop_when_failed("OM", &shutdown);
        watch_scms(&setup, scm, &identity.cluster_id, &shutdown);
        let addresses = Addresses {
            framed: listeners.framed_address,
            grpc: listeners.grpc.as_ref().map(|(_, address)| *address),
            http: http.as_ref().map(StatusServer::local_addr),
        };
        let endpoints = listeners.open(&setup, &dispatcher, &background, raft_server, &shutdown)?;
        metrics::register_hadoop(&registry, &endpoints.hadoop);
        registry.connections("rpc", endpoints.framed.connections());
        registry.connections("grpc", &endpoints.grpc_connections);
        if let Some(raft) = &endpoints.raft {
            registry.connections("raft", raft.connections());
        }
        tracing::info!(
            node = setup.members.me.node_id,
            cluster = identity.cluster_id,
            address = %addresses.framed,
            grpc = ?addresses.grpc,
            "OM started"
        );
        Ok(OmHandle::new(Running {
            addresses,
            registry,
            background,
            dispatcher,
            endpoints,
            http,
            stop: TriggerOnDrop(shutdown),
            service: state.service,
            identity,
        }))
    }
}

/// The endpoints' sockets, bound before their ports are passed on.
struct Listeners {
    framed: TcpListener,
    framed_address: SocketAddr,
    grpc: Option<(TcpListener, SocketAddr)>,
    /// For the other OMs, where there are any.
    raft: Option<TcpListener>,
}

impl Listeners {
    async fn bind(setup: &Setup) -> Result<Self, Error> {
        let (framed, framed_address) =
            listen(&setup.address, keys::OZONE_OM_ADDRESS.name()).await?;
        let grpc = match setup.grpc_port {
            Some(port) => {
                let host = HostPort::new(setup.address.host.clone(), port);
                Some(listen(&host, keys::OZONE_OM_GRPC_PORT.name()).await?)
            }
            None => None,
        };
        let raft = match &setup.members {
            Members { shared: true, me, .. } => {
                Some(listen(&me.raft, keys::OZONE_OM_RATIS_PORT.name()).await?.0)
            }
            _ => None,
        };
        Ok(Self { framed, framed_address, grpc, raft })
    }

    /// Opens the endpoint of the other OMs.
    fn open_raft(&mut self, setup: &Setup, host: &RaftHost) -> Result<Option<Server>, Error> {
        let Some(listener) = self.raft.take() else { return Ok(None) };
        let at = listener.local_addr();
        let served = Server::serve(
            listener,
            RaftEndpoint::new(host.clone(), METHODS),
            server_options(setup),
        );
        let fail = |e| BindError::new(keys::OZONE_OM_RATIS_PORT.name(), format!("{at:?}"), e);
        served.map(Some).map_err(|e| fail(e).into())
    }

    fn facts(&self, setup: &Setup) -> ServerFacts {
        ServerFacts {
            members: setup.members.clone(),
            rpc_port: self.framed_address.port(),
            http_port: OnceLock::new(),
            scm_host: setup.scm_client.host.clone(),
            scm_port: setup.scm_client.port,
        }
    }

    fn page_facts(&self, setup: &Setup, identity: &Identity) -> Vec<(String, String)> {
        let grpc = match &self.grpc {
            Some((_, address)) => address.to_string(),
            None => "off".to_owned(),
        };
        [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("cluster id", identity.cluster_id.clone()),
            ("OM id", identity.om_uuid.clone()),
            ("service id", setup.members.service_id.clone()),
            ("address", self.framed_address.to_string()),
            ("gRPC address", grpc),
            ("SCM", setup.scm_client.to_string()),
            ("directory", setup.dir.display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// Opens the endpoints of clients.
    fn open(
        self,
        setup: &Setup,
        dispatcher: &Arc<Dispatcher>,
        background: &BackgroundServices,
        raft: Option<Server>,
        shutdown: &Shutdown,
    ) -> Result<Endpoints, Error> {
        let handler = FramedHandler::new(Arc::clone(dispatcher), background.clone());
        let hadoop = HadoopService::serve(Arc::clone(dispatcher));
        let foreign = Some(Arc::new(hadoop.clone()) as _);
        let framed =
            Server::serve_with_foreign(self.framed, handler, foreign, server_options(setup));
        let key = keys::OZONE_OM_ADDRESS.name();
        let framed = framed.map_err(|e| BindError::new(key, self.framed_address, e))?;
        let (dispatcher, stop, max) =
            (Arc::clone(dispatcher), shutdown.clone(), setup.grpc_max_message);
        let grpc_connections = Connections::new(&setup.connections);
        let (limits, connections) = (setup.connections.clone(), grpc_connections.clone());
        let grpc = self.grpc.map(|(listener, _)| {
            tokio::spawn(async move {
                let stopped = async move { stop.cancelled().await };
                let incoming = service::grpc::incoming(listener, connections, limits);
                if let Err(e) = grpc::serve(incoming, dispatcher, max, stopped).await {
                    tracing::error!("gRPC endpoint failed: {e}");
                }
            })
        });
        Ok(Endpoints { framed, hadoop, grpc, grpc_connections, raft })
    }
}

fn server_options(setup: &Setup) -> ServerOptions {
    ServerOptions { connections: setup.connections.clone(), ..ServerOptions::default() }
}

async fn listen(address: &HostPort, key: &'static str) -> Result<(TcpListener, SocketAddr), Error> {
    let text = address.to_string();
    let listener = TcpListener::bind(&text).await.map_err(|e| BindError::new(key, &text, e))?;
    let bound = listener.local_addr().map_err(|e| BindError::new(key, &text, e))?;
    Ok((listener, bound))
}

fn start_background(
    setup: &Setup,
    dispatcher: &Arc<Dispatcher>,
    events: &Arc<MachineEvents>,
    registry: &MetricsRegistry,
    shutdown: &Shutdown,
) -> BackgroundServices {
    let services = BackgroundServices::new(registry, shutdown.clone());
    let deleted_rows = DeletedRows::default();
    let (options, rows) = (setup.key_deleting.clone(), Arc::clone(&deleted_rows));
    let keys = KeyDeletingService::new(Arc::clone(dispatcher), options, rows);
    services.spawn(WhileLeading::new(dispatcher, keys));
    let options = setup.directory_deleting.clone();
    let directories = DirectoryDeletingService::new(Arc::clone(dispatcher), options);
    services.spawn(WhileLeading::new(dispatcher, directories));
    let options = setup.snapshot_deleting.clone();
    let snapshots = SnapshotDeletingService::new(Arc::clone(dispatcher), options, deleted_rows);
    services.spawn(WhileLeading::new(dispatcher, snapshots));
    let (options, lease) = (setup.open_keys.clone(), setup.lease_hard_limit);
    let open_keys = OpenKeyCleanupService::new(Arc::clone(dispatcher), options, lease);
    services.spawn(WhileLeading::new(dispatcher, open_keys));
    let options = setup.uploads.clone();
    let uploads = MultipartUploadCleanupService::new(Arc::clone(dispatcher), options);
    services.spawn(WhileLeading::new(dispatcher, uploads));
    if let Some(options) = setup.trash.clone() {
        let trash = TrashEmptier::new(Arc::clone(dispatcher), options, registry);
        services.spawn(WhileLeading::new(dispatcher, trash));
    }
    services.spawn(TombstoneService::new(Arc::clone(dispatcher)));
    let compactor = Arc::clone(&dispatcher.parts().compactor);
    services.spawn(RangeCompactionService::new(Arc::clone(dispatcher), compactor));
    if let Some(options) = setup.full_compaction.clone() {
        services.spawn(CompactionService::new(Arc::clone(dispatcher), options));
    }
    // Deletions wake the service, but not one by one: keys deleted together are handed over
    // together.
    let keys: Wake = (|events| &events.deleted, background::KEY_DELETING);
    let directories: Wake = (|events| &events.deleted_directories, background::DIRECTORY_DELETING);
    let snapshots: Wake = (|events| &events.snapshots, background::SNAPSHOT_DELETING);
    for (event, service) in [keys, directories, snapshots] {
        let (woken, events, stop) = (services.clone(), Arc::clone(events), shutdown.clone());
        tokio::spawn(async move {
            let wake = async {
                loop {
                    event(&events).notified().await;
                    tokio::time::sleep(DELETION_BATCH_DELAY).await;
                    woken.wake(service);
                }
            };
            stop.until::<_>(wake).await;
        });
    }
    services
}

/// Event that wakes a service.
type Wake = (fn(&MachineEvents) -> &Notify, &'static str);

/// An OM that started without SCM repeats its request until it has checked that SCM is of its
/// cluster; one of another cluster would be given our blocks to delete, so OM must then stop.
///
/// It also requests the addresses of the SCMs of a service at intervals.
fn watch_scms(setup: &Setup, scm: ScmClient, cluster_id: &str, shutdown: &Shutdown) {
    let (setup, expected, stop) = (setup.clone(), cluster_id.to_owned(), shutdown.clone());
    tokio::spawn(async move {
        let watch = async {
            let mut checked = false;
            loop {
                let asked = scm.info(Duration::from_secs(2)).await;
                if let (Ok(info), false) = (&asked, checked) {
                    check_cluster(&setup, info, &expected)?;
                    checked = true;
                }
                let pause = match setup.scm_refresh {
                    // Without a service no other OM can report one.
                    None if checked => return Ok::<_, Error>(()),
                    Some(refresh) if asked.is_ok() => refresh,
                    _ => Duration::from_secs(1),
                };
                tokio::time::sleep(pause).await;
            }
        };
        if let Some(Err(foreign)) = stop.until(watch).await {
            tracing::error!("OM stops: {foreign}");
            stop.trigger();
        }
    });
}
