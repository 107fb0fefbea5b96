//! The cache of first chunks on fast disks: its settings, its metrics, its part of the status page.

use std::sync::{Arc, Weak};

use chunkcache::{CacheOptions, ChunkCache, Figures};
use config::Configuration;
use config::keys::datanode as dn;
use service::{MetricsRegistry, Section};

use crate::DatanodeError;

/// Bytes of the smallest cache directory.
const LEAST: u64 = 64 << 20;

/// Options to open it with, if there is to be one.
///
/// # Errors
/// When a directory would hold hardly a chunk.
pub(crate) fn options(conf: &Configuration) -> Result<Option<CacheOptions>, DatanodeError> {
    let dirs = conf.get(&dn::TRIOXIDE_DATANODE_CACHE_DIRS);
    let capacity = conf.get(&dn::TRIOXIDE_DATANODE_CACHE_CAPACITY);
    if capacity.bytes() < LEAST {
        return Err(DatanodeError::Setting {
            key: dn::TRIOXIDE_DATANODE_CACHE_CAPACITY.name(),
            value: capacity.to_string(),
            reason: "64MB is the least",
        });
    }
    Ok((!dirs.is_empty()).then(|| CacheOptions::new(dirs, capacity.bytes())))
}

/// Shows what it counts; zeros where there is none.
pub(crate) fn watch(registry: &MetricsRegistry, cache: Option<&Arc<ChunkCache>>) {
    let cache = cache.map_or_else(Weak::new, Arc::downgrade);
    let figures = move || cache.upgrade().map(|cache| cache.figures()).unwrap_or_default();
    let gauge = |name: &str, help: &str, value: fn(&Figures) -> u64| {
        let figures = figures.clone();
        let name = format!("chunk_cache_{name}");
        registry.gauge_fn(&name, help, move || value(&figures()) as f64);
    };
    gauge("from_reads", "First chunks that came into the cache when they were read", |f| {
        f.from_reads
    });
    gauge("from_writes", "First chunks that came into the cache when they were written", |f| {
        f.from_writes
    });
    gauge("hits", "Reads that the cache of first chunks answered", |f| f.hits);
    gauge("misses", "Reads of first chunks that the cache did not have", |f| f.misses);
    gauge("evictions", "First chunks that made room for others", |f| f.evictions);
    gauge("load_failures", "Cached chunks that could not be read in time, or were wrong", |f| {
        f.load_failures
    });
    gauge("left_out", "Chunks that did not come in: too many waited, or no room", |f| f.left_out);
    gauge("chunks", "First chunks in the cache", |f| f.chunks);
    gauge("bytes", "Bytes of the first chunks in the cache", |f| f.bytes);
}

/// Returns its section of the status page.
pub(crate) fn section(cache: &ChunkCache) -> Section {
    let f = cache.figures();
    let rate = match f.hits + f.misses {
        0 => "-".to_owned(),
        all => format!("{:.1}%", f.hits as f64 * 100.0 / all as f64),
    };
    let mut facts = vec![
        ("chunks from reads".to_owned(), f.from_reads.to_string()),
        ("chunks from writes".to_owned(), f.from_writes.to_string()),
        ("hits".to_owned(), f.hits.to_string()),
        ("misses".to_owned(), f.misses.to_string()),
        ("hit rate".to_owned(), rate),
        ("evictions".to_owned(), f.evictions.to_string()),
        ("load failures".to_owned(), f.load_failures.to_string()),
        ("left out".to_owned(), f.left_out.to_string()),
    ];
    for directory in cache.directories() {
        let state = match directory.failure {
            Some(why) => format!("no longer used: {why}"),
            None => format!("{} chunks, {} bytes", directory.chunks, directory.bytes),
        };
        facts.push((directory.path.display().to_string(), state));
    }
    Section::facts("Chunk cache", facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_of_nothing_is_refused_and_none_is_the_default() {
        let conf = Configuration::builder().build().unwrap();
        assert!(options(&conf).unwrap().is_none());
        let conf = conf.with("trioxide.datanode.cache.dirs", "/fast/1,/fast/2");
        assert_eq!(options(&conf).unwrap().unwrap().dirs.len(), 2);
        let refused = options(&conf.with("trioxide.datanode.cache.capacity", "0"));
        assert!(matches!(refused, Err(DatanodeError::Setting { .. })));
    }
}
