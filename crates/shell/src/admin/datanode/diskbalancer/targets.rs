//! Which DataNodes are asked, and asking them.

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
use crate::admin::{ScmArgs, nonsense};

const PROTOCOL: (&str, u64) = ("org.apache.hadoop.hdds.protocol.DiskBalancerProtocol", 1);

/// How long one DataNode may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// DataNodes asked at a time.
const AT_A_TIME: usize = 16;

/// What Ozone's tools call the version of their client.
const CLIENT_VERSION: u32 = 2;

/// Which DataNodes, and how the outcome is shown.
#[derive(Debug, Clone, Args)]
pub(super) struct Targets {
    /// DataNodes by host name or IP address, with :PORT where their Hadoop RPC is not on the
    /// default port; - reads them from standard input, one on a line.
    #[arg(value_name = "DATANODE", required_unless_present = "in_service")]
    datanodes: Vec<String>,
    /// All DataNodes that are healthy and in service.
    #[arg(long = "in-service-datanodes")]
    in_service: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// A DataNode that is asked.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// Host and port.
    pub address: String,
    /// As it is shown.
    pub name: String,
}

/// What came of asking one.
pub(super) struct Outcome<T> {
    pub target: Target,
    pub result: Result<T, TargetError>,
}

/// Why a DataNode did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum TargetError {
    /// It refused; where it was asked is said beside it.
    #[error("{0}")]
    Refused(String),
    /// It gave no answer.
    #[error(transparent)]
    Call(CallError),
    /// Its answer makes no sense.
    #[error("the answer makes no sense: {0}")]
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
    /// The DataNodes, each once.
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
            true => Err(ShellError::Usage("no DataNode to ask".to_owned())),
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

    /// Calls all of them; in their order.
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

    /// Asks all of them how their disks are.
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

    /// Whether all DataNodes in service are meant.
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

/// A host whose name is its address is not named twice.
fn shown(host: &str, address: &str) -> String {
    let is_named = address.strip_prefix(host).is_some_and(|rest| rest.starts_with(':'));
    if host.is_empty() || is_named { address.to_owned() } else { format!("{host} ({address})") }
}

/// A DataNode by its own words.
pub(super) fn name(info: &DatanodeDiskBalancerInfoProto) -> String {
    let node = &info.node;
    let port = node.ports.iter().find(|port| port.name == PortName::ClientRpc.as_str());
    let ip = &node.ip_address;
    let address = port.map_or_else(|| ip.clone(), |port| format!("{ip}:{}", port.value));
    shown(&node.host_name, &address)
}

/// Those that failed, one on a line of standard error.
pub(super) fn warn_of_failures<T>(outcomes: &[Outcome<T>]) {
    for Outcome { target, result } in outcomes {
        if let Err(error) = result {
            eprintln!("Error on node [{}]: {error}", target.name);
        }
    }
}

/// One that failed, as JSON.
pub(super) fn failure(target: &Target, action: &str, error: &TargetError) -> Value {
    let error = error.to_string();
    json!({ "datanode": target.name, "action": action, "status": "failure", "errorMsg": error })
}

/// The command's own outcome: a failure when any of them failed.
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
