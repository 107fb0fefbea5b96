//! The gateway: start, state shared by all operations, shutdown.

use std::future::{self, Ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use client::{Client, ClientOptions};
use config::{Configuration, keys};
use futures::future::BoxFuture;
use http::HeaderValue;
use limits::{Connections, MemoryBudget};
use proto::ozone::BucketLayoutProto;
use s3s::auth::Credentials;
use s3s::config::{S3Config, StaticConfigProvider};
use s3s::host::MultiDomain;
use s3s::service::S3ServiceBuilder;
use service::{
    BindError, MetricsRegistry, Role, RpcMetrics, Section, Shutdown, StatusPage, StatusServer,
};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use types::ReplicationConfig;

use crate::GatewayOptions;
use crate::auth::Secrets;
use crate::server::{Access, LARGEST_DOCUMENT, S3Server, ServerMetrics};

/// Errors of starting a gateway.
#[derive(Debug, thiserror::Error)]
pub enum S3GatewayError {
    /// Serving S3 is disabled.
    #[error(
        "{} is false, but serving S3 is all that a gateway does: remove the setting, or start no gateway",
        keys::s3g::OZONE_S3G_HTTP_ENABLED.name()
    )]
    Disabled,
    /// A port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// An address of the cluster is invalid.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The default replication is invalid.
    #[error("ozone.replication and ozone.replication.type: {0}")]
    Replication(#[from] types::WireError),
    /// A domain name is invalid.
    #[error("ozone.s3g.domain.name is not valid: {0}")]
    Domain(String),
}

/// State shared by all operations.
pub(crate) struct Gateway {
    client: Client,
    volume: String,
    region: String,
    max_list_keys: u32,
    bucket_layout: BucketLayoutProto,
    replication: Option<ReplicationConfig>,
    directories: bool,
}

impl Gateway {
    pub(crate) fn volume(&self) -> &str {
        &self.volume
    }

    pub(crate) fn bucket_layout(&self) -> BucketLayoutProto {
        self.bucket_layout
    }

    /// Default replication of objects; `None` for the bucket's.
    pub(crate) fn replication(&self) -> Option<ReplicationConfig> {
        self.replication
    }

    /// Returns `true` if directories of FILE_SYSTEM_OPTIMIZED buckets are distinguished from
    /// objects.
    pub(crate) fn directories(&self) -> bool {
        self.directories
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    pub(crate) fn max_list_keys(&self) -> u32 {
        self.max_list_keys
    }

    /// A client that acts for the user who signed the request.
    pub(crate) fn client_of(&self, credentials: Option<&Credentials>) -> Client {
        match credentials {
            Some(credentials) => self.client.on_behalf_of(&credentials.access_key),
            None => self.client.clone(),
        }
    }
}

/// The S3 gateway.
pub struct S3Gateway;

impl S3Gateway {
    /// Starts a gateway for the cluster described by `conf`.
    ///
    /// # Errors
    /// If a port cannot be bound or an address is invalid.
    pub fn start(
        conf: &Configuration,
        options: GatewayOptions,
    ) -> BoxFuture<'_, Result<S3GatewayHandle, S3GatewayError>> {
        Box::pin(async move {
            let memory = MemoryBudget::of_process(conf);
            let client =
                ClientOptions { memory: Some(memory), ..ClientOptions::from_configuration(conf) };
            let client = Client::new(client)?;
            Self::start_with(client, options).await
        })
    }

    /// Starts a gateway with an existing client.
    ///
    /// # Errors
    /// As for [`S3Gateway::start`].
    pub fn start_with(
        client: Client,
        options: GatewayOptions,
    ) -> BoxFuture<'static, Result<S3GatewayHandle, S3GatewayError>> {
        Box::pin(Self::begin(client, options))
    }

    async fn begin(
        client: Client,
        options: GatewayOptions,
    ) -> Result<S3GatewayHandle, S3GatewayError> {
        if !options.enabled {
            return Err(S3GatewayError::Disabled);
        }
        let address = options.address.to_string();
        let bind = |key, address: &str, error| BindError::new(key, address, error);
        let listener = TcpListener::bind(&address)
            .await
            .map_err(|e| bind(keys::s3g::OZONE_S3G_HTTP_ADDRESS.name(), &address, e))?;
        let local = listener
            .local_addr()
            .map_err(|e| bind(keys::s3g::OZONE_S3G_HTTP_ADDRESS.name(), &address, e))?;
        let registry = MetricsRegistry::new(Role::new("s3g", local.to_string()));
        let metrics = ServerMetrics {
            rpc: RpcMetrics::new(&registry, "s3"),
            bytes_in: registry.counter("s3_bytes_in", "Bytes of request bodies"),
            bytes_out: registry.counter("s3_bytes_out", "Bytes of response bodies"),
        };
        let connections = Connections::new(&options.connections);
        registry.connections("s3", &connections);
        let memory = client.options().memory.clone();
        if let Some(memory) = &memory {
            registry.memory(memory);
        }
        let configuration = options.configuration.clone();
        let (of_page, rpc) = (memory.clone(), metrics.rpc.clone());
        let page = Page { address: local, options: options.clone(), rpc, memory: of_page };
        let status = match &options.status_address {
            None => None,
            Some(address) => {
                let address = address.to_string();
                let page = Arc::new(page);
                let started = StatusServer::start(&address, registry, page, &configuration).await;
                Some(started.map_err(|e| {
                    bind(keys::s3g::OZONE_S3G_WEBADMIN_HTTP_ADDRESS.name(), &address, e)
                })?)
            }
        };
        let service = service(client, &options)?;
        let limits = options.connections.clone();
        let edge = telemetry::Edge::new("s3g", options.slow_request);
        let (host_id, minimum_upload_rate) = (host_id(), options.minimum_upload_rate);
        let server = S3Server {
            service,
            metrics,
            edge,
            host_id,
            limits,
            minimum_upload_rate,
            connections,
            memory,
        };
        let shutdown = Shutdown::new();
        let timeout = options.shutdown_timeout;
        let task = tokio::spawn(server.serve(listener, shutdown.clone(), timeout));
        tracing::info!(address = %local, "S3 gateway listening");
        Ok(S3GatewayHandle { address: local, status, shutdown, task, timeout })
    }
}

fn service(
    client: Client,
    options: &GatewayOptions,
) -> Result<s3s::service::S3Service, S3GatewayError> {
    let gateway = Gateway {
        client: client.clone(),
        volume: options.volume.clone(),
        region: options.region.clone(),
        max_list_keys: options.max_list_keys,
        bucket_layout: options.bucket_layout,
        replication: options.replication,
        directories: options.directories,
    };
    let mut builder = S3ServiceBuilder::new(gateway);
    builder.set_auth(Secrets::new(client.clone(), options.credentials.clone()));
    builder.set_access(Access { client, volume: options.volume.clone() });
    builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(limits_of_requests()))));
    if !options.domains.is_empty() {
        let domains = MultiDomain::new(&options.domains)
            .map_err(|e| S3GatewayError::Domain(e.to_string()))?;
        builder.set_host(domains);
    }
    Ok(builder.build())
}

/// Limits of request bodies that are read into memory. Forms are refused before they are read.
fn limits_of_requests() -> S3Config {
    let mut limits = S3Config::default();
    limits.xml_max_body_size = LARGEST_DOCUMENT;
    limits.post_object_max_file_size = 0;
    limits.form_max_fields_size = 0;
    limits
}

/// Identifies the gateway in `x-amz-id-2`.
fn host_id() -> HeaderValue {
    let id = uuid::Uuid::new_v4().simple().to_string();
    HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("trioxide"))
}

/// A running gateway.
pub struct S3GatewayHandle {
    address: SocketAddr,
    status: Option<StatusServer>,
    shutdown: Shutdown,
    task: JoinHandle<()>,
    timeout: Duration,
}

impl S3GatewayHandle {
    /// The S3 address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients.
    pub fn endpoint(&self) -> String {
        let address = match self.address {
            SocketAddr::V4(v4) if v4.ip().is_unspecified() => format!("127.0.0.1:{}", v4.port()),
            SocketAddr::V6(v6) if v6.ip().is_unspecified() => format!("[::1]:{}", v6.port()),
            other => other.to_string(),
        };
        format!("http://{address}")
    }

    /// The address of the status page and metrics.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status.as_ref().map(StatusServer::local_addr)
    }

    /// The servers by name.
    pub fn addresses(&self) -> Vec<(&'static str, SocketAddr)> {
        let mut addresses = vec![("s3", self.address)];
        addresses.extend(self.status_address().map(|address| ("http", address)));
        addresses
    }

    /// Completes once the gateway accepts requests, which is at once after start.
    pub fn ready(&self) -> Ready<()> {
        future::ready(())
    }

    /// Stops accepting requests, waits for requests in flight, and stops.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop())
    }

    async fn stop(self) {
        self.shutdown.trigger();
        let abort = self.task.abort_handle();
        // The server has its own timeout; this one bounds a server that hangs.
        if tokio::time::timeout(self.timeout + Duration::from_secs(1), self.task).await.is_err() {
            abort.abort();
        }
        if let Some(status) = &self.status {
            status.stop();
        }
    }
}

struct Page {
    address: SocketAddr,
    options: GatewayOptions,
    rpc: RpcMetrics,
    memory: Option<MemoryBudget>,
}

impl StatusPage for Page {
    fn title(&self) -> String {
        format!("S3 gateway {}", self.address)
    }

    fn sections(&self) -> Vec<Section> {
        let facts = [
            ("address", self.address.to_string()),
            ("volume", self.options.volume.clone()),
            ("region", self.options.region.clone()),
            ("domains", self.options.domains.join(", ")),
        ];
        let mut sections = vec![Section::facts("Gateway", facts)];
        sections.extend(self.memory.as_ref().map(Section::memory));
        sections.push(Section::rpc("Operations", &self.rpc));
        sections
    }
}
