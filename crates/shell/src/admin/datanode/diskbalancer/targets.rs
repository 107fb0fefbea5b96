//! The DataNodes of a command, and the calls to them.

use std::io::BufRead;
use std::time::Duration;

use clap::Args;
use client::ClientOptions;
use config::Configuration;
use config::keys::datanode as dn;
use futures::stream::{self, StreamExt};
use hadoop_rpc::{CallError, Client, Identity};
use prost::Message;
use proto::disk_balancer::{
    DatanodeDiskBalancerInfoProto, GetDiskBalancerInfoRequestProto,
    GetDiskBalancerInfoResponseProto,
};
use proto::hdds::{NodeOperationalState, NodeState};
use serde_json::{Value, json};
use types::{DatanodeDetails, PortName};

use crate::ShellError;
use crate::admin::scm_client::{ScmArgs, nonsense};

const PROTOCOL: (&str, u64) = ("org.apache.hadoop.hdds.protocol.DiskBalancerProtocol", 1);

/// Timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Number of DataNodes called in parallel.
const AT_A_TIME: usize = 16;

/// Version of the client protocol, as in Ozone's tools.
const CLIENT_VERSION: u32 = 2;

/// The DataNodes of a command, and the output format.
#[derive(Debug, Clone, Args)]
pub(super) struct Targets {
    /// DataNodes by host name or IP address, with :PORT if their Hadoop RPC port is not the
    /// default; - reads them from standard input, one per line.
    #[arg(value_name = "DATANODE", required_unless_present = "in_service")]
    datanodes: Vec<String>,
    /// All DataNodes that are HEALTHY and IN_SERVICE.
    #[arg(long = "in-service-datanodes")]
    in_service: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// A DataNode to call.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// Host and port.
    pub address: String,
    /// Display name.
    pub name: String,
}

/// The result of a call.
pub(super) struct Outcome<T> {
    pub target: Target,
    pub result: Result<T, TargetError>,
}

/// Error of a call to a DataNode.
#[derive(Debug, thiserror::Error)]
pub(super) enum TargetError {
    /// The DataNode rejected the request; the address is printed separately.
    #[error("{0}")]
    Refused(String),
    /// The call failed.
    #[error(transparent)]
    Call(CallError),
    /// The response is malformed.
    #[error("malformed response: {0}")]
    Answer(#[from] prost::DecodeError),
}

impl From<CallError> for TargetError {
    fn from(error: CallError) -> Self {
        match error.fault() {
            Some(fault) => Self::Refused(fault.message.clone()),
            None => Self::Call(error),
        }
    }
}

impl Targets {
    /// The DataNodes, without duplicates.
    async fn resolve(&self, conf: &Configuration) -> Result<Vec<Target>, ShellError> {
        if !conf.get(&dn::HDDS_DATANODE_DISK_BALANCER_ENABLED) {
            let key = dn::HDDS_DATANODE_DISK_BALANCER_ENABLED.name();
            return Err(ShellError::Refused(format!("the disk balancer is off: {key} is false")));
        }
        let mut targets = match self.in_service {
            true => self.in_service(conf).await?,
            false => self.named(conf.get(&dn::HDDS_DATANODE_CLIENT_PORT))?,
        };
        let mut seen = std::collections::BTreeSet::new();
        targets.retain(|target| seen.insert(target.address.clone()));
        match targets.is_empty() {
            true => Err(ShellError::Usage("no DataNodes given".to_owned())),
            false => Ok(targets),
        }
    }

    fn named(&self, port: u16) -> Result<Vec<Target>, ShellError> {
        let mut names = Vec::new();
        for name in &self.datanodes {
            if name != "-" {
                names.push(name.trim().to_owned());
                continue;
            }
            for line in std::io::stdin().lock().lines() {
                names.push(line.map_err(ShellError::local("standard input"))?.trim().to_owned());
            }
        }
        let target = |name: String| Target { address: with_port(&name, port), name };
        Ok(names.into_iter().filter(|name| !name.is_empty()).map(target).collect())
    }

    async fn in_service(&self, conf: &Configuration) -> Result<Vec<Target>, ShellError> {
        let scm = self.scm.client(conf);
        let states = (Some(NodeState::Healthy), Some(NodeOperationalState::InService));
        let mut targets = Vec::new();
        for node in scm.nodes(states.0, states.1).await? {
            let details = DatanodeDetails::from_wire(&node.node_id).map_err(nonsense)?;
            let Some(address) = details.address(&PortName::ClientRpc) else {
                let (host, ip) = (&details.host, &details.ip);
                eprintln!("DataNode {host} ({ip}) has no port for Hadoop RPC");
                continue;
            };
            targets.push(Target { name: shown(&details.host, &address), address });
        }
        Ok(targets)
    }

    /// Calls all DataNodes; the results are in their order.
    pub async fn call<Q: Message, A: Message + Default>(
        &self,
        conf: &Configuration,
        method: &str,
        request: &Q,
    ) -> Result<Vec<Outcome<A>>, ShellError> {
        let user = ClientOptions::from_configuration(conf).user;
        let bytes = bytes::Bytes::from(request.encode_to_vec());
        let calls = self.resolve(conf).await?.into_iter().map(|target| {
            let (bytes, user) = (bytes.clone(), user.clone());
            async move {
                let options = hadoop_rpc::ClientOptions::default();
                let client =
                    Client::new(&*target.address, PROTOCOL, &user, Identity::random(), options);
                let answered = client.call(method, bytes, TIMEOUT).await;
                let decode = |answer| A::decode(answer).map_err(TargetError::from);
                let result = answered.map_err(TargetError::from).and_then(decode);
                Outcome { target, result }
            }
        });
        Ok(stream::iter(calls).buffered(AT_A_TIME).collect().await)
    }

    /// Requests the disk balancer information of all DataNodes.
    pub async fn ask(
        &self,
        conf: &Configuration,
    ) -> Result<Vec<Outcome<DatanodeDiskBalancerInfoProto>>, ShellError> {
        let request = GetDiskBalancerInfoRequestProto { client_version: CLIENT_VERSION };
        let asked = self.call(conf, "getDiskBalancerInfo", &request).await?;
        let told = |outcome: Outcome<GetDiskBalancerInfoResponseProto>| Outcome {
            target: outcome.target,
            result: outcome.result.map(|answer| answer.info),
        };
        Ok(asked.into_iter().map(told).collect())
    }

    /// Returns `true` if the command applies to all DataNodes in service.
    pub fn are_all(&self) -> bool {
        self.in_service
    }
}

fn with_port(name: &str, port: u16) -> String {
    let has_port = match name.strip_prefix('[') {
        Some(rest) => rest.contains("]:"),
        None => name.matches(':').count() == 1,
    };
    match name {
        name if has_port => name.to_owned(),
        name if name.contains(':') && !name.starts_with('[') => format!("[{name}]:{port}"),
        name => format!("{name}:{port}"),
    }
}

/// Shows a host once if its name is its address.
fn shown(host: &str, address: &str) -> String {
    let is_named = address.strip_prefix(host).is_some_and(|rest| rest.starts_with(':'));
    if host.is_empty() || is_named { address.to_owned() } else { format!("{host} ({address})") }
}

/// Display name of a DataNode from its own report.
pub(super) fn name(info: &DatanodeDiskBalancerInfoProto) -> String {
    let node = &info.node;
    let port = node.ports.iter().find(|port| port.name == PortName::ClientRpc.as_str());
    let ip = &node.ip_address;
    let address = port.map_or_else(|| ip.clone(), |port| format!("{ip}:{}", port.value));
    shown(&node.host_name, &address)
}

/// Prints the failed DataNodes to standard error, one per line.
pub(super) fn warn_of_failures<T>(outcomes: &[Outcome<T>]) {
    for Outcome { target, result } in outcomes {
        if let Err(error) = result {
            eprintln!("Error on node [{}]: {error}", target.name);
        }
    }
}

/// A failed DataNode as JSON.
pub(super) fn failure(target: &Target, action: &str, error: &TargetError) -> Value {
    let error = error.to_string();
    json!({ "datanode": target.name, "action": action, "status": "failure", "errorMsg": error })
}

/// The result of the command: an error if any DataNode failed.
pub(super) fn conclude<T>(outcomes: &[Outcome<T>], what: &str) -> Result<(), ShellError> {
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.result.is_err()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = failed.iter().map(|outcome| &*outcome.target.name).collect();
    Err(ShellError::Refused(format!("Failed to {what} nodes: [{}]", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_once() {
        assert_eq!(shown("dn1", "10.0.0.1:7"), "dn1 (10.0.0.1:7)");
        assert_eq!(shown("10.0.0.1", "10.0.0.1:7"), "10.0.0.1:7");
        assert_eq!(shown("10.0.0.1", "10.0.0.11:7"), "10.0.0.1 (10.0.0.11:7)");
        assert_eq!(shown("", "10.0.0.1:7"), "10.0.0.1:7");
    }

    #[test]
    fn a_name_without_a_port_gets_the_default_one() {
        for (name, address) in [
            ("dn1", "dn1:19864"),
            ("dn1:7", "dn1:7"),
            ("10.0.0.1", "10.0.0.1:19864"),
            ("::1", "[::1]:19864"),
            ("[::1]", "[::1]:19864"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(with_port(name, 19864), address);
        }
    }
}
