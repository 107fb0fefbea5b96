//! Starting and stopping all roles.

use std::path::PathBuf;

use config::Configuration;
use futures::future::{BoxFuture, LocalBoxFuture};
use om::RootCredentials;
use tracing::warn;

use crate::derive::Base;
use crate::directory::Directory;
use crate::endpoints::{Credentials, Endpoints};
use crate::error::ServerError;
use crate::roles::Roles;

/// Number of DataNodes in a new directory: enough for three replicas.
const DATANODES: usize = 3;

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Directory of all data.
    pub dir: PathBuf,
    /// Number of OMs; by default the number in the directory, or one.
    pub oms: Option<usize>,
    /// Number of SCMs; by default the number in the directory, or one.
    pub scms: Option<usize>,
    /// Number of DataNodes; by default the number in the directory, or three.
    pub datanodes: Option<usize>,
    /// Number of disks (directories) of each DataNode; by default that of the first, or one.
    pub disks: Option<usize>,
    /// Address all endpoints are bound to.
    pub bind: String,
    /// The configuration from which all roles' are derived.
    pub conf: Configuration,
    /// The root S3 key pair; created at the first start by default.
    pub credentials: Option<Credentials>,
}

/// All running roles. Stop them with [`Server::shutdown`].
pub struct Server {
    directory: Directory,
    roles: Roles,
    endpoints: Endpoints,
    credentials: Credentials,
    client: Configuration,
}

impl Server {
    /// Starts all roles; returns when an S3 PUT would succeed.
    ///
    /// # Errors
    /// If the directory or a port cannot be acquired, or a role cannot start. Started roles are
    /// then stopped.
    pub fn start(options: ServerOptions) -> LocalBoxFuture<'static, Result<Server, ServerError>> {
        Box::pin(Self::begin(options))
    }

    async fn begin(options: ServerOptions) -> Result<Server, ServerError> {
        let directory = Directory::open(&options.dir)?;
        let unreadable = |source| ServerError::Directory { path: options.dir.clone(), source };
        let known = directory.known_datanodes().map_err(unreadable)?;
        let datanodes = options.datanodes.unwrap_or(if known > 0 { known } else { DATANODES });
        if datanodes < known {
            warn!(
                known,
                datanodes, "fewer DataNodes than in the directory: their replicas are missing"
            );
        }
        let oms = members("OM", options.oms, directory.known_oms().map_err(unreadable)?)?;
        let scms = members("SCM", options.scms, directory.known_scms().map_err(unreadable)?)?;
        let disks = directory.known_disks().map_err(unreadable)?;
        let disks = options.disks.unwrap_or(disks.max(1)).max(disks);
        let no_ports = |source| ServerError::Ports { bind: options.bind.clone(), source };
        let base = Base::new(&options.conf, &options.bind, datanodes);
        let base = base.with_members(oms, scms).map_err(no_ports)?.with_disks(disks);
        let root = options
            .credentials
            .map(|c| RootCredentials { access_key: c.access_key, secret_key: c.secret_key });
        let mut roles = Roles::default();
        match roles.start(&base, &directory, datanodes, root).await {
            Ok(started) => {
                let server = Server {
                    directory,
                    roles,
                    endpoints: started.endpoints,
                    credentials: started.credentials,
                    client: started.client,
                };
                let path = server.directory.site();
                let settings = started.site.iter().map(|(name, value)| (&**name, &**value));
                match std::fs::write(&path, config::site_xml(settings)) {
                    Ok(()) => Ok(server),
                    Err(source) => {
                        server.shutdown().await;
                        Err(ServerError::Directory { path, source })
                    }
                }
            }
            Err(error) => {
                roles.stop().await;
                Err(error)
            }
        }
    }

    /// Addresses of all endpoints.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The root S3 key pair.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// A configuration for clients of this server.
    pub fn client_configuration(&self) -> &Configuration {
        &self.client
    }

    /// The roles themselves, for tests that inspect or stop one.
    pub fn roles(&mut self) -> &mut Roles {
        &mut self.roles
    }

    /// The directory of all data.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Waits until a role stops by itself, and returns the reason. Otherwise never returns.
    pub fn failed(&self) -> BoxFuture<'_, ServerError> {
        Box::pin(async move { self.roles.failed().await })
    }

    /// Stops all roles gracefully; acknowledged writes are durable with or without this call.
    pub fn shutdown(self) -> BoxFuture<'static, ()> {
        Box::pin(self.stop())
    }

    async fn stop(mut self) {
        self.roles.stop().await;
    }
}

/// The number of OMs or SCMs to start.
fn members(role: &'static str, asked: Option<usize>, known: usize) -> Result<usize, ServerError> {
    match asked {
        Some(asked) if known > 0 && asked != known => Err(ServerError::Members { role, known }),
        Some(asked) => Ok(asked),
        None => Ok(known.max(1)),
    }
}
