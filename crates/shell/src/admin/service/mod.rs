//! `o3 admin service`: background services of every server.

mod act;
mod list;

use clap::Subcommand;
use client::{ClientOptions, ServerClient};
use config::Configuration;
use proto::background_service::{BackgroundServiceAction, BackgroundServicesResponse};

use serde_json::{Value, json};

use crate::ShellError;
use crate::admin::servers::{Answer, ServerArgs, each};

/// Commands for background services.
#[derive(Debug, Clone, Subcommand)]
pub enum ServiceCommand {
    /// List the background services of every OM, SCM and DataNode with their intervals and results.
    List(list::List),
    /// Run services once now, even if they are paused.
    Run(act::Act),
    /// Pause services until they are resumed or their server restarts.
    Pause(act::Act),
    /// Resume paused services.
    Resume(act::Act),
}

/// Runs a command.
pub(crate) async fn run(command: ServiceCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        ServiceCommand::List(args) => list::run(args, conf).await,
        ServiceCommand::Run(args) => act::run(args, BackgroundServiceAction::Run, conf).await,
        ServiceCommand::Pause(args) => act::run(args, BackgroundServiceAction::Pause, conf).await,
        ServiceCommand::Resume(args) => act::run(args, BackgroundServiceAction::Resume, conf).await,
    }
}

/// A server and its services.
fn as_json(answer: &Answer<BackgroundServicesResponse>) -> Value {
    let told = match &answer.told {
        Ok(told) => told,
        Err(error) => return answer.failed_json(error),
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
    json!({
        "role": told.role,
        "nodeId": told.node_id,
        "address": answer.server.address,
        "services": services,
    })
}

/// Lists the services of these names, or all, of each selected server.
async fn list_of(
    servers: &ServerArgs,
    client: &ServerClient,
    options: &ClientOptions,
    names: &[String],
) -> Result<Vec<Answer<BackgroundServicesResponse>>, ShellError> {
    let all = servers.of_roles(options).await?;
    let list = BackgroundServiceAction::List;
    let mut answers =
        each(all, async |address| client.background_services(&address, list, names).await).await;
    servers.retain(&mut answers, |told| &told.node_id)?;
    Ok(answers)
}
