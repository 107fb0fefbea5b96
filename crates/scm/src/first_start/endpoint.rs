//! Responses of an SCM during its first start: its cluster, or that it has none.

use std::sync::Arc;

use config::keys::scm as keys;
use framed::message::reply;
use framed::{Call, Handler, HandlerFuture, Server, ServerOptions, Status};
use parking_lot::Mutex;
use proto::hdds::ScmMembershipResponseProto;
use proto::method;
use service::BindError;
use tokio::net::TcpListener;

use crate::ScmError;
use crate::settings::ScmOptions;

/// The server, on the port of later requests from OM.
pub struct Endpoint {
    server: Server,
    cluster_id: Arc<Mutex<Option<String>>>,
}

impl Endpoint {
    /// Listens for the others; `node` is the node id of this SCM.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub async fn open(node: &str, options: &ScmOptions) -> Result<Self, ScmError> {
        let cluster_id = Arc::default();
        let handler = Waiting { node: node.to_owned(), cluster_id: Arc::clone(&cluster_id) };
        let server_options =
            ServerOptions { connections: options.connections.clone(), ..ServerOptions::default() };
        let address = options.block_address.to_string();
        let bound = TcpListener::bind(address)
            .await
            .and_then(|listener| Server::serve(listener, Arc::new(handler), server_options));
        let key = keys::OZONE_SCM_BLOCK_CLIENT_ADDRESS.name();
        let server = bound.map_err(|e| BindError::new(key, &options.block_address, e))?;
        Ok(Self { server, cluster_id })
    }

    /// Reports this cluster to the others from now on.
    pub fn has_cluster(&self, cluster_id: &str) {
        *self.cluster_id.lock() = Some(cluster_id.to_owned());
    }

    /// Releases the port.
    pub async fn close(self) {
        self.server.shutdown().await;
    }
}

struct Waiting {
    node: String,
    cluster_id: Arc<Mutex<Option<String>>>,
}

impl Handler for Waiting {
    fn call(&self, call: Call) -> HandlerFuture {
        let answer = match call.method {
            method::SCM_MEMBERSHIP => Ok(reply(&ScmMembershipResponseProto {
                cluster_id: self.cluster_id.lock().clone(),
                membership: None,
            })),
            _ => {
                let node = &self.node;
                let why = format!("SCM {node} does not serve yet: it waits for the other SCMs");
                Err(Status::unavailable(why))
            }
        };
        Box::pin(std::future::ready(answer))
    }
}
