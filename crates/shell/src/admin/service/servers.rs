//! Which servers are asked, and what they answer.

use clap::{Args, ValueEnum};
use client::{BackgroundServicesClient, ClientOptions, ScmClient};
use config::Configuration;
use futures::{StreamExt, stream};
use proto::background_service::{BackgroundServiceAction, BackgroundServicesResponse};
use serde_json::{Value, json};
use types::{DatanodeDetails, PortName};

use crate::ShellError;
use crate::admin::nonsense;

/// Servers asked at a time.
const AT_A_TIME: usize = 64;

/// Roles that have background services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ServerRole {
    Om,
    Scm,
    Datanode,
}

/// Which servers.
#[derive(Debug, Clone, Args)]
pub(super) struct ServerArgs {
    /// Only servers of this role; may be given several times.
    #[arg(long, value_name = "ROLE")]
    role: Vec<ServerRole>,
    /// Only servers with this id, host name, IP address or host:port; may be given several times.
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
}

/// A server, by all that it may be called.
#[derive(Debug, Clone)]
pub(super) struct Server {
    role: ServerRole,
    address: String,
    names: Vec<String>,
}

/// What a server answered.
pub(super) struct Answer {
    pub(super) server: Server,
    pub(super) told: client::Result<BackgroundServicesResponse>,
}

impl ServerRole {
    fn name(self) -> &'static str {
        match self {
            Self::Om => "om",
            Self::Scm => "scm",
            Self::Datanode => "datanode",
        }
    }
}

impl Answer {
    /// The server, for people.
    pub(super) fn heading(&self) -> String {
        let Server { role, address, .. } = &self.server;
        match &self.told {
            Ok(told) => format!("{} {} ({address})", role.name(), told.node_id),
            Err(_) => format!("{} {address}", role.name()),
        }
    }

    pub(super) fn json(&self) -> Value {
        let (role, address) = (self.server.role.name(), &self.server.address);
        let told = match &self.told {
            Ok(told) => told,
            Err(error) => {
                return json!({ "role": role, "address": address, "error": error.to_string() });
            }
        };
        let services: Vec<Value> = told
            .services
            .iter()
            .map(|service| {
                json!({
                    "name": service.name,
                    "state": service.state,
                    "paused": service.paused,
                    "intervalMs": service.interval_ms,
                    "runs": service.runs,
                    "items": service.items,
                    "skipped": service.skipped,
                    "lastRun": service.last_run,
                    "lastFailure": service.last_failure,
                })
            })
            .collect();
        json!({ "role": role, "nodeId": told.node_id, "address": address, "services": services })
    }
}

impl ServerArgs {
    /// Lists the services of these names, all when there is none, of each server that is meant. In
    /// the order of roles, then as servers are configured or SCM lists them.
    ///
    /// # Errors
    /// When SCM does not say which DataNodes there are, or no server is meant.
    pub(super) async fn list(
        &self,
        conf: &Configuration,
        names: &[String],
    ) -> Result<Vec<Answer>, ShellError> {
        let options = ClientOptions::from_configuration(conf);
        let servers = self.of_roles(&options).await?;
        let mut answers = ask(&options, servers, BackgroundServiceAction::List, names).await;
        answers.retain(|answer| self.means(answer));
        if answers.is_empty() {
            let nodes = self.node.join(", ");
            return Err(ShellError::Usage(format!("there is no such server: --node {nodes}")));
        }
        Ok(answers)
    }

    /// Whether a server is among those that `--node` names: OMs and SCMs tell their ids.
    fn means(&self, answer: &Answer) -> bool {
        let id = answer.told.as_ref().ok().map(|told| told.node_id.as_str());
        let is =
            |name: &String| answer.server.names.contains(name) || id.is_some_and(|id| id == name);
        self.node.is_empty() || self.node.iter().any(is)
    }

    async fn of_roles(&self, options: &ClientOptions) -> Result<Vec<Server>, ShellError> {
        let wanted = |role| self.role.is_empty() || self.role.contains(&role);
        let mut servers = Vec::new();
        let configured =
            [(ServerRole::Om, &options.om_addresses), (ServerRole::Scm, &options.scm_addresses)];
        for (role, addresses) in configured {
            if wanted(role) {
                servers.extend(addresses.iter().map(|address| {
                    let host = address.rsplit_once(':').map_or(address.as_str(), |(h, _)| h);
                    let names = vec![address.clone(), host.to_owned()];
                    Server { role, address: address.clone(), names }
                }));
            }
        }
        if wanted(ServerRole::Datanode) {
            for node in ScmClient::new(options).nodes(None, None).await? {
                let details = DatanodeDetails::from_wire(&node.node_id).map_err(nonsense)?;
                // One without the port is no server of ours.
                let Some(address) = details.address(&PortName::Native) else { continue };
                let named = details
                    .port(&PortName::Native)
                    .map_or_else(String::new, |port| format!("{}:{port}", details.host));
                let id = details.id.to_string();
                let names = vec![id, details.host, details.ip, address.clone(), named];
                servers.push(Server { role: ServerRole::Datanode, address, names });
            }
        }
        Ok(servers)
    }
}

/// Asks servers, many at a time; the answers are in their order.
pub(super) async fn ask(
    options: &ClientOptions,
    servers: Vec<Server>,
    action: BackgroundServiceAction,
    names: &[String],
) -> Vec<Answer> {
    let client = BackgroundServicesClient::new(options);
    let asked = servers.into_iter().map(|server| {
        let client = &client;
        async move {
            let told = client.ask(&server.address, action, names).await;
            Answer { server, told }
        }
    });
    stream::iter(asked).buffered(AT_A_TIME).collect().await
}
