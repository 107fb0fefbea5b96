//! Settings that each seed draws, from ranges that are declared only here: those that change times
//! and amounts of work, and no guarantee.
//!
//! They come from a stream of their own, so that a run without them (`--settings usual`) is the one
//! that a seed always had. Settings that a kind of fault depends on keep the values of the kind.

use config::Configuration;

use crate::world::random::Random;

/// A key, and the values that it may have: the product's own default among them where a run is not
/// too short to see anything of it.
pub type Choice = (&'static str, &'static [&'static str]);

/// A setting with the value that was drawn.
pub type Drawn = (&'static str, &'static str);

/// Settings that are drawn.
pub const TABLE: [Choice; 31] = [
    // Shapes.
    ("ozone.scm.container.size", &["1MB", "2MB", "5MB", "16MB"]),
    ("ozone.scm.block.size", &["256KB", "1MB", "4MB"]),
    ("ozone.client.stream.buffer.size", &["32KB", "256KB", "4MB"]),
    ("ozone.client.checksum.type", &["CRC32", "CRC32C", "SHA256", "MD5"]),
    ("ozone.client.bytes.per.checksum", &["8KB", "16KB", "1MB"]),
    ("trioxide.small.block.size", &["16B", "4KB", "128KB"]),
    ("hdds.container.chunk.write.sync", &["false", "true"]),
    // Logs and tables.
    ("hdds.ratis.snapshot.threshold", &["20", "200", "100000"]),
    ("ozone.scm.ha.ratis.snapshot.threshold", &["20", "200", "1000"]),
    ("ozone.om.ratis.snapshot.auto.trigger.threshold", &["50", "400", "400000"]),
    ("trioxide.om.cache.size", &["64KB", "4MB", "1GB"]),
    // Repairs.
    ("hdds.scm.replication.thread.interval", &["1s", "2s", "7s"]),
    ("hdds.scm.replication.under.replicated.interval", &["0s", "3s"]),
    ("hdds.scm.replication.over.replicated.interval", &["0s", "10s"]),
    ("hdds.scm.replication.event.timeout", &["20s", "40s", "2m"]),
    ("hdds.scm.replication.datanode.replication.limit", &["1", "3", "20"]),
    ("hdds.scm.replication.datanode.delete.container.limit", &["1", "40"]),
    ("hdds.scm.replication.inflight.limit.factor", &["0.75", "0"]),
    ("trioxide.datanode.replication.bandwidth", &["200KB", "0B"]),
    // Scans.
    ("hdds.container.scrub.metadata.scan.interval", &["5s", "30s", "3h"]),
    ("hdds.container.scrub.data.scan.interval", &["10s", "60s", "7d"]),
    ("hdds.container.scrub.volume.bytes.per.second", &["100KB", "5MB"]),
    ("hdds.container.scrub.min.gap", &["0s", "20s", "15m"]),
    // Balancers.
    ("hdds.datanode.disk.balancer.max.disk.throughputInMBPerSec", &["1", "10"]),
    ("hdds.datanode.disk.balancer.parallel.thread", &["1", "5"]),
    ("hdds.container.balancer.utilization.threshold", &["0.05", "0.1", "0.2"]),
    // Deletions.
    ("trioxide.om.deleted.blocks.kept", &["0s", "3s", "30s"]),
    ("trioxide.om.key.deleting.service.interval", &["1s", "5s"]),
    ("ozone.key.deleting.limit.per.task", &["1", "20", "20000"]),
    ("hdds.scm.block.deletion.per-interval.max", &["1", "50", "500000"]),
    ("ozone.block.deleting.service.interval", &["1s", "5s", "1m"]),
];

/// Draws a seed's settings, except the keys that are `settled`: half of the rest has a value, and
/// the other half that of the scenario.
pub fn draw(seed: u64, settled: impl Fn(&str) -> bool) -> Vec<Drawn> {
    let mut random = Random::new(seed ^ u64::from_le_bytes(*b"settings"));
    // Each key takes the same numbers of the stream, whatever is settled.
    let all = TABLE.iter().map(|(key, values)| (random.one_in(2), *key, *random.pick(values)));
    let drawn = all.filter(|(is_drawn, key, _)| *is_drawn && !settled(key));
    drawn.map(|(_, key, value)| (key, value)).collect()
}

/// A configuration with drawn settings.
pub fn apply(conf: Configuration, drawn: &[Drawn]) -> Configuration {
    drawn.iter().fold(conf, |conf, (key, value)| conf.with(key, *value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use scm::ScmOptions;

    use super::*;

    /// With unknown keys refused, and the servers' required keys.
    fn with(key: &str, value: &str) -> Result<Configuration, String> {
        let usual = ["trioxide.config.unknown.keys=error", "ozone.metadata.dirs=/tmp/metadata"];
        let definitions = usual.map(str::to_owned).into_iter().chain([format!("{key}={value}")]);
        let mut builder = Configuration::builder();
        for definition in definitions {
            builder = builder.define(definition).map_err(|error| error.to_string())?;
        }
        builder.build().map_err(|error| error.to_string())
    }

    #[test]
    fn the_product_accepts_every_value_of_the_table() {
        let mut wrong = Vec::new();
        for (key, value) in TABLE.iter().flat_map(|(key, all)| all.iter().map(move |v| (*key, *v)))
        {
            let checked = with(key, value).and_then(|conf| {
                ScmOptions::from_configuration(&conf).map(drop).map_err(|error| error.to_string())
            });
            wrong.extend(checked.err().map(|why| format!("{key}={value}: {why}")));
        }
        assert_eq!(wrong, [""; 0]);
        let keys: BTreeSet<&str> = TABLE.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys.len(), TABLE.len(), "a key is there twice");
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        assert!(with("ozone.scm.container.sise", "1MB").is_err());
        assert!(with("ozone.scm.container.size", "much").is_err());
    }

    #[test]
    fn a_seed_draws_the_same_again_and_others_draw_others() {
        let none = |_: &str| false;
        assert_eq!(draw(7, none), draw(7, none));
        let all: BTreeSet<_> = (0..200).flat_map(|seed| draw(seed, none)).collect();
        let values: usize = TABLE.iter().map(|(_, values)| values.len()).sum();
        assert_eq!(all.len(), values, "each value is drawn by some seed");
        let key = TABLE[3].0;
        let rest: Vec<_> = draw(7, none).into_iter().filter(|(of, _)| *of != key).collect();
        assert_eq!(draw(7, |of| of == key), rest);
    }
}
