//! `o3 admin datanode diskbalancer report`.

use clap::Args;
use config::Configuration;
use proto::disk_balancer::{DatanodeDiskBalancerInfoProto, VolumeReportProto};
use serde_json::{Value, json};
use service::readable_bytes;

use super::targets::{Targets, conclude, failure, name, warn_of_failures};
use crate::{ShellError, output};

/// Show the utilization of the disks of DataNodes, and the difference of each to all disks of its
/// DataNode.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "VolumeDensity is the difference between a disk's utilization and that of all disks of \
    its DataNode (IdealUsage). EffectiveUsedSpace is all used space of the disk, plus the \
    space reserved by open containers, minus the space that pending moves free. Data directories that \
    share a file system have equal shares of it."
)]
pub struct Report {
    #[command(flatten)]
    targets: Targets,
}

/// Runs the command.
pub(super) async fn run(args: Report, conf: &Configuration) -> Result<(), ShellError> {
    let mut outcomes = args.targets.ask(conf).await?;
    // In order of unevenness.
    let density = |info: &DatanodeDiskBalancerInfoProto| info.current_volume_density_sum;
    outcomes.sort_by(|a, b| {
        let of = |result: &Result<_, _>| result.as_ref().map_or(f64::MIN, density);
        of(&b.result).total_cmp(&of(&a.result))
    });
    if args.targets.json {
        let list: Vec<Value> = outcomes
            .iter()
            .map(|outcome| match &outcome.result {
                Ok(info) => as_json(info),
                Err(error) => failure(&outcome.target, "report", error),
            })
            .collect();
        output::value(&list.into())?;
        return conclude(&outcomes, "get DiskBalancer report from");
    }
    warn_of_failures(&outcomes);
    let told: Vec<_> = outcomes.iter().filter_map(|o| o.result.as_ref().ok()).collect();
    for (index, info) in told.into_iter().enumerate() {
        if index == 0 {
            output::line("Report result:")?;
        }
        output::line(text(info))?;
    }
    conclude(&outcomes, "get DiskBalancer report from")
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// The range of utilizations in which a disk counts as even.
fn range(info: &DatanodeDiskBalancerInfoProto) -> (f64, f64) {
    let threshold = info.disk_balancer_conf.as_ref().map_or(0.0, |conf| conf.threshold()) / 100.0;
    let ideal = info.ideal_usage();
    ((ideal - threshold).max(0.0), (ideal + threshold).min(1.0))
}

fn text(info: &DatanodeDiskBalancerInfoProto) -> String {
    let (lower, upper) = range(info);
    let threshold = info.disk_balancer_conf.as_ref().map_or(0.0, |conf| conf.threshold());
    let mut lines = vec![
        format!("Datanode: {}", name(info)),
        format!("Aggregate VolumeDataDensity: {}", percent(info.current_volume_density_sum)),
        format!(
            "IdealUsage: {} | Threshold: {threshold:.2}% | ThresholdRange: ({}, {})",
            percent(info.ideal_usage()),
            percent(lower),
            percent(upper)
        ),
        String::new(),
        "Volume Details:".to_owned(),
        row(&COLUMNS.map(str::to_owned)),
    ];
    lines.extend(info.volume_info.iter().map(|volume| row(&cells(volume, info.ideal_usage()))));
    lines.push("-------".to_owned());
    lines.join("\n")
}

const COLUMNS: [&str; 9] = [
    "StorageID",
    "StoragePath",
    "OzoneCapacity",
    "OzoneAvailable",
    "OzoneUsed",
    "ContainerPreAllocatedSpace",
    "EffectiveUsedSpace",
    "Utilization",
    "VolumeDensity",
];

fn row(cells: &[String; 9]) -> String {
    let [id, path, capacity, available, used, allocated, effective, utilization, density] = cells;
    format!(
        "{id:<45} {path:<40} {capacity:>15} {available:>15} {used:>15} {allocated:>30} {effective:>20} \
         {utilization:>15} {density:>15}"
    )
}

fn cells(volume: &VolumeReportProto, ideal: f64) -> [String; 9] {
    [
        volume.storage_id().to_owned(),
        volume.storage_path().to_owned(),
        readable_bytes(volume.total_capacity()),
        readable_bytes(volume.ozone_available()),
        readable_bytes(volume.used_space()),
        readable_bytes(volume.committed_bytes()),
        readable_bytes(volume.effective_used_space()),
        percent(volume.utilization()),
        percent((volume.utilization() - ideal).abs()),
    ]
}

fn as_json(info: &DatanodeDiskBalancerInfoProto) -> Value {
    let (lower, upper) = range(info);
    let ideal = info.ideal_usage();
    let threshold = info.disk_balancer_conf.as_ref().map_or(0.0, |conf| conf.threshold());
    let volumes = info.volume_info.iter().map(|volume| {
        let [id, path, capacity, available, used, allocated, effective, utilization, density] =
            cells(volume, ideal);
        json!({
            "storageId": id,
            "storagePath": path,
            "ozoneCapacity": capacity,
            "ozoneAvailable": available,
            "ozoneUsed": used,
            "containerPreAllocatedSpace": allocated,
            "effectiveUsedSpace": effective,
            "utilization": utilization,
            "volumeDensity": density,
        })
    });
    json!({
        "datanode": name(info),
        "action": "report",
        "status": "success",
        "volumeDensity": percent(info.current_volume_density_sum),
        "idealUsage": percent(ideal),
        "threshold %": format!("{threshold:.2}%"),
        "thresholdRange": format!("({}, {})", percent(lower), percent(upper)),
        "volumes": volumes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_the_range_and_each_disk() {
        let volume = VolumeReportProto {
            storage_id: Some("DS-1".into()),
            total_capacity: Some(100 << 30),
            effective_used_space: Some(80 << 30),
            utilization: Some(0.8),
            ..Default::default()
        };
        let conf = proto::disk_balancer::DiskBalancerConfigurationProto {
            threshold: Some(60.0),
            ..Default::default()
        };
        let info = DatanodeDiskBalancerInfoProto {
            current_volume_density_sum: 0.35,
            ideal_usage: Some(0.45),
            disk_balancer_conf: Some(conf),
            volume_info: vec![volume],
            ..Default::default()
        };
        let shown = as_json(&info);
        assert_eq!(shown["thresholdRange"], "(0.00%, 100.00%)");
        assert_eq!(shown["volumes"][0]["volumeDensity"], "35.00%");
        assert_eq!(shown["volumes"][0]["ozoneCapacity"], "100.00 GB");
        let shown = text(&info);
        assert!(shown.contains("Aggregate VolumeDataDensity: 35.00%"), "{shown}");
        assert!(shown.contains("80.00 GB"), "{shown}");
    }
}
