//! Settings that differ from run to run: time-outs, limits, and thresholds small enough that what
//! is rare in a large cluster happens in a small one.

use config::Configuration;

use crate::scenario::nemesis::faults::Kind;
use crate::scenario::settings::{Drawn, draw};
use crate::world::random::Random;

/// A key and the values that it may have.
type Choice = (&'static str, &'static [&'static str]);

const CHOICES: [Choice; 28] = [
    ("hdds.heartbeat.interval", &["1s", "2s", "5s"]),
    ("ozone.scm.stale.node.interval", &["15s", "20s", "40s"]),
    ("ozone.scm.dead.node.interval", &["50s", "60s", "600s"]),
    ("ozone.scm.container.size", &["4MB", "16MB", "64MB"]),
    ("ozone.scm.block.size", &["128KB", "1MB", "4MB"]),
    ("ozone.scm.pipeline.owner.container.count", &["1", "3"]),
    ("ozone.scm.pipeline.destroy.timeout", &["10s", "66s"]),
    ("ozone.scm.pipeline.allocated.timeout", &["10s", "20s"]),
    ("ozone.scm.sequence.id.batch.size", &["10", "100000"]),
    ("ozone.scm.ha.ratis.snapshot.threshold", &["20", "200", "1000"]),
    ("ozone.om.ratis.snapshot.auto.trigger.threshold", &["50", "400", "400000"]),
    ("hdds.ratis.snapshot.threshold", &["20", "200", "100000"]),
    ("hdds.scm.replication.thread.interval", &["5s", "30s"]),
    ("hdds.scm.replication.event.timeout", &["30s", "12m"]),
    ("hdds.scm.wait.time.after.safemode.exit", &["10s", "60s"]),
    ("hdds.scm.block.deleting.service.interval", &["1s", "10s"]),
    ("ozone.block.deleting.service.interval", &["2s", "1m"]),
    ("trioxide.om.key.deleting.service.interval", &["1s", "20s"]),
    ("trioxide.om.deleted.blocks.kept", &["0s", "5s"]),
    ("ozone.key.deleting.limit.per.task", &["1", "20000"]),
    ("trioxide.om.block.pool.size", &["10", "1000"]),
    ("trioxide.om.block.pool.age", &["5s", "1m", "5m"]),
    ("trioxide.om.election.timeout", &["500ms", "1s", "3s"]),
    ("trioxide.scm.election.timeout", &["500ms", "1s", "3s"]),
    ("hdds.ratis.leader.election.minimum.timeout.duration", &["500ms", "1s", "5s"]),
    ("trioxide.small.block.size", &["16B", "4KB", "128KB"]),
    ("trioxide.om.snapshot.rate", &["1MB", "200MB"]),
    ("hdds.container.chunk.write.sync", &["false", "true"]),
];

/// Settings that make a history likely: its time must not be shorter than it takes.
const CHOICES_OF_KINDS: [(Kind, Choice); 27] = [
    (Kind::IsolatedLeader, ("ozone.scm.stale.node.interval", &["15s"])),
    (Kind::IsolatedLeader, ("ozone.scm.dead.node.interval", &["60s"])),
    (Kind::IsolatedLeader, ("hdds.heartbeat.interval", &["1s"])),
    (Kind::IsolatedLeader, ("trioxide.om.block.pool.age", &["5m"])),
    (Kind::IsolatedLeader, ("ozone.scm.block.size", &["4MB"])),
    (Kind::IsolatedLeader, ("trioxide.small.block.size", &["4KB"])),
    (Kind::BlockSyncErrors, ("hdds.ratis.snapshot.threshold", &["20"])),
    (Kind::BlockSyncErrors, ("trioxide.small.block.size", &["4KB", "512KB"])),
    (Kind::BlockSyncErrors, ("ozone.scm.pipeline.owner.container.count", &["1", "3"])),
    (Kind::RecommissionBesideStale, ("ozone.scm.stale.node.interval", &["15s"])),
    (Kind::RecommissionBesideStale, ("ozone.scm.dead.node.interval", &["600s"])),
    (Kind::RecommissionBesideStale, ("hdds.scm.replication.thread.interval", &["5s"])),
    // OMs compact and split deleted data all the time, in small batches.
    (Kind::Snapshots, ("ozone.om.range.compaction.service.interval", &["300ms", "2s"])),
    (Kind::Snapshots, ("ozone.om.range.compaction.service.min.tombstones", &["2", "10"])),
    (Kind::Snapshots, ("ozone.om.range.compaction.service.tombstone.percentage", &["1", "10"])),
    (Kind::Snapshots, ("trioxide.om.key.deleting.service.interval", &["300ms", "2s"])),
    (Kind::Snapshots, ("trioxide.om.deleted.blocks.kept", &["0s", "1s"])),
    (Kind::Snapshots, ("ozone.key.deleting.limit.per.task", &["1", "20"])),
    (Kind::Snapshots, ("ozone.snapshot.deleting.service.interval", &["300ms", "2s"])),
    (Kind::Snapshots, ("ozone.snapshot.key.deleting.limit.per.task", &["1", "20"])),
    (Kind::Snapshots, ("ozone.om.ratis.snapshot.auto.trigger.threshold", &["20", "100"])),
    (Kind::Snapshots, ("hdds.scm.block.deleting.service.interval", &["1s"])),
    (Kind::Snapshots, ("ozone.block.deleting.service.interval", &["1s"])),
    (Kind::Copies, ("ozone.om.http.enabled", &["true"])),
    (Kind::BlockedReader, ("ozone.om.http.enabled", &["true"])),
    (Kind::BlockedReader, ("ozone.om.ratis.snapshot.auto.trigger.threshold", &["20"])),
    (Kind::Copies, ("trioxide.om.checkpoint.rate", &["100KB", "1MB", "100MB"])),
];

/// Settings that a seed draws from those of all scenarios, except those that a kind of fault
/// depends on, and the pace of repairs and of work that waits for them, since links are cut for
/// minutes here and the end has its bounds.
pub fn draw_beside(seed: u64, kinds: &[Kind]) -> Vec<Drawn> {
    let of_kinds = |key: &str| {
        let mut kept = CHOICES_OF_KINDS.iter().filter(|(kind, _)| kinds.contains(kind));
        kept.any(|(_, (of, _))| *of == key)
    };
    draw(seed, |key| of_kinds(key) || key.starts_with("hdds.scm.replication."))
}

/// Takes each of them from the seed, or leaves it as it is.
pub fn vary(conf: Configuration, kinds: &[Kind], random: &mut Random) -> Configuration {
    let conf = CHOICES.iter().fold(conf, |conf, (key, values)| match random.one_in(2) {
        true => conf.with(key, *random.pick(values)),
        false => conf,
    });
    let of_kinds = CHOICES_OF_KINDS.iter().filter(|(kind, _)| kinds.contains(kind));
    of_kinds.fold(conf, |conf, (_, (key, values))| conf.with(key, *random.pick(values)))
}
