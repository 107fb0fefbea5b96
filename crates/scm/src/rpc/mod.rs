//! The endpoints: three framed servers whose methods are those of Ozone's three SCM protocols.
//!
//! Every endpoint answers every method, so that a client with one address reaches all of SCM. On
//! the ports of clients and OM there is a fourth one, [`HadoopService`], for published Java
//! programs.

mod background;
mod block;
mod datanode;
mod deletion_status;
mod hadoop;
mod location;
mod membership;

use std::sync::Arc;

use framed::{Call, Code, Handler, HandlerFuture, Reply, Status};
use proto::method;
use service::RpcCall;

pub use self::hadoop::HadoopService;
use crate::core::Core;

/// Takes the calls of all endpoints.
pub struct RpcHandler {
    core: Arc<Core>,
}

impl RpcHandler {
    /// An endpoint to `core`.
    pub fn new(core: Arc<Core>) -> Self {
        Self { core }
    }
}

impl Handler for RpcHandler {
    fn call(&self, call: Call) -> HandlerFuture {
        let core = self.core.clone();
        Box::pin(async move {
            match call.method {
                method::BACKGROUND_SERVICES => background::answer(&core, call),
                method::DELETION_STATUS => deletion_status::answer(&core, call),
                method::SCM_MEMBERSHIP => Ok(membership::answer(&core)),
                method::SCM_BLOCK => block::answer(&core, call).await,
                method::SCM_DATANODE => datanode::answer(&core, call).await,
                method::SCM_CONTAINER_LOCATION => location::answer(&core, call).await,
                other => Err(Status::new(
                    Code::Unimplemented,
                    format!("SCM does not know method {other}"),
                )),
            }
        })
    }
}

/// Ends the measurement of a call.
fn finish(measured: RpcCall<'_>, result: Result<Reply, Status>) -> Result<Reply, Status> {
    measured.finish(result.is_ok());
    result
}
