//! The Hadoop RPC endpoint: `OzoneManagerProtocol` and `OMAdminProtocol`, as published Java clients
//! speak them.
//!
//! Refusals by the rules are responses; a failure of this OM to answer is an exception, whose class
//! makes the client call the next OM, retry here, or give up. A retried write with the same client
//! id and call id gets its answer and is not repeated.

use std::future::ready;
use std::sync::Arc;

use framed::{Code, Status};
use hadoop_rpc::{Call, Fault, Server, ServerOptions, Service, Work};
use namespace::Route;

use super::admin;
use crate::dispatch::{self, Caller, Dispatcher};
use crate::state::CallKey;

const PROTOCOL: &str = "org.apache.hadoop.ozone.om.protocol.OzoneManagerProtocol";
const VERSION: u64 = 1;
/// Its only method.
const SUBMIT: &str = "submitRequest";
/// Package of IPC's exceptions in Ozone's clients: a fork of Hadoop's.
const IPC_PACKAGE: &str = "org.apache.hadoop.ipc_";

/// Calls worked on at once: not more than the dispatcher lets in without a line of its own, which
/// would not be fair to users.
const MOST_IN_FLIGHT: usize = 4_096;

/// Takes Hadoop RPC calls to the dispatcher.
pub(crate) struct HadoopService {
    dispatcher: Arc<Dispatcher>,
}

impl HadoopService {
    /// A server that leads to `dispatch`.
    pub(crate) fn serve(dispatcher: Arc<Dispatcher>) -> Server {
        let options = ServerOptions {
            ipc_package: IPC_PACKAGE,
            max_in_flight: MOST_IN_FLIGHT,
            ..ServerOptions::default()
        };
        Server::new(Arc::new(Self { dispatcher }), options)
    }
}

impl Service for HadoopService {
    fn version(&self, protocol: &str) -> Option<u64> {
        matches!(protocol, PROTOCOL | admin::PROTOCOL).then_some(VERSION)
    }

    fn call(&self, call: Call) -> Work {
        if call.protocol == admin::PROTOCOL {
            let dispatcher = Arc::clone(&self.dispatcher);
            return Work::Repeatable(Box::pin(async move {
                let answer = admin::answer(&dispatcher, &call.method, call.body, &call.user).await;
                answer.map_err(admin_fault)
            }));
        }
        let refuse = |fault| Work::Repeatable(Box::pin(ready(Err(fault))));
        if call.method != SUBMIT {
            return refuse(Fault::no_such_method(&call.protocol, &call.method));
        }
        let request = match dispatch::decode(call.body) {
            Ok(request) => request,
            Err(status) => return refuse(fault(status)),
        };
        let caller = Caller {
            is_om: false,
            ip: call.peer.ip(),
            user: Some(call.user),
            call: call.id.map(|(client, call)| CallKey { client, call }),
            received: call.received,
            deadline: Some(call.deadline),
        };
        let writes = namespace::route(&request) == Route::Write;
        let dispatcher = Arc::clone(&self.dispatcher);
        let work = Box::pin(async move { dispatcher.submit(request, caller).await.map_err(fault) });
        if writes { Work::Once(work) } else { Work::Repeatable(work) }
    }
}

/// The exception of a refusal of an administrator's request.
fn admin_fault(refused: admin::Refused) -> Fault {
    match refused {
        admin::Refused::Denied(message) => {
            Fault::application("org.apache.hadoop.security.AccessControlException", message)
        }
        admin::Refused::NoSuchMethod(method) => Fault::no_such_method(admin::PROTOCOL, &method),
        admin::Refused::Status(status) => fault(status),
    }
}

/// The exception of a refusal.
fn fault(status: Status) -> Fault {
    let class = match status.code {
        Code::NotLeader => "org.apache.hadoop.ozone.om.exceptions.OMNotLeaderException",
        Code::Unavailable | Code::NotReady => {
            "org.apache.hadoop.ozone.om.exceptions.OMLeaderNotReadyException"
        }
        Code::Busy | Code::DeadlineExceeded => return Fault::busy(status.message),
        Code::Invalid => return Fault::undecodable(status.message),
        Code::Ok | Code::Internal | Code::NotFound | Code::Unimplemented => "java.io.IOException",
    };
    Fault::application(class, status.message)
}
