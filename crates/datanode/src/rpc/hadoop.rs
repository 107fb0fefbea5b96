//! The Hadoop RPC endpoint: `DiskBalancerProtocol`, as `ozone admin datanode diskbalancer` speaks
//! it to one DataNode.
//!
//! Every user may read the state of the disks; with ACLs on, only administrators start, stop and
//! update. A refusal is an exception, whose text the command prints.

use std::future::ready;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use hadoop_rpc::{Answer, Call, Fault, Server, ServerOptions, Service, Work};
use prost::Message;
use proto::disk_balancer as wire;
use service::Right;

use crate::daemon::Daemon;
use crate::disk_balancer::BalancerError;
use crate::node::Node;

const DISK_BALANCER: &str = "org.apache.hadoop.hdds.protocol.DiskBalancerProtocol";
const VERSION: u64 = 1;

/// Package of IPC's exceptions in Ozone's clients: a fork of Hadoop's package.
const IPC_PACKAGE: &str = "org.apache.hadoop.ipc_";

/// Calls of administrators that are worked on at a time.
const MOST_CALLS: usize = 64;

/// Longest request, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Handler of Hadoop RPC calls to a DataNode.
pub(crate) struct HadoopService {
    /// It outlives the DataNode, and must not keep its disks open.
    daemon: Weak<Daemon>,
}

impl HadoopService {
    /// A server that leads to `daemon`.
    pub fn serve(daemon: &Arc<Daemon>) -> Server {
        let settings = &daemon.settings;
        let options = ServerOptions {
            ipc_package: IPC_PACKAGE,
            max_in_flight: MOST_CALLS,
            max_frame: MOST_BYTES,
            connections: settings.connections.clone(),
            ..ServerOptions::default()
        };
        Server::new(Arc::new(Self { daemon: Arc::downgrade(daemon) }), options)
    }
}

impl Service for HadoopService {
    fn version(&self, protocol: &str) -> Option<u64> {
        (protocol == DISK_BALANCER).then_some(VERSION)
    }

    fn call(&self, call: Call) -> Work {
        match call.method.as_str() {
            "getDiskBalancerInfo" => match decode::<wire::GetDiskBalancerInfoRequestProto>(&call) {
                Ok(_) => Work::Repeatable(self.on_disks(|node| {
                    let info = node.disk_balancer_report();
                    Ok(encode(&wire::GetDiskBalancerInfoResponseProto { info }))
                })),
                Err(fault) => refuse(fault),
            },
            "startDiskBalancer" => self.change(&call, |node, request| {
                let wire::StartDiskBalancerRequestProto { config } = request;
                node.disk_balancer.start(&config.unwrap_or_default(), node.is_in_service())?;
                node.services.run(crate::service_names::DISK_BALANCER);
                Ok(wire::StartDiskBalancerResponseProto {})
            }),
            "stopDiskBalancer" => {
                self.change(&call, |node, _: wire::StopDiskBalancerRequestProto| {
                    node.disk_balancer.stop()?;
                    Ok(wire::StopDiskBalancerResponseProto {})
                })
            }
            "updateDiskBalancerConfiguration" => self.change(&call, |node, request| {
                let wire::UpdateDiskBalancerConfigurationRequestProto { config } = request;
                node.disk_balancer.update(&config)?;
                Ok(wire::UpdateDiskBalancerConfigurationResponseProto {})
            }),
            _ => refuse(Fault::no_such_method(&call.protocol, &call.method)),
        }
    }
}

impl HadoopService {
    /// Carries out a request that only administrators may send.
    fn change<Q, A>(
        &self,
        call: &Call,
        change: impl FnOnce(&Node, Q) -> Result<A, BalancerError> + Send + 'static,
    ) -> Work
    where
        Q: Message + Default + 'static,
        A: Message,
    {
        let request = match self.admit(call).and_then(|()| decode::<Q>(call)) {
            Ok(request) => request,
            Err(fault) => return refuse(fault),
        };
        let (method, user) = (call.method.clone(), Arc::clone(&call.user));
        Work::Once(self.on_disks(move |node| {
            let answer = change(node, request);
            tracing::info!(method, %user, refused = answer.is_err(), "an administrator's call");
            answer.map(|answer| encode(&answer)).map_err(|error| fault(&error))
        }))
    }

    fn admit(&self, call: &Call) -> Result<(), Fault> {
        let daemon = self.daemon.upgrade().ok_or_else(|| failed("the datanode is stopping"))?;
        let denied = daemon.access.check(Right::Admin, Some(&call.user));
        let class = "org.apache.hadoop.security.AccessControlException";
        denied.map_err(|denied| Fault::application(class, denied.to_string()))
    }

    /// Does what may wait for the disks, once they are open.
    fn on_disks(
        &self,
        work: impl FnOnce(&Node) -> Answer + Send + 'static,
    ) -> hadoop_rpc::AnswerFuture {
        let node = self.daemon.upgrade().and_then(|daemon| daemon.node().cloned());
        Box::pin(async move {
            let node = node.ok_or_else(|| failed("the datanode is starting"))?;
            let done = tokio::task::spawn_blocking(move || work(&node)).await;
            done.unwrap_or_else(|error| Err(failed(&error.to_string())))
        })
    }
}

fn decode<Q: Message + Default>(call: &Call) -> Result<Q, Fault> {
    let undecodable = |error| Fault::undecodable(format!("{}: {error}", call.method));
    Q::decode(call.body.clone()).map_err(undecodable)
}

fn encode(answer: &impl Message) -> Bytes {
    answer.encode_to_vec().into()
}

fn refuse(fault: Fault) -> Work {
    Work::Repeatable(Box::pin(ready(Err(fault))))
}

fn failed(text: &str) -> Fault {
    Fault::application("java.io.IOException", text)
}

/// The exception of a refusal.
fn fault(error: &BalancerError) -> Fault {
    let class = match error {
        BalancerError::Parameter(_) => "java.lang.IllegalArgumentException",
        BalancerError::Disabled | BalancerError::InfoFile { .. } => "java.io.IOException",
    };
    Fault::application(class, error.to_string())
}
