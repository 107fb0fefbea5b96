//! Addresses of a running server.

use std::net::SocketAddr;

/// Addresses of all endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Endpoints {
    /// The OMs' framed endpoints, `host:port`.
    pub oms: Vec<String>,
    /// The gRPC endpoints of the OMs that have one.
    pub om_grpc: Vec<String>,
    /// The SCMs' endpoints for clients and administrators.
    pub scms: Vec<String>,
    /// The S3 gateway, `http://host:port`, unless it is disabled.
    pub s3: Option<String>,
    /// The DataNodes' framed endpoints.
    pub datanodes: Vec<String>,
    /// Status pages: role and address.
    pub pages: Vec<(String, String)>,
}

impl Endpoints {
    pub(crate) fn page(&mut self, of: impl Into<String>, address: Option<SocketAddr>) {
        self.pages.extend(address.map(|a| (of.into(), format!("http://{}", reachable(a)))));
    }
}

/// An S3 key pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The access key id.
    pub access_key: String,
    /// The secret key.
    pub secret_key: String,
}

/// The address to connect to an endpoint: loopback for a wildcard address.
pub(crate) fn reachable(address: SocketAddr) -> config::HostPort {
    config::HostPort::new(address.ip().to_string(), address.port()).connect()
}
