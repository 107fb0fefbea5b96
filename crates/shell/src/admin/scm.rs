//! `o3 admin scm`.

use clap::{Args, Subcommand};
use config::Configuration;
use serde_json::{Map, Value, json};

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Commands for SCM.
#[derive(Debug, Clone, Subcommand)]
pub enum ScmCommand {
    /// Show the leader and the followers.
    Roles(Roles),
    /// Transfer leadership to another SCM.
    Transfer(Transfer),
    /// Remove an SCM from the service.
    Decommission(Decommission),
}

/// Remove an SCM from the service.
#[derive(Debug, Clone, Args)]
pub struct Decommission {
    /// Id of the SCM, as shown by `roles`, or its node id.
    #[arg(long = "nodeid", visible_alias = "node-id", value_name = "ID")]
    node: String,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Transfer leadership to another SCM.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false, id = "to")]
pub struct Transfer {
    /// Id of the new leader, as shown by `roles`, or its node id.
    #[arg(short = 'n', long = "newLeaderId", group = "to")]
    new_leader: Option<String>,
    /// Choose any other SCM.
    #[arg(short, long, group = "to")]
    random: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Show the leader and the followers.
#[derive(Debug, Clone, Args)]
pub struct Roles {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs a command.
pub(crate) async fn run(command: ScmCommand, conf: &Configuration) -> Result<(), ShellError> {
    let args = match command {
        ScmCommand::Roles(args) => args,
        ScmCommand::Transfer(args) => return transfer(args, conf).await,
        ScmCommand::Decommission(args) => return decommission(args, conf).await,
    };
    let roles = args.scm.client(conf).scm_info().await?.peer_roles;
    if !args.json {
        return roles.iter().try_for_each(output::line);
    }
    output::value(&by_host(&roles).into())
}

async fn transfer(args: Transfer, conf: &Configuration) -> Result<(), ShellError> {
    args.scm.client(conf).transfer_leadership(args.new_leader.as_deref()).await?;
    output::line("Transfer leadership successfully.")
}

async fn decommission(args: Decommission, conf: &Configuration) -> Result<(), ShellError> {
    let Decommission { node, scm } = args;
    match scm.client(conf).decommission_scm(&node).await? {
        None => output::line(format!("Decommissioned Scm {node}")),
        Some(why) => Err(ShellError::Refused(format!("Error decommissioning Scm {node}: {why}"))),
    }
}

/// The roles by host, as Ozone prints them; SCMs on one host are distinguished by port.
fn by_host(roles: &[String]) -> Map<String, Value> {
    let mut all = Map::new();
    for (host, value) in roles.iter().filter_map(|r| role(r)) {
        let key = match all.contains_key(&host) {
            true => value["address"].as_str().unwrap_or(&host).to_owned(),
            false => host,
        };
        all.insert(key, value);
    }
    all
}

/// `host:ratisPort:ROLE:scmId:ip`.
fn role(text: &str) -> Option<(String, Value)> {
    let mut parts = text.splitn(5, ':');
    let (host, port, role) = (parts.next()?, parts.next()?, parts.next()?);
    let (id, ip) = (parts.next()?, parts.next().unwrap_or_default());
    let value = json!({
        "address": format!("{host}:{port}"),
        "raftPeerRole": role,
        "ID": id,
        "InetAddress": ip,
    });
    Some((host.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::{by_host, role};

    #[test]
    fn scms_of_one_host_are_all_there() {
        let all = by_host(&["h:1:LEADER:a:ip".into(), "h:2:FOLLOWER:b:ip".into()]);
        assert_eq!(all["h"]["ID"], "a");
        assert_eq!(all["h:2"]["ID"], "b");
    }

    #[test]
    fn a_role_is_taken_apart() {
        let (host, value) = role("vm:15615:LEADER:1a351de8:127.0.0.1").unwrap();
        assert_eq!(host, "vm");
        assert_eq!(value["address"], "vm:15615");
        assert_eq!(value["InetAddress"], "127.0.0.1");
        assert!(role("vm").is_none());
    }
}
