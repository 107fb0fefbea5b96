//! Options of opening the disks, from the configuration.

use std::path::{Path, PathBuf};

use blockio::{DiskOptions, Engine};
use config::keys::{datanode as dn, trioxide};
use config::{ByteSize, Configuration};
use rustix::process::{Resource, getrlimit};
use types::DatanodeId;

use crate::settings::Settings;
use containerstore::{ChoosingPolicy, DataDirectory, EC_REPLICA_JOURNAL, StorageOptions};

/// The options of all disks.
pub(crate) fn options(settings: &Settings, cluster_id: &str, id: DatanodeId) -> StorageOptions {
    let conf = &settings.conf;
    let reserved = reserved(&conf.get(&dn::HDDS_DATANODE_DIR_DU_RESERVED));
    let dirs = settings
        .data_dirs
        .iter()
        .enumerate()
        .map(|(index, dir)| DataDirectory {
            path: dir.path.clone(),
            storage_type: dir.storage_type.parse().unwrap_or_default(),
            raft_dir: raft_dir(settings, index, id),
            reserved: reserved_of(&reserved, &dir.path),
        })
        .collect();
    let policy = conf.get(&dn::HDDS_DATANODE_VOLUME_CHOOSING_POLICY);
    let cache = conf.get(&dn::HDDS_DATANODE_METADATA_ROCKSDB_CACHE_SIZE).as_usize();
    let open = OpenFiles::of(getrlimit(Resource::Nofile).current, settings.data_dirs.len());
    StorageOptions {
        permissions: conf.get(&dn::HDDS_DATANODE_DATA_DIR_PERMISSIONS),
        ec_replica_journal: Some(settings.id_file.with_file_name(EC_REPLICA_JOURNAL)),
        min_free_for_writes: settings.min_free_for_writes,
        min_free_for_containers: settings.min_free_for_containers,
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
            open_files: open.blocks as usize,
            spare_threads: conf.get(&dn::TRIOXIDE_DATANODE_DISK_SPARE_WORKERS) as usize,
            ..DiskOptions::default()
        },
        open_timeout: settings.checks.timeout,
        scrub_min_gap: settings.scans.min_gap,
        closed_from_rows: settings.scans.enabled,
        metadata_cache: cache / settings.data_dirs.len().max(1),
        metadata_open_files: match conf.get(&dn::HDDS_DATANODE_ROCKSDB_MAX_OPEN_FILES) {
            ..=0 => open.tables,
            most => u32::try_from(most).map_or(open.tables, |most| most.min(open.tables)),
        },
        ..StorageOptions::new(dirs, cluster_id, id)
    }
}

/// Limits of the files that a disk keeps open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenFiles {
    /// Files of blocks and segments; each may be open twice, through the page cache and past it.
    blocks: u32,
    /// Files of the database.
    tables: u32,
}

impl OpenFiles {
    /// Returns the limits of one of `disks` disks if the process may have `limit` files open: half
    /// of that for all of them together. The rest is for connections, logs, and files opened for a
    /// moment.
    fn of(limit: Option<u64>, disks: usize) -> Self {
        const MOST: u64 = 512;
        const LEAST: u64 = 16;
        let share = limit.unwrap_or(u64::MAX) / 2 / disks.max(1) as u64;
        let third = (share / 3).clamp(LEAST, MOST);
        let each = u32::try_from(third).unwrap_or(u32::MAX);
        Self { blocks: each, tables: each }
    }
}

/// The Raft log's directory of a disk if it is not next to the data: one configured directory
/// serves one disk, or, if there are fewer of them, several.
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

/// Parses `/dir1:100MB` entries; malformed ones are logged and skipped.
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
    use types::StorageType;

    use super::*;

    #[test]
    fn disks_together_keep_half_of_the_files_open_that_a_process_may() {
        let all = |limit, disks| {
            let OpenFiles { blocks, tables } = OpenFiles::of(limit, disks);
            (blocks * 2 + tables) as usize * disks
        };
        assert_eq!(OpenFiles::of(None, 60), OpenFiles { blocks: 512, tables: 512 });
        assert_eq!(OpenFiles::of(Some(1 << 20), 12), OpenFiles { blocks: 512, tables: 512 });
        for (limit, disks) in [(20_000, 60), (4_096, 4), (20_000, 1), (65_536, 60)] {
            assert!(all(Some(limit), disks) as u64 <= limit / 2, "{limit} {disks}");
        }
        // Less than that is no use.
        assert_eq!(OpenFiles::of(Some(256), 60), OpenFiles { blocks: 16, tables: 16 });
        assert_eq!(OpenFiles::of(Some(0), 0), OpenFiles { blocks: 16, tables: 16 });
    }

    #[test]
    fn every_disk_gets_its_own_reserve_and_raft_directory() {
        let conf = Configuration::builder().build().unwrap();
        let conf = conf.with("hdds.datanode.dir", "/a,[SSD]/b,[ARCHIVE]/c");
        let conf = conf.with("hdds.datanode.dir.du.reserved", "/b:1MB,nonsense");
        let conf = conf.with("hdds.container.ratis.datanode.storage.dir", "/r1,/r2");
        let settings = Settings::read(&conf).unwrap();
        let options = options(&settings, "CID-1", DatanodeId::default());
        let reserves: Vec<_> = options.dirs.iter().map(|dir| dir.reserved).collect();
        assert_eq!(reserves, [0, 1 << 20, 0]);
        let types: Vec<_> = options.dirs.iter().map(|dir| dir.storage_type).collect();
        assert_eq!(types, [StorageType::Disk, StorageType::Ssd, StorageType::Archive]);
        let mut rafts: Vec<_> = options.dirs.iter().map(|dir| dir.raft_dir.clone()).collect();
        rafts.dedup();
        assert_eq!(rafts.len(), 3);
        assert!(rafts[2].as_ref().is_some_and(|dir| dir.starts_with("/r1")));
    }
}
