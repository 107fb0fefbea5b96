//! `o3 admin service run|pause|resume`.

use clap::Args;
use client::{ClientOptions, ServerClient};
use config::Configuration;
use proto::background_service::{BackgroundServiceAction, BackgroundServicesResponse};
use serde_json::Value;

use super::{as_json, list_of};
use crate::admin::servers::{Answer, ServerArgs, each};
use crate::{ShellError, output};

/// The services and servers of a command.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin service run KeyDeletingService\n  \
    o3 admin service pause ContainerDataScanner --node dn7.example.com")]
pub struct Act {
    /// Names of services, as shown by the list; a name before a hyphen selects all that begin with
    /// it, such as ContainerDataScanner for the scanners of all disks.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    servers: ServerArgs,
    /// Print the new state of the services as JSON.
    #[arg(long)]
    json: bool,
}

/// Response of a server with its services.
type Services = Answer<BackgroundServicesResponse>;

/// Runs the command.
pub(super) async fn run(
    args: Act,
    action: BackgroundServiceAction,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let options = ClientOptions::from_configuration(conf);
    let client = ServerClient::new(&options);
    let listed = list_of(&args.servers, &client, &options, &args.names).await?;
    for name in &args.names {
        if !listed.iter().any(|answer| has(answer, name)) {
            let silent = listed.iter().filter(|answer| answer.told.is_err()).count();
            let said = if silent == 0 { "" } else { " (some servers did not answer)" };
            return Err(ShellError::Refused(format!("no server has a service {name}{said}")));
        }
    }
    let concerned = |answer: &Services| answer.told.as_ref().is_ok_and(|t| !t.services.is_empty());
    let (concerned, others): (Vec<_>, Vec<_>) = listed.into_iter().partition(concerned);
    let servers = concerned.into_iter().map(|answer| answer.server).collect();
    let act =
        async |address: String| client.background_services(&address, action, &args.names).await;
    let mut answers = each(servers, act).await;
    // Servers without a response may have such services, too.
    answers.extend(others.into_iter().filter(|answer| answer.told.is_err()));
    if args.json {
        let all: Vec<Value> = answers.iter().map(as_json).collect();
        output::value(&all.into())?;
    }
    let done = match action {
        BackgroundServiceAction::Run => "runs",
        BackgroundServiceAction::Pause => "paused",
        BackgroundServiceAction::Resume => "resumed",
        BackgroundServiceAction::List => "listed",
    };
    let mut refused = Vec::new();
    for answer in &answers {
        match &answer.told {
            Ok(told) if !args.json => {
                let heading = answer.heading(Some(&told.node_id));
                for service in &told.services {
                    output::line(format!("{heading}: {} {done}", service.name))?;
                }
            }
            Ok(_) => {}
            Err(error) => refused.push(format!("{}: {error}", answer.heading(None))),
        }
    }
    match refused.is_empty() {
        true => Ok(()),
        false => Err(ShellError::Refused(refused.join("; "))),
    }
}

fn has(answer: &Services, name: &str) -> bool {
    let is = |service: &str| {
        service.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    answer.told.as_ref().is_ok_and(|told| told.services.iter().any(|s| is(&s.name)))
}
