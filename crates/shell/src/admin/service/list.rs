//! `o3 admin service list`.

use std::time::{Duration, SystemTime};

use clap::Args;
use client::{ClientOptions, ServerClient};
use config::Configuration;
use proto::background_service::BackgroundServiceStatus;
use serde_json::Value;
use service::readable_duration;

use super::{as_json, list_of};
use crate::admin::servers::ServerArgs;
use crate::{ShellError, output};

/// List the background services of every server.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin service list\n  \
    o3 admin service list --role datanode BlockDeletingService --json")]
pub struct List {
    /// Only services of these names; a name before a hyphen selects all that begin with it.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    servers: ServerArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) async fn run(args: List, conf: &Configuration) -> Result<(), ShellError> {
    let options = ClientOptions::from_configuration(conf);
    let client = ServerClient::new(&options);
    let answers = list_of(&args.servers, &client, &options, &args.names).await?;
    if args.json {
        let all: Vec<Value> = answers.iter().map(as_json).collect();
        output::value(&all.into())?;
    } else {
        let now = SystemTime::now();
        for answer in &answers {
            match &answer.told {
                Ok(told) => {
                    output::line(answer.heading(Some(&told.node_id)))?;
                    output::line(HEADER)?;
                    let mut rows = told.services.iter().map(|service| row(service, now));
                    rows.try_for_each(output::line)?;
                }
                Err(error) => output::line(format!("{}: {error}", answer.heading(None)))?,
            }
        }
    }
    match answers.iter().any(|answer| answer.told.is_ok()) {
        true => Ok(()),
        false => Err(ShellError::Refused("no server answered".to_owned())),
    }
}

const HEADER: &str = "  SERVICE                                 STATE      INTERVAL      RUNS         \
     ITEMS   SKIPPED  LAST RUN";

fn row(service: &BackgroundServiceStatus, now: SystemTime) -> String {
    let state = match (service.state.as_str(), service.paused) {
        // A run in progress, or a requested one.
        ("running", true) => "running*",
        (state, _) => state,
    };
    let last = service.last_run.map(|at| SystemTime::UNIX_EPOCH + Duration::from_millis(at));
    let last = match last {
        None => "never".to_owned(),
        Some(at) => {
            let ago = now.duration_since(at).unwrap_or_default();
            format!("{} ago", readable_duration(ago))
        }
    };
    let failure = service.last_failure.as_ref().map_or_else(String::new, |f| format!(", {f}"));
    format!(
        "  {:<40}{:<11}{:>8}{:>10}{:>14}{:>10}  {last}{failure}",
        service.name,
        state,
        readable_duration(Duration::from_millis(service.interval_ms)),
        service.runs,
        service.items,
        service.skipped,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_a_service_does() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let mut service = BackgroundServiceStatus {
            name: "KeyDeletingService".to_owned(),
            state: "idle".to_owned(),
            paused: false,
            interval_ms: 60_000,
            runs: 3,
            items: 20,
            skipped: 1,
            last_run: Some(995_000),
            last_failure: None,
        };
        let idle = row(&service, now);
        assert!(idle.ends_with("60 s         3            20         1  5 s ago"), "{idle}");
        service.paused = true;
        service.state = "running".to_owned();
        service.last_failure = Some("disk gone".to_owned());
        let running = row(&service, now);
        assert!(running.contains("running* ") && running.ends_with("ago, disk gone"), "{running}");
        // A clock that was set back.
        service.last_run = Some(u64::MAX / 2_000_000);
        assert!(row(&service, now).contains("0 ms ago"));
    }
}
