//! Starting SCM: its state, services, endpoints.

use std::sync::Arc;
use std::time::Duration;

use config::keys::scm as keys;
use config::{Configuration, HostPort};
use framed::{ForeignProtocol, Server, ServerOptions};
use futures::future::LocalBoxFuture;
use multiraft::framed::RaftEndpoint;
use parking_lot::Mutex;
use placement::Cluster;
use replicated::METHODS;
use service::{BackgroundServices, BindError, MetricsRegistry, Role, Shutdown, StatusServer};
use tokio::net::TcpListener;

use crate::core::clock::Clock;
use crate::core::{Core, Identity, Parts};
use crate::error::ScmError;
use crate::handle::{Endpoints, ScmAddresses, ScmHandle};
use crate::metrics::Metrics;
use crate::raft::State;
use crate::resolve::resolve;
use crate::rpc::{HadoopService, RpcHandler};
use crate::settings::ScmOptions;
use crate::status::Status;
use crate::{background, leadership};

/// Time limit for a single SCM to become the leader; replay of a long log takes most of it.
const LEADERSHIP_TIMEOUT: Duration = Duration::from_secs(120);

/// Storage Container Manager.
pub struct Scm;

impl Scm {
    /// Starts SCM, initialising its directory at the first start. Returns when it serves; it may be
    /// in safe mode then.
    ///
    /// # Errors
    /// When the directory is in use, another cluster's, damaged or of a newer layout, or a port
    /// cannot be bound.
    pub fn start(conf: &Configuration) -> LocalBoxFuture<'_, Result<ScmHandle, ScmError>> {
        Box::pin(async move { Self::start_with(ScmOptions::from_configuration(conf)?).await })
    }

    /// Like [`Scm::start`], with options made elsewhere.
    ///
    /// # Errors
    /// As [`Scm::start`].
    pub fn start_with(options: ScmOptions) -> LocalBoxFuture<'static, Result<ScmHandle, ScmError>> {
        Box::pin(Self::begin(options))
    }

    async fn begin(options: ScmOptions) -> Result<ScmHandle, ScmError> {
        let clock = Clock::new();
        let cluster = Arc::new(Mutex::new(Cluster::new(options.settings.clone())));
        let state = State::open(&options, cluster.clone(), clock.now()).await?;
        if options.members.is_none() {
            state.service.handle().lead(LEADERSHIP_TIMEOUT).await?;
        }
        {
            let mut cluster = cluster.lock();
            cluster.begin_safe_mode();
            if options.members.is_none() {
                cluster.note_state_machine_ready();
            }
        }

        let registry = MetricsRegistry::new(Role::new("scm", state.scm_id.to_string()));
        state.service.export_metrics(&registry);
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
            raft: state.service.handle().clone(),
            identity,
            clock,
            shutdown,
            options,
        });
        core.raft().stop_when_failed("SCM", &core.shutdown);
        match open_endpoints(&core, &state, registry).await {
            Ok((endpoints, status, addresses)) => {
                background::spawn(&core, state.store());
                if let Some(members) = &core.identity.members {
                    leadership::watch(&core);
                    core.raft().watch_members(members.clone(), &core.shutdown);
                }
                core.try_leave_safe_mode();
                tracing::info!(
                    cluster = %core.identity.cluster_id, scm = %core.identity.scm_id, client = %addresses.client,
                    block = %addresses.block, datanode = %addresses.datanode, "SCM serves"
                );
                Ok(ScmHandle::new(core, state, endpoints, status, addresses))
            }
            Err(error) => {
                core.shutdown.trigger();
                state.close().await;
                Err(error)
            }
        }
    }
}

async fn open_endpoints(
    core: &Arc<Core>,
    state: &State,
    registry: MetricsRegistry,
) -> Result<(Endpoints, Option<StatusServer>, ScmAddresses), ScmError> {
    let handler = Arc::new(RpcHandler::new(core.clone()));
    let server_options = || ServerOptions {
        connections: core.options.connections.clone(),
        ..ServerOptions::default()
    };
    let bind =
        async |key: &'static str, address: &HostPort, foreign: Option<Arc<dyn ForeignProtocol>>| {
            let bound = TcpListener::bind(address.to_string()).await.and_then(|listener| {
                Server::serve_with_foreign(listener, handler.clone(), foreign, server_options())
            });
            bound.map_err(|e| BindError::new(key, address, e))
        };
    let options = &core.options;
    let raft = match &options.members {
        None => None,
        Some(members) => {
            // On all addresses where the other endpoints are.
            let key = keys::OZONE_SCM_RATIS_PORT.name();
            let bound_to = &options.datanode_address.host;
            let address = HostPort::new(bound_to.clone(), members.me.node.raft.port);
            let served = TcpListener::bind(address.to_string()).await.and_then(|listener| {
                Server::serve(
                    listener,
                    RaftEndpoint::new(state.service.host().clone(), METHODS),
                    server_options(),
                )
            });
            Some(served.map_err(|e| BindError::new(key, &address, e))?)
        }
    };
    let hadoop = HadoopService::serve(core.clone());
    let foreign = || Some(Arc::new(hadoop.clone()) as _);
    let key = keys::OZONE_SCM_CLIENT_ADDRESS.name();
    let client = bind(key, &options.client_address, foreign()).await?;
    let key = keys::OZONE_SCM_BLOCK_CLIENT_ADDRESS.name();
    let block = bind(key, &options.block_address, foreign()).await?;
    let key = keys::OZONE_SCM_DATANODE_ADDRESS.name();
    let datanode = bind(key, &options.datanode_address, None).await?;
    for (port, server) in [("client", &client), ("block", &block), ("datanode", &datanode)] {
        registry.connections(port, server.connections());
    }
    if let Some(raft) = &raft {
        registry.connections("raft", raft.connections());
    }
    let mut addresses = ScmAddresses {
        client: client.local_addr(),
        block: block.local_addr(),
        datanode: datanode.local_addr(),
        http: None,
    };
    let status = match &options.http_address {
        None => None,
        Some(address) => {
            let page = Arc::new(Status::new(core, state, addresses));
            let address_text = address.to_string();
            let started =
                StatusServer::start(&address_text, registry, page, &options.configuration).await;
            let key = keys::OZONE_SCM_HTTP_ADDRESS.name();
            let server = started.map_err(|e| BindError::new(key, address, e))?;
            addresses.http = Some(server.local_addr());
            Some(server)
        }
    };
    Ok((Endpoints { framed: vec![client, block, datanode], raft, hadoop }, status, addresses))
}
