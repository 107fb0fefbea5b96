//! `o3 admin datanode diskbalancer status`.

use clap::Args;
use config::Configuration;
use proto::disk_balancer::{DatanodeDiskBalancerInfoProto, DiskBalancerConfigurationProto};
use serde_json::{Value, json};

use super::targets::{Targets, conclude, failure, name, warn_of_failures};
use crate::{ShellError, output};

const MB: f64 = 1_048_576.0;

/// Show the state, parameters and progress of the disk balancers of DataNodes.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "EstBytesToMove(MB) is the amount to move until no disk differs by more than the threshold, \
    EstTimeLeft(min) the time for it at the bandwidth. Both may be above 0 although no container \
    can be moved."
)]
pub struct Status {
    #[command(flatten)]
    targets: Targets,
}

/// Runs the command.
pub(super) async fn run(args: Status, conf: &Configuration) -> Result<(), ShellError> {
    let outcomes = args.targets.ask(conf).await?;
    if args.targets.json {
        let list: Vec<Value> = outcomes
            .iter()
            .map(|outcome| match &outcome.result {
                Ok(info) => as_json(info),
                Err(error) => failure(&outcome.target, "status", error),
            })
            .collect();
        output::value(&list.into())?;
        return conclude(&outcomes, "get DiskBalancer status from");
    }
    warn_of_failures(&outcomes);
    let told: Vec<_> = outcomes.iter().filter_map(|o| o.result.as_ref().ok()).collect();
    if !told.is_empty() {
        output::line("Status result:")?;
        output::line(row(&COLUMNS.map(str::to_owned)))?;
        told.into_iter().try_for_each(|info| output::line(row(&cells(info))))?;
    }
    conclude(&outcomes, "get DiskBalancer status from")
}

const COLUMNS: [&str; 12] = [
    "Datanode",
    "Status",
    "Threshold(%)",
    "BandwidthInMB",
    "Threads",
    "StopAfterDiskEven",
    "ContainerStates",
    "SuccessMove",
    "FailureMove",
    "BytesMoved(MB)",
    "EstBytesToMove(MB)",
    "EstTimeLeft(min)",
];

fn row(cells: &[String; 12]) -> String {
    let [
        node,
        status,
        threshold,
        bandwidth,
        threads,
        stops,
        states,
        moved,
        failed,
        bytes,
        left,
        time,
    ] = cells;
    format!(
        "{node:<60} {status:<12} {threshold:<15} {bandwidth:<15} {threads:<12} {stops:<20} {states:<40} \
         {moved:<12} {failed:<12} {bytes:<15} {left:<18} {time:<20}"
    )
}

fn configuration(info: &DatanodeDiskBalancerInfoProto) -> DiskBalancerConfigurationProto {
    info.disk_balancer_conf.clone().unwrap_or_default()
}

fn megabytes(bytes: u64) -> u64 {
    (bytes as f64 / MB).ceil() as u64
}

/// Remaining minutes at the current bandwidth; `None` if it has none.
fn minutes_left(info: &DatanodeDiskBalancerInfoProto) -> Option<u64> {
    let bandwidth = configuration(info).disk_bandwidth_in_mb();
    let left = info.bytes_to_move() as f64 / MB;
    (bandwidth > 0).then(|| (left / bandwidth as f64 / 60.0).ceil() as u64)
}

fn cells(info: &DatanodeDiskBalancerInfoProto) -> [String; 12] {
    let conf = configuration(info);
    [
        name(info),
        info.running_status().as_str_name().to_owned(),
        format!("{:.4}", conf.threshold()),
        conf.disk_bandwidth_in_mb().to_string(),
        conf.parallel_thread().to_string(),
        conf.stop_after_disk_even().to_string(),
        conf.container_states().to_owned(),
        info.success_move_count().to_string(),
        info.failure_move_count().to_string(),
        megabytes(info.bytes_moved()).to_string(),
        megabytes(info.bytes_to_move()).to_string(),
        minutes_left(info).map_or_else(|| "N/A".to_owned(), |minutes| minutes.to_string()),
    ]
}

fn as_json(info: &DatanodeDiskBalancerInfoProto) -> Value {
    let conf = configuration(info);
    json!({
        "datanode": name(info),
        "action": "status",
        "status": "success",
        "serviceStatus": info.running_status().as_str_name(),
        "threshold": conf.threshold(),
        "bandwidthInMB": conf.disk_bandwidth_in_mb(),
        "threads": conf.parallel_thread(),
        "stopAfterDiskEven": conf.stop_after_disk_even(),
        "containerStates": conf.container_states(),
        "successMove": info.success_move_count(),
        "failureMove": info.failure_move_count(),
        "bytesMovedMB": megabytes(info.bytes_moved()),
        "estBytesToMoveMB": megabytes(info.bytes_to_move()),
        "estTimeLeftMin": minutes_left(info).map_or(-1, |minutes| minutes as i64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_whole_megabytes_and_minutes() {
        let with = |bytes_to_move: u64, mb: u64| {
            let conf = DiskBalancerConfigurationProto {
                disk_bandwidth_in_mb: Some(mb),
                ..Default::default()
            };
            DatanodeDiskBalancerInfoProto {
                bytes_to_move: Some(bytes_to_move),
                disk_balancer_conf: Some(conf),
                ..Default::default()
            }
        };
        assert_eq!(megabytes(0), 0);
        assert_eq!(megabytes(1), 1);
        assert_eq!(megabytes(3 << 20), 3);
        assert_eq!(minutes_left(&with(0, 10)), Some(0));
        assert_eq!(minutes_left(&with(601 << 20, 10)), Some(2));
        assert_eq!(minutes_left(&with(1, 0)), None);
    }
}
