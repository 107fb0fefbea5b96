//! The gRPC services.

mod admin;
mod client;
mod ordered;

use std::sync::Arc;

use admin::AdminService;
use client::ClientService;

use crate::call::Calls;
use crate::group::Server;
use crate::wire::grpc::admin_protocol_service_server::AdminProtocolServiceServer;
use crate::wire::grpc::raft_client_protocol_service_server::RaftClientProtocolServiceServer;

/// Maximum message size in either direction, as in Ratis' clients.
pub const MAX_MESSAGE: usize = 64 << 20;

/// The services of one server, which share a retry cache.
pub struct RatisServices {
    calls: Arc<Calls>,
}

impl RatisServices {
    /// The services for the groups of `server`.
    pub fn new(server: Arc<dyn Server>) -> Self {
        Self { calls: Calls::new(server) }
    }

    /// The service for clients.
    pub fn client(&self) -> RaftClientProtocolServiceServer<ClientService> {
        RaftClientProtocolServiceServer::new(ClientService::new(self.calls.clone()))
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE)
    }

    /// The service for administrators.
    pub fn admin(&self) -> AdminProtocolServiceServer<AdminService> {
        AdminProtocolServiceServer::new(AdminService::new(self.calls.clone()))
    }
}
