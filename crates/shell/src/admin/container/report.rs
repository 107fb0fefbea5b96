//! `o3 admin container report`.

use clap::Args;
use config::Configuration;
use proto::hdds::{LifeCycleState, ReplicationManagerReportProto};
use serde_json::{Map, Value, json};

use crate::admin::ScmArgs;
use crate::{ShellError, output};

/// How many containers are in which state, and which are not as they should be.
#[derive(Debug, Clone, Args)]
pub struct Report {
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// Runs the command.
pub(crate) async fn run(args: Report, conf: &Configuration) -> Result<(), ShellError> {
    let report = args.scm.client(conf).container_report().await?;
    if args.json {
        return output::value(&as_json(&report));
    }
    output::line("Container State Summary\n=======================")?;
    let (states, troubles): (Vec<_>, Vec<_>) =
        report.stat.iter().partition(|s| LifeCycleState::from_str_name(&s.key).is_some());
    for stat in states {
        output::line(format!("{}: {}", stat.key, stat.value()))?;
    }
    output::line("\nContainer Health Summary\n========================")?;
    for stat in troubles {
        output::line(format!("{}: {}", stat.key, stat.value()))?;
    }
    for sample in report.stat_sample.iter().filter(|s| !s.container.is_empty()) {
        let ids: Vec<_> = sample.container.iter().map(|c| format!("#{}", c.id)).collect();
        let title = format!("First {} {} containers:", ids.len(), sample.key);
        output::line(format!("\n{title}\n{}\n{}", "=".repeat(title.len()), ids.join(", ")))?;
    }
    Ok(())
}

fn as_json(report: &ReplicationManagerReportProto) -> Value {
    let stats: Map<String, Value> =
        report.stat.iter().map(|s| (s.key.clone(), s.value().into())).collect();
    let samples: Map<String, Value> = report
        .stat_sample
        .iter()
        .map(|s| (s.key.clone(), s.container.iter().map(|c| c.id).collect::<Vec<_>>().into()))
        .collect();
    json!({ "reportTimeStamp": report.timestamp, "stats": stats, "samples": samples })
}
