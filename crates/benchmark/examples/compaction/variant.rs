//! The compared variants.

use metastore::{DeletionTrigger, StoreOptions};

use anyhow::{Result, bail};

/// A way to keep a table fast.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variant {
    name: String,
    /// RocksDB's CompactOnDeletionCollector.
    trigger: Option<DeletionTrigger>,
    /// Files record the positions of their tombstones.
    samples: bool,
    /// Files end at bucket boundaries.
    pub(crate) in_buckets: bool,
    /// Cursors skip known tombstones.
    pub(crate) gaps: bool,
    /// Concurrent maintenance.
    pub(crate) maintenance: Maintenance,
}

/// Maintenance concurrent with the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maintenance {
    /// Nothing.
    None,
    /// The whole table is compacted at intervals.
    Full,
    /// Ranges are compacted.
    Service,
}

impl Variant {
    /// The variant with this name.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn parse(name: &str) -> Result<Self> {
        let of = |trigger, samples, gaps, maintenance| Self {
            name: name.to_owned(),
            trigger,
            samples,
            in_buckets: false,
            gaps,
            maintenance,
        };
        if let Some(numbers) = name.strip_prefix("collector-") {
            let parsed = numbers
                .split_once('-')
                .and_then(|(window, trigger)| Some((window.parse().ok()?, trigger.parse().ok()?)));
            if let Some((window, trigger)) = parsed {
                let trigger = DeletionTrigger { window, trigger, ratio: 0.5 };
                return Ok(of(Some(trigger), false, false, Maintenance::None));
            }
        }
        match name {
            "none" => Ok(of(None, false, false, Maintenance::None)),
            "full" => Ok(of(None, false, false, Maintenance::Full)),
            "service" => Ok(of(None, false, false, Maintenance::Service)),
            "service-samples" => Ok(of(None, true, false, Maintenance::Service)),
            "gaps" => Ok(of(None, false, true, Maintenance::None)),
            "all" => Ok(Self { in_buckets: true, ..of(None, true, true, Maintenance::Service) }),
            _ => bail!("there is no variant {name}"),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The options of its database.
    pub(crate) fn options(&self) -> StoreOptions {
        let default = StoreOptions::default();
        StoreOptions {
            deletion_trigger: self.trigger,
            scan_deletion_trigger: self.trigger,
            sample_deletions: self.samples,
            skip_limit: if self.gaps { default.skip_limit } else { u64::MAX },
            block_cache_bytes: 256 << 20,
            ..default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_has_its_window_and_trigger_in_its_name() {
        let variant = Variant::parse("collector-128-64").unwrap();
        let trigger = variant.options().deletion_trigger.unwrap();
        assert_eq!((trigger.window, trigger.trigger), (128, 64));
        for name in ["collector-128", "collector-a-b", "other", ""] {
            assert!(Variant::parse(name).is_err(), "{name}");
        }
    }
}
