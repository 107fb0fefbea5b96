//! The Hadoop RPC endpoint, on the ports of clients and of OM: `StorageContainerLocationProtocol`,
//! as Ozone's own administration commands speak it, and `ScmBlockLocationProtocol`, as its OM does.
//!
//! The first has no status for most refusals: a refusal is an exception, and its class decides if
//! the client retries. The second has a status for most of them in its responses.

use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use hadoop_rpc::{Call, Fault, Server, ServerOptions, Service, Work};
use prost::Message;
use proto::block_location::ScmBlockLocationRequest;
use proto::container_location::ScmContainerLocationRequest;

use super::{block, location};
use crate::core::Core;
use crate::dispatch::admin::registry;
use crate::error::RequestError;

const LOCATION: &str = "org.apache.hadoop.hdds.scm.protocol.StorageContainerLocationProtocol";
const BLOCK: &str = "org.apache.hadoop.hdds.scm.protocol.ScmBlockLocationProtocol";
const VERSION: u64 = 1;
/// The only method of the one.
const SUBMIT: &str = "submitRequest";
/// The only method of the other.
const SEND: &str = "send";
/// Package of IPC exceptions in Ozone's clients: a fork of Hadoop's.
const IPC_PACKAGE: &str = "org.apache.hadoop.ipc_";

/// Takes Hadoop RPC calls to `core`.
pub struct HadoopService {
    core: Arc<Core>,
}

impl HadoopService {
    /// A server that leads to `core`.
    pub fn serve(core: Arc<Core>) -> Server {
        let options = ServerOptions { ipc_package: IPC_PACKAGE, ..ServerOptions::default() };
        Server::new(Arc::new(Self { core }), options)
    }
}

impl Service for HadoopService {
    fn version(&self, protocol: &str) -> Option<u64> {
        [LOCATION, BLOCK].contains(&protocol).then_some(VERSION)
    }

    fn call(&self, call: Call) -> Work {
        match (call.protocol.as_str(), call.method.as_str()) {
            (LOCATION, SUBMIT) => self.locate(call),
            (BLOCK, SEND) => self.send(call),
            _ => refuse(Fault::no_such_method(&call.protocol, &call.method)),
        }
    }
}

impl HadoopService {
    fn locate(&self, call: Call) -> Work {
        let request = match ScmContainerLocationRequest::decode(call.body) {
            Ok(request) => request,
            Err(e) => return refuse(Fault::undecodable(format!("location request: {e}"))),
        };
        let repeatable = registry::is_repeatable(request.cmd_type());
        let core = Arc::clone(&self.core);
        let work = Box::pin(async move {
            let user = Some(&*call.user);
            match location::respond(&core, request, user, call.peer, call.received).await {
                Ok(response) => Ok(Bytes::from(response.encode_to_vec())),
                Err(error) => Err(fault(&core, &error)),
            }
        });
        if repeatable { Work::Repeatable(work) } else { Work::Once(work) }
    }

    /// OM's requests may be executed twice: blocks that no client receives are never written.
    fn send(&self, call: Call) -> Work {
        let request = match ScmBlockLocationRequest::decode(call.body) {
            Ok(request) => request,
            Err(e) => return refuse(Fault::undecodable(format!("block request: {e}"))),
        };
        let core = Arc::clone(&self.core);
        Work::Repeatable(Box::pin(async move {
            let answered = block::respond(&core, request, call.peer, call.received).await;
            answered.map(|reply| reply.header).map_err(|error| fault(&core, &error))
        }))
    }
}

fn refuse(fault: Fault) -> Work {
    Work::Repeatable(Box::pin(ready(Err(fault))))
}

/// The exception of a refusal. Clients search for the leader in the first text, and show those
/// below to their user.
fn fault(core: &Core, error: &RequestError) -> Fault {
    let class = match error {
        RequestError::NotLeader(hint) => {
            let id = &core.identity;
            let where_to = match hint {
                Some(leader) => format!("Suggested leader is Server:{leader}."),
                None => "Could not determine the leader node.".to_owned(),
            };
            return Fault::application(
                "org.apache.hadoop.hdds.ratis.ServerNotLeaderException",
                format!("SCM Server:{}({}) is not the leader. {where_to}", id.scm_id, id.host),
            );
        }
        RequestError::Busy => return Fault::busy(error.to_string()),
        RequestError::ContainerNotFound(_) => {
            "org.apache.hadoop.hdds.scm.container.ContainerNotFoundException"
        }
        RequestError::PipelineNotFound(_) => {
            "org.apache.hadoop.hdds.scm.pipeline.PipelineNotFoundException"
        }
        RequestError::AccessDenied(_) => "org.apache.hadoop.security.AccessControlException",
        RequestError::Invalid(_)
        | RequestError::SafeMode(_)
        | RequestError::NoReplicas(_)
        | RequestError::NodeNotFound(_)
        | RequestError::NoRoom(_)
        | RequestError::Refused(_)
        | RequestError::Unsupported(_)
        | RequestError::Failed(_) => "org.apache.hadoop.hdds.scm.exceptions.SCMException",
    };
    Fault::application(class, error.to_string())
}
