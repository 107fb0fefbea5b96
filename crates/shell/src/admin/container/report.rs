//! `o3 admin container report`.

use clap::Args;
use config::Configuration;
use proto::hdds::{LifeCycleState, RepairProgressProto, ReplicationManagerReportProto};
use serde_json::{Map, Value, json};

use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Show the number of containers by state and health, and the progress of repairs.
#[derive(Debug, Clone, Args)]
pub struct Report {
    /// Print JSON.
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
    if let Some(progress) = &report.repair_progress {
        output::line("\nContainer Repair\n================")?;
        for line in lines_of(progress) {
            output::line(line)?;
        }
    }
    for sample in report.stat_sample.iter().filter(|s| !s.container.is_empty()) {
        let ids: Vec<_> = sample.container.iter().map(|c| format!("#{}", c.id)).collect();
        let title = format!("First {} {} containers:", ids.len(), sample.key);
        output::line(format!("\n{title}\n{}\n{}", "=".repeat(title.len()), ids.join(", ")))?;
    }
    Ok(())
}

/// The lines about the progress of repairs.
fn lines_of(progress: &RepairProgressProto) -> Vec<String> {
    let RepairProgressProto { missing, missing_bytes, under_way, lost, made, made_bytes, .. } =
        *progress;
    let minutes = progress.window_millis / 60_000;
    let whole = match progress.left_millis {
        Some(0) if lost == 0 => "now".to_owned(),
        Some(0) => "now, except for unreadable containers".to_owned(),
        Some(millis) => format!("in about {}", time(millis)),
        None => "unknown, too few recent repairs".to_owned(),
    };
    let mut lines = vec![
        format!("Replicas to create: {missing} of {missing_bytes} bytes, {under_way} in flight"),
        format!("Replicas created in the last {minutes} minutes: {made} of {made_bytes} bytes"),
        format!("Complete: {whole}"),
    ];
    if lost > 0 {
        lines.push(format!("Unreadable containers: {lost}"));
    }
    lines
}

/// Formats a time in its largest two units.
pub(crate) fn time(millis: u64) -> String {
    let seconds = millis.div_ceil(1000);
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

fn as_json(report: &ReplicationManagerReportProto) -> Value {
    let stats: Map<String, Value> =
        report.stat.iter().map(|s| (s.key.clone(), s.value().into())).collect();
    let samples: Map<String, Value> = report
        .stat_sample
        .iter()
        .map(|s| (s.key.clone(), s.container.iter().map(|c| c.id).collect::<Vec<_>>().into()))
        .collect();
    let mut json =
        json!({ "reportTimeStamp": report.timestamp, "stats": stats, "samples": samples });
    if let Some(progress) = &report.repair_progress {
        json["repair"] = json!({
            "missingReplicas": progress.missing,
            "missingBytes": progress.missing_bytes,
            "underWay": progress.under_way,
            "lostContainers": progress.lost,
            "madeReplicas": progress.made,
            "madeBytes": progress.made_bytes,
            "windowMillis": progress.window_millis,
            "wholeInMillis": progress.left_millis,
        });
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_repair_is_is_said_in_words() {
        let progress = RepairProgressProto {
            missing: 3,
            missing_bytes: 3_000,
            under_way: 2,
            made: 4,
            made_bytes: 4_000,
            window_millis: 300_000,
            left_millis: Some(90_001),
            ..RepairProgressProto::default()
        };
        assert_eq!(
            lines_of(&progress),
            [
                "Replicas to create: 3 of 3000 bytes, 2 in flight",
                "Replicas created in the last 5 minutes: 4 of 4000 bytes",
                "Complete: in about 1 min 31 s",
            ]
        );
        let last = |left_millis, lost| {
            lines_of(&RepairProgressProto { left_millis, lost, ..progress }).pop().unwrap()
        };
        assert_eq!(last(Some(0), 0), "Complete: now");
        assert_eq!(last(None, 0), "Complete: unknown, too few recent repairs");
        assert_eq!(last(Some(0), 2), "Unreadable containers: 2");
    }

    #[test]
    fn times_have_two_units() {
        for (millis, text) in [
            (1, "1 s"),
            (59_000, "59 s"),
            (60_000, "1 min 0 s"),
            (3_600_000 * 5 + 60_000 * 7 + 5_000, "5 h 7 min"),
            (86_400_000 * 3 + 3_600_000 * 2, "3 d 2 h"),
        ] {
            assert_eq!(time(millis), text);
        }
    }
}
