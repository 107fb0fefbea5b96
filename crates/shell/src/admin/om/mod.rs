//! `o3 admin om`.

mod compaction;
mod decommission;
mod latency;
mod prepare;

use std::time::Duration;

use clap::{Args, Subcommand};
use client::{Client, ClientOptions};
use config::Configuration;
use proto::hdds::TransferLeadershipRequestProto;
use proto::om_admin::OmStateResponse;
use proto::ozone::{OmRequest, OmResponse, Status, Type};
use serde_json::{Value, json};

use crate::{ShellError, output};

/// Commands for the OMs of a service.
#[derive(Debug, Clone, Subcommand)]
pub enum OmCommand {
    /// Show the leader and the followers.
    Roles(Roles),
    /// Transfer leadership to another OM.
    Transfer(Transfer),
    /// Show the lag and latency of each OM, nearest first: the values by which clients choose an OM
    /// for follower reads.
    Lag(Lag),
    /// Show the latency of requests by verb and stage.
    Latency(latency::Latency),
    /// Prepare all OMs for an upgrade: bring them to the same state with empty logs. Writes are
    /// rejected from then on.
    Prepare(prepare::Prepare),
    /// Cancel the preparation and accept writes again.
    #[command(name = "cancelprepare")]
    CancelPrepare(prepare::CancelPrepare),
    /// Remove an OM from the service. List it in ozone.om.decommissioned.nodes.SERVICE of all OMs
    /// first.
    Decommission(decommission::Decommission),
    /// Compaction of ranges of the tables in which deletions left tombstones: status, run.
    #[command(subcommand)]
    Compaction(compaction::CompactionCommand),
}

/// Show the leader and the followers.
#[derive(Debug, Clone, Args)]
pub struct Roles {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// Transfer leadership to another OM.
#[derive(Debug, Clone, Args)]
pub struct Transfer {
    /// Id of the new leader.
    #[arg(
        short = 'n',
        long = "newLeaderId",
        value_name = "ID",
        required_unless_present = "random"
    )]
    new_leader: Option<String>,
    /// Choose any other OM.
    #[arg(short, long, conflicts_with = "new_leader")]
    random: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// Show the lag and latency of each OM.
#[derive(Debug, Clone, Args)]
pub struct Lag {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    om: OmArgs,
}

/// The OM service of a command.
#[derive(Debug, Clone, Args)]
struct OmArgs {
    /// Id of the OM service, if several are configured.
    #[arg(long = "service-id", visible_alias = "om-service-id", value_name = "ID")]
    service: Option<String>,
}

impl OmArgs {
    fn client(&self, conf: &Configuration) -> Result<Client, ShellError> {
        let conf = match &self.service {
            Some(id) => conf.with("ozone.om.service.ids", id),
            None => conf.clone(),
        };
        Ok(Client::new(ClientOptions::from_configuration(&conf))?)
    }
}

/// Runs a command.
pub(crate) async fn run(command: OmCommand, conf: &Configuration) -> Result<(), ShellError> {
    match command {
        OmCommand::Roles(args) => roles(args, conf).await,
        OmCommand::Transfer(args) => transfer(args, conf).await,
        OmCommand::Lag(args) => lag(args, conf).await,
        OmCommand::Latency(args) => latency::run(args, conf).await,
        OmCommand::Prepare(args) => prepare::prepare(args, conf).await,
        OmCommand::CancelPrepare(args) => prepare::cancel(args, conf).await,
        OmCommand::Decommission(args) => decommission::run(args, conf).await,
        OmCommand::Compaction(command) => compaction::run(command, conf).await,
    }
}

async fn roles(args: Roles, conf: &Configuration) -> Result<(), ShellError> {
    let request =
        OmRequest { service_list_request: Some(Box::default()), ..request(Type::ServiceList) };
    let answer = submit(&args.om.client(conf)?, request).await?;
    let services = answer.service_list_response.unwrap_or_default().service_info;
    let oms = services.into_iter().filter_map(|s| s.om_role.map(|role| (s.hostname, role)));
    if args.json {
        let all: Vec<Value> = oms
            .map(|(host, role)| {
                json!({ host: { "serverRole": role.server_role, "nodeId": role.node_id } })
            })
            .collect();
        return output::value(&all.into());
    }
    for (host, role) in oms {
        output::line(format!("{} : {} ({host})", role.node_id, role.server_role))?;
    }
    Ok(())
}

async fn transfer(args: Transfer, conf: &Configuration) -> Result<(), ShellError> {
    let client = args.om.client(conf)?;
    let wanted = args.new_leader.unwrap_or_default();
    let asked = TransferLeadershipRequestProto { new_leader_id: wanted.clone() };
    let request = OmRequest {
        transfer_om_leadership_request: Some(Box::new(asked)),
        ..request(Type::TransferLeadership)
    };
    submit(&client, request).await?;
    if args.json {
        let leader = match args.random {
            true => Value::Null,
            false => wanted.into(),
        };
        return output::value(&json!({ "transferred": true, "leader": leader }));
    }
    output::line(match args.random {
        true => "Transfer leadership successfully to random node.".to_owned(),
        false => format!("Transfer leadership successfully to {wanted}."),
    })
}

async fn lag(args: Lag, conf: &Configuration) -> Result<(), ShellError> {
    let client = args.om.client(conf)?;
    // The first calls include the time to connect.
    client.om_states().await;
    let mut states = client.om_states().await;
    let latency =
        |s: &client::Result<(OmStateResponse, Duration)>| s.as_ref().ok().map(|(_, l)| *l);
    states.sort_by_key(|(_, s)| latency(s).unwrap_or(Duration::MAX));
    let answered = states.iter().filter_map(|(_, s)| s.as_ref().ok());
    let newest = answered.map(|(s, _)| s.committed).max().unwrap_or_default();
    if args.json {
        let all: Vec<Value> = states
            .iter()
            .map(|(address, state)| match state {
                Ok((s, latency)) => json!({
                    "nodeId": s.node_id,
                    "address": address,
                    "role": s.role,
                    "term": s.term,
                    "applied": s.applied,
                    "lag": newest.saturating_sub(s.applied),
                    "leaderHeardMs": s.silent_ms,
                    "behindMs": s.behind_ms,
                    "latencyMicros": u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
                }),
                Err(e) => json!({ "address": address, "error": e.to_string() }),
            })
            .collect();
        return output::value(&all.into());
    }
    let header = ["OM", "ROLE", "ADDRESS", "LATENCY", "APPLIED", "LAG", "LEADER HEARD", "BEHIND"];
    output::line(row(header.map(str::to_owned)))?;
    for (address, state) in &states {
        output::line(match state {
            Ok((s, latency)) => row([
                s.node_id.clone(),
                s.role.clone(),
                address.clone(),
                format!("{:.2} ms", latency.as_secs_f64() * 1e3),
                s.applied.to_string(),
                newest.saturating_sub(s.applied).to_string(),
                s.silent_ms.map_or("never".to_owned(), |ms| format!("{ms} ms ago")),
                match s.behind_ms {
                    _ if s.role == "LEADER" => "-".to_owned(),
                    Some(ms) => format!("up to {ms} ms"),
                    None => "unknown".to_owned(),
                },
            ]),
            Err(e) => format!("{:<10}{:<11}{address:<24}{e}", "?", "DOWN"),
        })?;
    }
    Ok(())
}

fn row([om, role, address, latency, applied, lag, heard, behind]: [String; 8]) -> String {
    format!(
        "{om:<10}{role:<11}{address:<24}{latency:>10}{applied:>12}{lag:>8}  {heard:<14}{behind}"
    )
}

fn request(command: Type) -> OmRequest {
    OmRequest { cmd_type: command as i32, version: Some(3), ..OmRequest::default() }
}

async fn submit(client: &Client, request: OmRequest) -> Result<OmResponse, ShellError> {
    let answer = client.submit(request).await?;
    match answer.status() {
        Status::Ok => Ok(answer),
        status => {
            let message = answer.message.unwrap_or_default();
            Err(ShellError::Refused(format!("{} {message}", status.as_str_name())))
        }
    }
}
