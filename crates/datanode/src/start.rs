//! Starting a DataNode.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::Configuration;
use framed::{Server, ServerOptions};
use futures::future::BoxFuture;
use limits::Connections;
use proto::datanode::xceiver_client_protocol_service_server::XceiverClientProtocolServiceServer;
use service::{Shutdown, StatusServer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use types::PortName;

use crate::daemon::Daemon;
use crate::handle::{DatanodeHandle, Endpoints};
use crate::identity::Identity;
use crate::open::open;
use crate::rpc::grpc::XceiverService;
use crate::rpc::hadoop::HadoopService;
use crate::rpc::native::NativeHandler;
use crate::rpc::ratis::RatisServer;
use crate::settings::{ClientRpcAddress, MAX_CHUNK, Settings};
use crate::status::Page;
use crate::{DatanodeError, DatanodeOptions};

/// Bytes for the message around a chunk.
const MESSAGE_ROOM: usize = 4 << 20;

/// A DataNode.
#[derive(Debug)]
pub struct Datanode;

impl Datanode {
    /// Starts a DataNode: its endpoints are open and its identity is stored when this returns. Its
    /// disks are open too, unless it has never been in a cluster: then they wait for SCM to send
    /// its id. Joining the cluster continues in the background; see [`DatanodeHandle::ready`].
    ///
    /// # Errors
    /// When the settings, a directory, a port or a disk cannot be used.
    pub fn start(
        conf: &Configuration,
        options: DatanodeOptions,
    ) -> BoxFuture<'_, Result<DatanodeHandle, DatanodeError>> {
        Box::pin(Self::begin(conf, options))
    }

    async fn begin(
        conf: &Configuration,
        options: DatanodeOptions,
    ) -> Result<DatanodeHandle, DatanodeError> {
        let settings = Settings::read(conf)?;
        let identity = Identity::open(&settings)?;
        let known_cluster = identity.cluster_id().map(str::to_owned);
        let shutdown = options.shutdown.map_or_else(Shutdown::new, |parent| parent.child());
        let listeners = Listeners::bind(&settings, &identity).await?;
        let daemon = Daemon::new(settings, identity, shutdown);
        let endpoints = open_endpoints(&daemon, listeners).await?;
        let id = daemon.identity.lock().details().id;
        tracing::info!(datanode = %id, native = %endpoints.native.local_addr(), "starting datanode");
        if let Some(cluster) = known_cluster
            && let Err(error) = open(&daemon, &cluster).await
        {
            let handle = DatanodeHandle::new(daemon, endpoints);
            handle.shutdown().await;
            return Err(error);
        }
        crate::scm::begin(&daemon);
        Ok(DatanodeHandle::new(daemon, endpoints))
    }
}

/// Ports that are had, before anything is served on them.
struct Listeners {
    grpc: TcpListener,
    ratis: TcpListener,
    native: TcpListener,
    hadoop: TcpListener,
}

impl Listeners {
    async fn bind(settings: &Settings, identity: &Identity) -> Result<Self, DatanodeError> {
        let last = |name| identity.details().port(&name).unwrap_or(0);
        let host = &settings.bind_host;
        Ok(Self {
            grpc: listen(
                host,
                settings.ipc_port,
                last(PortName::Standalone),
                "hdds.container.ipc.port",
            )
            .await?,
            ratis: listen(
                host,
                settings.ratis_port,
                last(PortName::Ratis),
                "hdds.container.ratis.ipc.port",
            )
            .await?,
            native: listen(
                host,
                settings.native_port,
                last(PortName::Native),
                "trioxide.datanode.port",
            )
            .await?,
            hadoop: listen_for_administrators(settings, last(PortName::ClientRpc)).await?,
        })
    }
}

/// Listens on a port. If any one will do, the one of the last start is taken again if it is free:
/// the other members of this node's pipelines have it.
async fn listen(
    host: &str,
    port: u16,
    last: u16,
    key: &'static str,
) -> Result<TcpListener, DatanodeError> {
    if port == 0
        && last != 0
        && let Ok(listener) = TcpListener::bind((host, last)).await
    {
        return Ok(listener);
    }
    TcpListener::bind((host, port))
        .await
        .map_err(|source| service::BindError::new(key, format!("{host}:{port}"), source).into())
}

/// As [`listen`], for Hadoop RPC. On a host with several DataNodes only one gets the default port;
/// SCM has the ports of the others.
async fn listen_for_administrators(
    settings: &Settings,
    last: u16,
) -> Result<TcpListener, DatanodeError> {
    let ClientRpcAddress { host, port, may_be_another } = &settings.client_rpc;
    let key = "hdds.datanode.client.port";
    match listen(host, *port, last, key).await {
        Err(error) if *may_be_another => {
            tracing::warn!(%error, "default port in use, choosing a free port for Hadoop RPC");
            listen(host, 0, last, key).await
        }
        other => other,
    }
}

async fn open_endpoints(
    daemon: &Arc<Daemon>,
    listeners: Listeners,
) -> Result<Endpoints, DatanodeError> {
    let Listeners { grpc, ratis, native, hadoop } = listeners;
    let grpc_address = local_address(&grpc, "hdds.container.ipc.port")?;
    let ratis_address = local_address(&ratis, "hdds.container.ratis.ipc.port")?;
    let native_address = local_address(&native, "trioxide.datanode.port")?;
    let hadoop_address = local_address(&hadoop, "hdds.datanode.client.port")?;
    let http = open_status(daemon).await?;
    let mut ports = vec![
        (PortName::Standalone, grpc_address.port()),
        (PortName::Ratis, ratis_address.port()),
        (PortName::Native, native_address.port()),
        (PortName::ClientRpc, hadoop_address.port()),
    ];
    if let Some(http) = &http {
        ports.push((PortName::Http, http.local_addr().port()));
    }
    daemon.identity.lock().set_ports(&ports)?;

    let options = ServerOptions {
        max_frame: MAX_CHUNK + MESSAGE_ROOM,
        connections: daemon.settings.connections.clone(),
        memory: Some(daemon.settings.memory.clone()),
        ..Default::default()
    };
    let native = Server::serve(native, Arc::new(NativeHandler::new(daemon.clone())), options)
        .map_err(|source| bind_error(native_address, "trioxide.datanode.port", source))?;
    let service = XceiverClientProtocolServiceServer::new(XceiverService::new(daemon.clone()))
        .max_decoding_message_size(MAX_CHUNK + MESSAGE_ROOM)
        .max_encoding_message_size(MAX_CHUNK + MESSAGE_ROOM);
    let registry = &daemon.metrics.registry;
    registry.connections("native", native.connections());
    registry.memory(&daemon.settings.memory);
    let grpc = serve_grpc(daemon, "grpc", grpc, grpc_server().add_service(service));
    let services = ratis_wire::RatisServices::new(Arc::new(RatisServer::new(daemon.clone())));
    let services = grpc_server().add_service(services.client()).add_service(services.admin());
    let ratis = serve_grpc(daemon, "ratis", ratis, services);
    let served = HadoopService::serve(daemon);
    let listening = served.clone();
    let hadoop_listener = tokio::spawn(async move { listening.listen(hadoop).await });
    Ok(Endpoints {
        native,
        grpc,
        grpc_address,
        ratis,
        ratis_address,
        hadoop: served,
        hadoop_listener,
        hadoop_address,
        http,
    })
}

/// Configures a gRPC endpoint: windows for some chunks in flight on each connection.
fn grpc_server() -> tonic::transport::Server {
    tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(60)))
        .initial_stream_window_size(Some(8 << 20))
        .initial_connection_window_size(Some(16 << 20))
}

fn serve_grpc(
    daemon: &Daemon,
    port: &str,
    listener: TcpListener,
    services: tonic::transport::server::Router,
) -> JoinHandle<()> {
    let shutdown = daemon.shutdown.clone();
    let limits = &daemon.settings.connections;
    let connections = Connections::new(limits);
    daemon.metrics.registry.connections(port, &connections);
    let incoming = service::grpc::incoming(listener, connections, limits.clone());
    let stopped = async move { shutdown.cancelled().await };
    let serving = services.serve_with_incoming_shutdown(incoming, stopped);
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "gRPC endpoint closed");
        }
    })
}

async fn open_status(daemon: &Arc<Daemon>) -> Result<Option<StatusServer>, DatanodeError> {
    let Some(address) = &daemon.settings.http else { return Ok(None) };
    let page = Arc::new(Page::new(daemon));
    let last = daemon.identity.lock().details().port(&PortName::Http).unwrap_or(0);
    let registry = daemon.metrics.registry.clone();
    let (routes, conf) = (|| crate::status::container_list::routes(daemon), &daemon.settings.conf);
    if address.port == 0 && last != 0 {
        let again = format!("{}:{last}", address.host);
        let (registry, page) = (registry.clone(), page.clone());
        let routes = routes();
        if let Ok(server) = StatusServer::start_with(&again, registry, page, conf, routes).await {
            return Ok(Some(server));
        }
    }
    let routes = routes();
    let bound = StatusServer::start_with(&address.to_string(), registry, page, conf, routes).await;
    bound.map(Some).map_err(|source| {
        service::BindError::new("hdds.datanode.http-address", address, source).into()
    })
}

fn local_address(listener: &TcpListener, key: &'static str) -> Result<SocketAddr, DatanodeError> {
    listener.local_addr().map_err(|source| service::BindError::new(key, "?", source).into())
}

fn bind_error(address: SocketAddr, key: &'static str, source: std::io::Error) -> DatanodeError {
    service::BindError::new(key, address, source).into()
}
