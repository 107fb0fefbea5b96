//! Settings of the compaction of tables.

use std::time::Duration;

use config::keys::om as keys;
use config::{Configuration, Key};
use metastore::compaction::Limits as CompactionLimits;

use crate::background::FullCompactionOptions;
use crate::error::Error;
use crate::state::compaction::CompactionOptions;

pub(super) fn compaction(conf: &Configuration) -> Result<CompactionOptions, Error> {
    let percentage = &keys::OZONE_OM_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE;
    let tombstone_percentage = conf.get(percentage);
    if !(1..=100).contains(&tombstone_percentage) {
        let reason = format!("{tombstone_percentage} is not a percentage from 1 to 100");
        return Err(Error::Setting { key: percentage.name(), reason });
    }
    let interval = &keys::OZONE_OM_RANGE_COMPACTION_SERVICE_INTERVAL;
    Ok(CompactionOptions {
        enabled: conf.get(&keys::OZONE_OM_RANGE_COMPACTION_SERVICE_ENABLED),
        interval: positive(conf, interval)?,
        limits: CompactionLimits {
            max_entries: conf
                .get(&keys::OZONE_OM_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES)
                .max(1),
            min_tombstones: conf
                .get(&keys::OZONE_OM_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES)
                .max(1),
            tombstone_percentage,
        },
    })
}

pub(super) fn full_compaction(
    conf: &Configuration,
) -> Result<Option<FullCompactionOptions>, Error> {
    let families = &keys::OZONE_OM_COMPACTION_SERVICE_COLUMNFAMILIES;
    let named = |name: &String| {
        let table = namespace::Table::ALL.into_iter().find(|table| table.name() == name.trim());
        let reason = format!("there is no table {name}");
        table.ok_or(Error::Setting { key: families.name(), reason })
    };
    let tables = conf.get(families).iter().map(named).collect::<Result<_, _>>()?;
    let interval = positive(conf, &keys::OZONE_OM_COMPACTION_SERVICE_RUN_INTERVAL)?;
    let enabled = conf.get(&keys::OZONE_OM_COMPACTION_SERVICE_ENABLED);
    Ok(enabled.then_some(FullCompactionOptions { interval, tables }))
}

/// An interval at which something is done.
fn positive(conf: &Configuration, key: &'static Key<Duration>) -> Result<Duration, Error> {
    let interval = conf.get(key);
    match interval.is_zero() {
        true => Err(Error::Setting { key: key.name(), reason: "it must not be 0".to_owned() }),
        false => Ok(interval),
    }
}
