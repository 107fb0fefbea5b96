//! `o3 admin service`: what goes on by itself on every server.

mod act;
mod list;

use clap::Subcommand;
use client::{ClientOptions, ServerClient};
use config::Configuration;
use proto::background_service::{BackgroundServiceAction, BackgroundServicesResponse};

use serde_json::{Value, json};

use crate::ShellError;
use crate::admin::servers::{Answer, ServerArgs, each};

/// What can be done with background services.
#[derive(Debug, Clone, Subcommand)]
pub enum ServiceCommand {
    /// What goes on by itself on every OM, SCM and DataNode, how often, and what it came to.
    List(list::List),
    /// Have services run once, now, also while they are paused.
    Run(act::Act),
    /// Keep services from running by themselves, until they are resumed or their server starts
    /// again.
    Pause(act::Act),
    /// Let paused services run by themselves again.
    Resume(act::Act),
}

/// Runs one.
pub(crate) async fn run(command: ServiceCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        ServiceCommand::List(args) => list::run(args, conf).await,
        ServiceCommand::Run(args) => act::run(args, BackgroundServiceAction::Run, conf).await,
        ServiceCommand::Pause(args) => act::run(args, BackgroundServiceAction::Pause, conf).await,
        ServiceCommand::Resume(args) => act::run(args, BackgroundServiceAction::Resume, conf).await,
    }
}

/// A server and what it told of its services.
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

/// Lists the services of these names, all when there is none, of each server that is meant.
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
