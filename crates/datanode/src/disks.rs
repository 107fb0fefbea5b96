//! What the disks are opened with, from the configuration.

use std::path::{Path, PathBuf};

use blockio::{DiskOptions, Engine};
use config::keys::{datanode as dn, trioxide};
use config::{ByteSize, Configuration};
use types::DatanodeId;

use crate::settings::Settings;
use crate::storage::{BEGUN_FILE, ChoosingPolicy, DataDirectory, StorageOptions};

/// The options of all disks.
pub(crate) fn options(settings: &Settings, cluster_id: &str, id: DatanodeId) -> StorageOptions {
    let conf = &settings.conf;
    let reserved = reserved(&conf.get(&dn::HDDS_DATANODE_DIR_DU_RESERVED));
    let dirs = settings
        .data_dirs
        .iter()
        .enumerate()
        .map(|(index, path)| DataDirectory {
            path: path.clone(),
            raft_dir: raft_dir(settings, index, id),
            reserved: reserved_of(&reserved, path),
        })
        .collect();
    let policy = conf.get(&dn::HDDS_DATANODE_VOLUME_CHOOSING_POLICY);
    let cache = conf.get(&dn::HDDS_DATANODE_METADATA_ROCKSDB_CACHE_SIZE).as_usize();
    StorageOptions {
        begun: Some(settings.id_file.with_file_name(BEGUN_FILE)),
        min_free_space: conf.get(&dn::HDDS_DATANODE_VOLUME_MIN_FREE_SPACE).bytes(),
        reserved_share: conf.get(&dn::HDDS_DATANODE_DIR_DU_RESERVED_PERCENT),
        choosing: if policy.to_ascii_lowercase().contains("round") {
            ChoosingPolicy::RoundRobin
        } else {
            ChoosingPolicy::Capacity
        },
        container_size: settings.container_size,
        close_threshold: settings.close_threshold,
        small_block_max: settings.small_block_size,
        // Checked at the endpoints already; here it would be checked again on every replica.
        verify_writes: false,
        io: DiskOptions {
            engine: engine(conf),
            read_limit: Some(conf.get(&dn::TRIOXIDE_DATANODE_READ_LIMIT))
                .filter(|limit| !limit.is_zero()),
            spare_threads: conf.get(&dn::TRIOXIDE_DATANODE_DISK_SPARE_WORKERS) as usize,
            ..DiskOptions::default()
        },
        open_timeout: settings.checks.timeout,
        scrub_min_gap: settings.scans.min_gap,
        metadata_cache: cache / settings.data_dirs.len().max(1),
        ..StorageOptions::new(dirs, cluster_id, id)
    }
}

/// The Raft log's directory of a disk when it does not lie beside the data: one configured
/// directory serves one disk, or, when there are fewer of them, several.
fn raft_dir(settings: &Settings, disk: usize, id: DatanodeId) -> Option<PathBuf> {
    let count = settings.raft_dirs.len();
    let dir = settings.raft_dirs.get(disk.checked_rem(count)?)?;
    Some(dir.join(format!("{id}-{disk}")))
}

fn engine(conf: &Configuration) -> Engine {
    match conf.get(&trioxide::TRIOXIDE_DATANODE_IO).as_str() {
        "threads" => Engine::Threads,
        _ => Engine::Auto,
    }
}

/// `/dir1:100MB` entries; malformed ones are named and left out.
fn reserved(entries: &[String]) -> Vec<(PathBuf, u64)> {
    entries
        .iter()
        .filter_map(|entry| {
            let parsed = entry
                .rsplit_once(':')
                .and_then(|(path, size)| Some((PathBuf::from(path), parse_size(size)?)));
            if parsed.is_none() {
                let key = dn::HDDS_DATANODE_DIR_DU_RESERVED.name();
                tracing::warn!(key, entry, "expected directory:size, such as /dir1:100MB");
            }
            parsed
        })
        .collect()
}

fn parse_size(text: &str) -> Option<u64> {
    use config::Value;
    let spec = dn::HDDS_DATANODE_VOLUME_MIN_FREE_SPACE.spec();
    ByteSize::parse(text.trim(), spec).ok().map(ByteSize::bytes)
}

fn reserved_of(reserved: &[(PathBuf, u64)], path: &Path) -> u64 {
    reserved.iter().find(|(dir, _)| dir == path).map_or(0, |(_, size)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disk_gets_its_own_reserve_and_raft_directory() {
        let conf = Configuration::builder().build().unwrap();
        let conf = conf.with("hdds.datanode.dir", "/a,/b,/c");
        let conf = conf.with("hdds.datanode.dir.du.reserved", "/b:1MB,nonsense");
        let conf = conf.with("hdds.container.ratis.datanode.storage.dir", "/r1,/r2");
        let settings = Settings::read(&conf).unwrap();
        let options = options(&settings, "CID-1", DatanodeId::default());
        let reserves: Vec<_> = options.dirs.iter().map(|dir| dir.reserved).collect();
        assert_eq!(reserves, [0, 1 << 20, 0]);
        let mut rafts: Vec<_> = options.dirs.iter().map(|dir| dir.raft_dir.clone()).collect();
        rafts.dedup();
        assert_eq!(rafts.len(), 3);
        assert!(rafts[2].as_ref().is_some_and(|dir| dir.starts_with("/r1")));
    }
}
