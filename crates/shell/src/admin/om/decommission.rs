//! `o3 admin om decommission`: removes an OM permanently.

use clap::Args;
use config::Configuration;
use config::keys::om as keys;
use proto::om_admin::{NodeState, OmConfigurationResponse};

use super::OmArgs;
use crate::{ShellError, output};

/// Remove an OM from the service.
#[derive(Debug, Clone, Args)]
pub struct Decommission {
    /// Id of the OM.
    #[arg(long = "nodeid", visible_alias = "node-id", value_name = "ID")]
    node: String,
    /// Host of the OM, for confirmation.
    #[arg(long = "hostname", visible_alias = "node-host-address", value_name = "HOST")]
    host: String,
    /// Continue even if some OMs do not list it in ozone.om.decommissioned.nodes.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// Removes it.
pub(super) async fn run(args: Decommission, conf: &Configuration) -> Result<(), ShellError> {
    let Decommission { node, host, force, om } = args;
    let service = match &om.service {
        Some(service) => service.clone(),
        None => {
            let services = conf.get(&keys::OZONE_OM_SERVICE_IDS);
            let first = services.first().cloned();
            first.ok_or_else(|| ShellError::Refused("no OM service is configured".to_owned()))?
        }
    };
    let client = om.client(conf)?;
    if !force {
        let mut stale = Vec::new();
        for (address, answer) in client.om_configurations().await {
            match answer {
                Ok(answer) if marked(&answer, &node) => {}
                Ok(_) => stale.push(address),
                Err(error) => stale.push(format!("{address} ({error})")),
            }
        }
        if !stale.is_empty() {
            let key = format!("ozone.om.decommissioned.nodes.{service}");
            let message = format!(
                "{node} is not in {key} of these OMs: {}; --force skips this check",
                stale.join(", ")
            );
            return Err(ShellError::Refused(message));
        }
    }
    let answer = client.decommission_om(&node, &host).await?;
    if !answer.success {
        return Err(ShellError::Refused(answer.error_msg.unwrap_or_default()));
    }
    output::line(format!("Successfully decommissioned OM {node}"))
}

/// Returns `true` if an OM's configuration lists `node` as decommissioned.
fn marked(answer: &OmConfigurationResponse, node: &str) -> bool {
    let gone = Some(NodeState::Decommissioned as i32);
    answer.nodes_in_new_conf.iter().any(|n| n.node_id == node && n.node_state == gone)
}
