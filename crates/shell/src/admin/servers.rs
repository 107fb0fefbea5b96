//! Requests to the servers of every role.

use clap::{Args, ValueEnum};
use client::{ClientOptions, ScmClient};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use types::{DatanodeDetails, PortName};

use crate::ShellError;
use crate::admin::scm_client::nonsense;

/// Number of servers queried in parallel.
const AT_A_TIME: usize = 64;

/// Roles of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerRole {
    Om,
    Scm,
    Datanode,
}

/// The servers of a command.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerArgs {
    /// Only servers of this role; may be given several times.
    #[arg(long, value_name = "ROLE")]
    role: Vec<ServerRole>,
    /// Only servers with this id, host name, IP address or host:port; may be given several times.
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
}

/// A server, with all its names.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) role: ServerRole,
    pub(crate) address: String,
    names: Vec<String>,
}

/// Response of a server.
pub(crate) struct Answer<T> {
    pub(crate) server: Server,
    pub(crate) told: client::Result<T>,
}

impl ServerRole {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Om => "om",
            Self::Scm => "scm",
            Self::Datanode => "datanode",
        }
    }
}

impl<T> Answer<T> {
    /// Heading of a server in human-readable output, with its id if known.
    pub(crate) fn heading(&self, id: Option<&str>) -> String {
        let Server { role, address, .. } = &self.server;
        match id {
            Some(id) => format!("{} {id} ({address})", role.name()),
            None => format!("{} {address}", role.name()),
        }
    }

    /// A failed server as JSON.
    pub(crate) fn failed_json(&self, error: &client::Error) -> Value {
        let Server { role, address, .. } = &self.server;
        json!({ "role": role.name(), "address": address, "error": error.to_string() })
    }
}

impl ServerArgs {
    /// Keeps the responses of the servers given by `--node`; OMs and SCMs report their ids.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn retain<T>(
        &self,
        answers: &mut Vec<Answer<T>>,
        id: impl Fn(&T) -> &str,
    ) -> Result<(), ShellError> {
        answers.retain(|answer| {
            let id = answer.told.as_ref().ok().map(&id);
            let is = |name: &String| {
                answer.server.names.contains(name) || id.is_some_and(|id| id == name)
            };
            self.node.is_empty() || self.node.iter().any(is)
        });
        match answers.is_empty() {
            true => {
                let nodes = self.node.join(", ");
                Err(ShellError::Usage(format!("there is no such server: --node {nodes}")))
            }
            false => Ok(()),
        }
    }

    /// The servers of the selected roles, in the order of roles, then of the configuration or of
    /// SCM's list.
    ///
    /// # Errors
    /// If SCM cannot list the DataNodes.
    pub(crate) async fn of_roles(
        &self,
        options: &ClientOptions,
    ) -> Result<Vec<Server>, ShellError> {
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
                // A DataNode without the port is not one of ours.
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

/// Calls servers in parallel; the responses are in their order.
pub(crate) async fn each<T, F: Future<Output = client::Result<T>>>(
    servers: Vec<Server>,
    ask: impl Fn(String) -> F,
) -> Vec<Answer<T>> {
    let asked = servers.into_iter().map(|server| {
        let told = ask(server.address.clone());
        async move { Answer { server, told: told.await } }
    });
    stream::iter(asked).buffered(AT_A_TIME).collect().await
}
