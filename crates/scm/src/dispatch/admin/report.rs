//! The replication manager's report: containers by state and by health.

use placement::replica::health::{HEALTHS, STATES};
use placement::replica::progress;
use proto::container_location::ReplicationManagerReportResponseProto;
use proto::hdds::{
    ContainerId, KeyContainerIdList, KeyIntValue, RepairProgressProto,
    ReplicationManagerReportProto,
};

use crate::core::Core;

/// GetReplicationManagerReport.
pub fn report(core: &Core) -> ReplicationManagerReportResponseProto {
    let now = core.clock.now();
    let (health, progress, limit) = {
        let cluster = core.cluster();
        let limit = cluster.settings.replication.sample_limit;
        (cluster.health_report(), cluster.repair_progress(now), limit)
    };
    let count = |key: &'static str| KeyIntValue {
        key: key.to_owned(),
        value: Some(health.counts.get(key).copied().unwrap_or(0) as i64),
    };
    let sample = |(key, ids): (&&str, &Vec<types::ContainerId>)| KeyContainerIdList {
        key: (*key).to_owned(),
        container: ids.iter().map(|id| ContainerId { id: id.0 }).collect(),
    };
    let states = STATES.iter().map(|s| count(s.as_str_name()));
    ReplicationManagerReportResponseProto {
        report: ReplicationManagerReportProto {
            timestamp: now as i64,
            stat: states.chain(HEALTHS.into_iter().map(count)).collect(),
            stat_sample: health.samples.iter().map(sample).collect(),
            sample_limit: Some(limit as i32),
            repair_progress: Some(RepairProgressProto {
                missing: progress.missing,
                missing_bytes: progress.missing_bytes,
                under_way: progress.under_way,
                lost: progress.lost,
                made: progress.made,
                made_bytes: progress.made_bytes,
                window_millis: progress::WINDOW,
                left_millis: progress.left,
            }),
        },
    }
}
