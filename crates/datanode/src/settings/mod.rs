//! Settings at a DataNode's start, read once from the configuration.

pub(crate) mod chunk_cache;
mod disk_balancer;
pub(crate) mod disk_check;
pub(crate) mod disks;
pub(crate) mod options;
pub(crate) mod pipeline_liveness;
pub(crate) mod range_compaction;
pub(crate) mod repair_rates;
pub(crate) mod scan;
pub(crate) mod tolerated_failures;

use std::path::{Path, PathBuf};
use std::time::Duration;

use chunkcache::CacheOptions;
use config::keys::{datanode as dn, hdds, scm, trioxide};
use config::{Configuration, DataDir, HostPort, Key};
use limits::{ConnectionOptions, MemoryBudget};
use service::{AdminPolicy, AuditOptions, Share};

use crate::DatanodeError;
use crate::disk_balancer::DiskBalancerSettings;
use crate::settings::disk_check::CheckSettings;
use crate::settings::pipeline_liveness::LivenessLimits;
use crate::settings::range_compaction::RangeCompactionSettings;
use crate::settings::repair_rates::RepairRates;
use crate::settings::scan::ScanSettings;
use crate::settings::tolerated_failures::Tolerated;
use containerstore::Floor;

/// Longest piece of a block in one request, both ways; Ozone's `OZONE_SCM_CHUNK_MAX_SIZE`.
pub const MAX_CHUNK: usize = container::chunks::MAX_CHUNK_LEN as usize;

/// No block is refused for its length up to here, whatever the settings.
const MIN_BLOCK_LIMIT: u64 = 256 << 20;

/// Values of the keys a DataNode reads.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The configuration itself, for the disks, which read their own keys.
    pub conf: Configuration,
    /// Directory of the lock and the layout version.
    pub metadata_dir: PathBuf,
    /// The file with the DataNode's identity.
    pub id_file: PathBuf,
    /// One directory per disk.
    pub data_dirs: Vec<DataDir>,
    /// Raft log directories, one per disk; next to the data if empty.
    pub raft_dirs: Vec<PathBuf>,
    /// Free space below which a disk takes no more writes.
    pub min_free_for_writes: Floor,
    /// Free space below which a disk gets no more containers.
    pub min_free_for_containers: Floor,
    /// Name given by the operator; found out when empty.
    pub host_name: String,
    /// Address the endpoints are bound to.
    pub bind_host: String,
    /// STANDALONE port; 0 is any free one.
    pub ipc_port: u16,
    /// NATIVE port; 0 is any free one.
    pub native_port: u16,
    /// RATIS port; 0 is any free one.
    pub ratis_port: u16,
    /// Address of Hadoop RPC.
    pub client_rpc: ClientRpcAddress,
    /// Address of the status page, if enabled.
    pub http: Option<HostPort>,
    /// Users that may administer this node.
    pub admin_policy: AdminPolicy,
    /// SCMs to register with.
    pub scm: Vec<HostPort>,
    /// Time without a response of an SCM after which the containers that this node leads are
    /// closed.
    pub scm_silence: Duration,
    /// Delay between report heartbeats when nothing changed.
    pub heartbeat_interval: Duration,
    /// Timeout of one heartbeat.
    pub heartbeat_timeout: Duration,
    /// Interval of reports of all containers.
    pub container_report_interval: Duration,
    /// Interval of reports of the disks.
    pub node_report_interval: Duration,
    /// Interval of reports of all pipelines.
    pub pipeline_report_interval: Duration,
    /// Size at which a container counts as full.
    pub container_size: u64,
    /// Bytes of the longest block that is taken: a block is meant to fit into a container.
    pub block_limit: u64,
    /// Share of its size at which a container is closed.
    pub close_threshold: f64,
    /// Verify chunk checksums as chunks are written.
    pub validate_chunks: bool,
    /// Make chunks durable before they are answered.
    pub sync_chunks: bool,
    /// Largest payload that rides in the Raft log.
    pub small_block_size: u64,
    /// Bytes of requests held at once over all pipelines.
    pub pending_bytes: u64,
    /// Entries applied after which a pipeline's log is trimmed.
    pub trim_entries: u64,
    /// Shortest time without a leader before an election.
    pub election_timeout: Duration,
    /// Timeout of an entry to reach the level of a client's watch.
    pub watch_timeout: Duration,
    /// Time without contact between a pipeline's members after which SCM is asked to close it.
    pub liveness: LivenessLimits,
    /// Containers copied to other nodes at a time.
    pub copy_streams: usize,
    /// Copies that may wait.
    pub copy_queue: usize,
    /// Rates of copies and reconstructions.
    pub repair_rates: RepairRates,
    /// A command that takes as long is logged; zero for none.
    pub slow_command: Duration,
    /// Share of time of deletions while clients use the node.
    pub deletion_share: Share,
    /// Interval of reclaiming deleted blocks.
    pub deleting_interval: Duration,
    /// Interval of the search for abandoned RECOVERING replicas.
    pub recovering_interval: Duration,
    /// Retention of such a replica.
    pub recovering_timeout: Duration,
    /// Compaction of ranges of the disks' databases, if enabled.
    pub range_compaction: Option<RangeCompactionSettings>,
    /// Log of reconstructions, if enabled.
    pub audit: Option<AuditOptions>,
    /// Cache of blocks' first chunks on fast disks, if enabled.
    pub cache: Option<CacheOptions>,
    /// Settings of disk checks.
    pub checks: CheckSettings,
    /// Settings of container scans.
    pub scans: ScanSettings,
    /// Settings of disk balancing.
    pub disk_balancer: DiskBalancerSettings,
    /// Directories that may fail before the DataNode ends.
    pub tolerated: Tolerated,
    /// Limit and idle timeout of the connections of each endpoint.
    pub connections: ConnectionOptions,
    /// Memory for data in flight.
    pub memory: MemoryBudget,
    /// Timeout of shutdown.
    pub shutdown_timeout: Duration,
}

/// Address of Hadoop RPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRpcAddress {
    /// Address it is bound to.
    pub host: String,
    /// Its port; 0 is any free one.
    pub port: u16,
    /// True if any free port may be used when that one is in use: the operator named none.
    pub may_be_another: bool,
}

impl ClientRpcAddress {
    fn read(conf: &Configuration) -> Self {
        let host = conf.get(&dn::HDDS_DATANODE_CLIENT_BIND_HOST);
        let host = if host.is_empty() { conf.get(&dn::HDDS_DATANODE_BIND_HOST) } else { host };
        if let Some(address) = conf.get(&dn::HDDS_DATANODE_CLIENT_ADDRESS) {
            return Self { host, port: address.port, may_be_another: false };
        }
        let named = conf.is_set(&dn::HDDS_DATANODE_CLIENT_PORT);
        let random = conf.get(&dn::HDDS_CONTAINER_IPC_RANDOM_PORT)
            || conf.get(&dn::HDDS_CONTAINER_RATIS_IPC_RANDOM_PORT);
        let port = match random && !named {
            true => 0,
            false => conf.get(&dn::HDDS_DATANODE_CLIENT_PORT),
        };
        Self { host, port, may_be_another: !named }
    }
}

fn audit(conf: &Configuration, metadata_dir: &Path) -> Option<AuditOptions> {
    conf.get(&trioxide::TRIOXIDE_AUDIT_ENABLED).then(|| {
        let dir = conf.get(&trioxide::TRIOXIDE_AUDIT_DIR);
        let dir = dir.unwrap_or_else(|| metadata_dir.join("audit"));
        AuditOptions {
            rotate_at: conf.get(&trioxide::TRIOXIDE_AUDIT_FILE_SIZE).bytes(),
            flush_interval: conf.get(&trioxide::TRIOXIDE_AUDIT_FLUSH_INTERVAL),
            ..AuditOptions::new("DNAudit", dir.join("dn-audit.log"))
        }
    })
}

/// Returns the space of a disk that must stay free: the least bytes, and the share that `key`
/// names.
fn floor(conf: &Configuration, key: &'static Key<f64>) -> Result<Floor, DatanodeError> {
    let share = conf.get(key);
    if !(0.0..=1.0).contains(&share) {
        let (key, value) = (key.name(), share.to_string());
        return Err(DatanodeError::Setting { key, value, reason: "it must be from 0 to 1" });
    }
    Ok(Floor { bytes: conf.get(&dn::HDDS_DATANODE_VOLUME_MIN_FREE_SPACE).bytes(), share })
}

impl Settings {
    /// Reads the keys.
    ///
    /// # Errors
    /// When no data directory is configured, or a setting is invalid.
    pub fn read(conf: &Configuration) -> Result<Self, DatanodeError> {
        let data_dirs = conf.get(&dn::HDDS_DATANODE_DIR);
        let first = data_dirs.first().ok_or(DatanodeError::NoDataDir)?;
        let metadata_dir =
            conf.get(&hdds::OZONE_METADATA_DIRS).unwrap_or_else(|| first.path.join("metadata"));
        let id_dir =
            conf.get(&dn::OZONE_SCM_DATANODE_ID_DIR).unwrap_or_else(|| metadata_dir.clone());
        let port = |key, random| if conf.get(random) { 0 } else { conf.get(key) };
        let http_enabled = conf.get(&dn::HDDS_DATANODE_HTTP_ENABLED);
        let container_size = conf.get(&hdds::OZONE_SCM_CONTAINER_SIZE).bytes();
        let block_size = conf.get(&hdds::OZONE_SCM_BLOCK_SIZE).bytes();
        Ok(Self {
            admin_policy: AdminPolicy::from_configuration(conf),
            id_file: id_dir.join("datanode.id"),
            audit: audit(conf, &metadata_dir),
            disk_balancer: disk_balancer::read(conf, &metadata_dir)?,
            client_rpc: ClientRpcAddress::read(conf),
            metadata_dir,
            raft_dirs: conf.get(&dn::HDDS_CONTAINER_RATIS_DATANODE_STORAGE_DIR),
            min_free_for_writes: floor(
                conf,
                &dn::HDDS_DATANODE_VOLUME_MIN_FREE_SPACE_HARD_LIMIT_PERCENT,
            )?,
            min_free_for_containers: floor(conf, &dn::HDDS_DATANODE_VOLUME_MIN_FREE_SPACE_PERCENT)?,
            host_name: conf.get(&dn::HDDS_DATANODE_HOSTNAME),
            bind_host: conf.get(&dn::HDDS_DATANODE_BIND_HOST),
            ipc_port: port(&dn::HDDS_CONTAINER_IPC_PORT, &dn::HDDS_CONTAINER_IPC_RANDOM_PORT),
            native_port: port(
                &dn::TRIOXIDE_DATANODE_PORT,
                &dn::HDDS_CONTAINER_RATIS_IPC_RANDOM_PORT,
            ),
            ratis_port: port(
                &dn::HDDS_CONTAINER_RATIS_IPC_PORT,
                &dn::HDDS_CONTAINER_RATIS_IPC_RANDOM_PORT,
            ),
            watch_timeout: conf.get(&dn::HDDS_RATIS_RAFT_SERVER_WATCH_TIMEOUT),
            liveness: LivenessLimits::read(conf)?,
            http: http_enabled.then(|| {
                let host = conf.get(&dn::HDDS_DATANODE_BIND_HOST);
                let address = conf.web_address(&dn::HDDS_DATANODE_HTTP_ADDRESS, "", &host);
                conf.bound(address, &dn::HDDS_DATANODE_HTTP_BIND_HOST)
            }),
            scm: scm_addresses(conf),
            slow_command: conf.get(&dn::HDDS_DATANODE_SLOW_OP_WARNING_THRESHOLD),
            scm_silence: conf.get(&scm::OZONE_SCM_DEAD_NODE_INTERVAL),
            heartbeat_interval: conf.get(&hdds::HDDS_HEARTBEAT_INTERVAL),
            heartbeat_timeout: conf.get(&dn::OZONE_SCM_HEARTBEAT_RPC_TIMEOUT),
            container_report_interval: conf.get(&dn::HDDS_CONTAINER_REPORT_INTERVAL),
            node_report_interval: conf.get(&dn::HDDS_NODE_REPORT_INTERVAL),
            pipeline_report_interval: conf.get(&dn::HDDS_PIPELINE_REPORT_INTERVAL),
            container_size,
            block_limit: container_size.max(block_size).max(MIN_BLOCK_LIMIT),
            close_threshold: conf.get(&hdds::HDDS_CONTAINER_CLOSE_THRESHOLD),
            validate_chunks: conf.get(&dn::HDDS_DATANODE_CHUNK_DATA_VALIDATION_CHECK),
            sync_chunks: conf.get(&dn::HDDS_CONTAINER_CHUNK_WRITE_SYNC),
            small_block_size: conf.get(&trioxide::TRIOXIDE_SMALL_BLOCK_SIZE).bytes(),
            pending_bytes: conf.get(&dn::HDDS_CONTAINER_RATIS_LEADER_PENDING_BYTES_LIMIT).bytes(),
            trim_entries: conf.get(&dn::HDDS_RATIS_SNAPSHOT_THRESHOLD),
            election_timeout: conf.get(&dn::HDDS_RATIS_LEADER_ELECTION_MINIMUM_TIMEOUT_DURATION),
            copy_streams: conf.get(&dn::HDDS_DATANODE_REPLICATION_STREAMS_LIMIT) as usize,
            copy_queue: conf.get(&dn::HDDS_DATANODE_REPLICATION_QUEUE_LIMIT) as usize,
            cache: crate::settings::chunk_cache::options(conf)?,
            repair_rates: RepairRates::read(conf, data_dirs.len()),
            recovering_interval: conf
                .get(&dn::HDDS_DATANODE_RECOVERING_CONTAINER_SCRUBBING_SERVICE_INTERVAL),
            recovering_timeout: conf.get(&dn::OZONE_RECOVERING_CONTAINER_TIMEOUT),
            deletion_share: Share::read(
                conf,
                &hdds::TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS,
                &hdds::TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR,
            )?,
            deleting_interval: conf.get(&hdds::OZONE_BLOCK_DELETING_SERVICE_INTERVAL),
            range_compaction: RangeCompactionSettings::read(conf)?,
            checks: CheckSettings::read(conf),
            scans: ScanSettings::read(conf)?,
            tolerated: Tolerated::read(conf),
            connections: ConnectionOptions::from_configuration(conf),
            memory: MemoryBudget::of_process(conf),
            shutdown_timeout: conf.get(&trioxide::TRIOXIDE_SHUTDOWN_TIMEOUT),
            data_dirs,
            conf: conf.clone(),
        })
    }
}

/// The SCMs' DataNode endpoints: those of the service, or `ozone.scm.datanode.address` when it is
/// set, else every host of `ozone.scm.names`, else the default address on this machine.
fn scm_addresses(conf: &Configuration) -> Vec<HostPort> {
    if let Some(service) = conf.scm_service() {
        return service.nodes.iter().map(|scm| scm.datanode.connect()).collect();
    }
    let address = conf.get(&scm::OZONE_SCM_DATANODE_ADDRESS);
    let names = conf.get(&scm::OZONE_SCM_NAMES);
    if conf.is_set(&scm::OZONE_SCM_DATANODE_ADDRESS) || names.is_empty() {
        return vec![address.connect()];
    }
    let port = conf.get(&scm::OZONE_SCM_DATANODE_PORT);
    names.iter().filter_map(|name| HostPort::parse_with(name, Some(port))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(pairs: &[(&str, &str)]) -> Configuration {
        let empty = Configuration::builder().build().unwrap();
        pairs.iter().fold(empty, |conf, (key, value)| conf.with(key, value))
    }

    #[test]
    fn a_datanode_without_a_directory_does_not_start() {
        assert!(matches!(Settings::read(&conf(&[])), Err(DatanodeError::NoDataDir)));
    }

    #[test]
    fn a_random_port_wins_over_a_fixed_one() {
        let settings = Settings::read(&conf(&[
            ("hdds.datanode.dir", "/a,/b"),
            ("hdds.container.ipc.port", "1234"),
            ("hdds.container.ipc.random.port", "true"),
            ("trioxide.datanode.port", "77"),
        ]))
        .unwrap();
        assert_eq!((settings.ipc_port, settings.native_port), (0, 77));
        assert_eq!(settings.data_dirs.len(), 2);
        assert_eq!(settings.id_file, PathBuf::from("/a/metadata/datanode.id"));
    }

    #[test]
    fn hadoop_rpc_is_on_ozones_port_unless_ports_are_random() {
        let rpc = |pairs: &[_]| {
            let all = [&[("hdds.datanode.dir", "/a")], pairs].concat();
            let ClientRpcAddress { host, port, may_be_another } =
                Settings::read(&conf(&all)).unwrap().client_rpc;
            (host, port, may_be_another)
        };
        let on = |host: &str, port, free| (host.to_owned(), port, free);
        assert_eq!(rpc(&[]), on("0.0.0.0", 19864, true));
        let bound = ("trioxide.datanode.bind.host", "127.0.0.1");
        assert_eq!(rpc(&[bound]), on("127.0.0.1", 19864, true));
        assert_eq!(rpc(&[bound, ("hdds.datanode.client.bind.host", "::")]), on("::", 19864, true));
        let random = ("hdds.container.ipc.random.port", "true");
        assert_eq!(rpc(&[random]), on("0.0.0.0", 0, true));
        let named = ("hdds.datanode.client.port", "77");
        assert_eq!(rpc(&[random, named]), on("0.0.0.0", 77, false));
        let address = ("hdds.datanode.client.address", "h:78");
        assert_eq!(rpc(&[named, address]), on("0.0.0.0", 78, false));
    }

    #[test]
    fn scm_is_found_by_address_or_by_names() {
        let dir = ("hdds.datanode.dir", "/a");
        let scm = |pairs: &[_]| -> Vec<String> {
            let settings = Settings::read(&conf(&[&[dir], pairs].concat())).unwrap();
            settings.scm.iter().map(ToString::to_string).collect()
        };
        assert_eq!(scm(&[]), ["127.0.0.1:9861"]);
        assert_eq!(scm(&[("ozone.scm.names", "a,b:7")]), ["a:9861", "b:7"]);
        assert_eq!(
            scm(&[("ozone.scm.names", "a"), ("ozone.scm.datanode.address", "c:1")]),
            ["c:1"]
        );
    }
}
