//! Keys the Storage Container Manager reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::value::{ByteSize, HostPort};

keys! {
    /// The hosts SCM runs on; gives the host of the ozone.scm.*.address keys that are not set.
    OZONE_SCM_NAMES: Vec<String> = "ozone.scm.names", "", [OM, SCM, DATANODE, CLIENT];
    /// The SCM services this process knows: several SCMs that are one Raft group. Its SCMs stand
    /// under ozone.scm.nodes.SERVICE.
    OZONE_SCM_SERVICE_IDS: Vec<String> = "ozone.scm.service.ids", "", [OM, SCM, DATANODE, CLIENT];
    /// Which of ozone.scm.service.ids is meant, when there are several.
    OZONE_SCM_DEFAULT_SERVICE_ID: String = "ozone.scm.default.service.id", "", [OM, SCM, DATANODE, CLIENT];
    /// The ids of the SCMs of a service, as ozone.scm.nodes.SERVICE. Their hosts stand under
    /// ozone.scm.address.SERVICE.NODE.
    OZONE_SCM_NODES: Vec<String> = "ozone.scm.nodes", "", [OM, SCM, DATANODE, CLIENT];
    /// The host of an SCM of a service, as ozone.scm.address.SERVICE.NODE. Each of its endpoints
    /// may have an own address or port with the same ending.
    OZONE_SCM_ADDRESS: String = "ozone.scm.address", "", [OM, SCM, DATANODE, CLIENT];
    /// The id of this SCM within its service; found by its address when unset.
    OZONE_SCM_NODE_ID: String = "ozone.scm.node.id", "", [SCM];
    /// The SCM that makes a new cluster when none of the service knows one; the first of
    /// ozone.scm.nodes.SERVICE when unset.
    OZONE_SCM_PRIMORDIAL_NODE_ID: String = "ozone.scm.primordial.node.id", "", [SCM];
    /// Port on which the SCMs of a service replicate to each other. Our own protocol.
    OZONE_SCM_RATIS_PORT: u16 = "ozone.scm.ratis.port", "9894", [SCM];
    /// Where clients and administrators reach SCM (containers, pipelines, nodes), ours and Ozone's.
    /// Its host is that of ozone.scm.names when unset.
    OZONE_SCM_CLIENT_ADDRESS: HostPort = "ozone.scm.client.address", "0.0.0.0:9860", [OM, SCM, CLIENT];
    /// The address SCM binds its client endpoint to, when not that of ozone.scm.client.address.
    OZONE_SCM_CLIENT_BIND_HOST: String = "ozone.scm.client.bind.host", "", [SCM];
    /// Where OM reaches SCM for blocks. Its host is that of ozone.scm.client.address when unset.
    OZONE_SCM_BLOCK_CLIENT_ADDRESS: HostPort = "ozone.scm.block.client.address", "0.0.0.0:9863", [OM, SCM];
    /// The address SCM binds its block endpoint to, when not that of
    /// ozone.scm.block.client.address.
    OZONE_SCM_BLOCK_CLIENT_BIND_HOST: String = "ozone.scm.block.client.bind.host", "", [SCM];
    /// Where DataNodes reach SCM. Its host is that of ozone.scm.client.address when unset.
    OZONE_SCM_DATANODE_ADDRESS: HostPort = "ozone.scm.datanode.address", "0.0.0.0:9861", [SCM, DATANODE];
    /// The address SCM binds its DataNode endpoint to, when not that of ozone.scm.datanode.address.
    OZONE_SCM_DATANODE_BIND_HOST: String = "ozone.scm.datanode.bind.host", "", [SCM];
    /// Port of ozone.scm.client.address when that names none.
    OZONE_SCM_CLIENT_PORT: u16 = "ozone.scm.client.port", "9860", [OM, SCM, CLIENT];
    /// Port of ozone.scm.block.client.address when that names none.
    OZONE_SCM_BLOCK_CLIENT_PORT: u16 = "ozone.scm.block.client.port", "9863", [OM, SCM];
    /// Port of ozone.scm.datanode.address when that names none.
    OZONE_SCM_DATANODE_PORT: u16 = "ozone.scm.datanode.port", "9861", [SCM, DATANODE];
    /// Where SCM's status page and metrics are served; the host is the one SCM listens on for
    /// clients when unset.
    OZONE_SCM_HTTP_ADDRESS: HostPort = "ozone.scm.http-address", "0.0.0.0:9876", [SCM];
    /// The address SCM binds its web port to, when not that of ozone.scm.http-address. Ozone's
    /// default is 0.0.0.0.
    OZONE_SCM_HTTP_BIND_HOST: String = "ozone.scm.http-bind-host", "", [SCM];
    /// Serve SCM's status page and metrics.
    OZONE_SCM_HTTP_ENABLED: bool = "ozone.scm.http.enabled", "true", [SCM];
    /// Where SCM keeps its tables and Raft log; ozone.metadata.dirs when unset.
    OZONE_SCM_DB_DIRS: Option<PathBuf> = "ozone.scm.db.dirs", "", [SCM];
    /// Permissions of ozone.scm.db.dirs and of the directory of SCM's Raft log, also of directories
    /// that are there already: octal or symbolic, 700 or rwx------.
    OZONE_SCM_DB_DIRS_PERMISSIONS: DirPermissions = "ozone.scm.db.dirs.permissions", "700", [SCM];
    /// Where SCM keeps its Raft log, when not beside its tables.
    OZONE_SCM_HA_RATIS_STORAGE_DIR: Option<PathBuf> = "ozone.scm.ha.ratis.storage.dir", "", [SCM];
    /// Applied changes after which SCM makes its tables durable and trims its Raft log.
    OZONE_SCM_HA_RATIS_SNAPSHOT_THRESHOLD: u64 = "ozone.scm.ha.ratis.snapshot.threshold", "1000", [SCM];
    /// Silence after which a DataNode counts as stale: no new pipelines or containers on it.
    /// Ozone's default is 5m; heartbeats come every second here.
    OZONE_SCM_STALE_NODE_INTERVAL: Duration = "ozone.scm.stale.node.interval", "10s", [SCM];
    /// Silence after which a DataNode counts as dead; a DataNode that has heard no SCM for so long
    /// closes the containers of the pipelines that it leads. Ozone's default is 10m.
    OZONE_SCM_DEAD_NODE_INTERVAL: Duration = "ozone.scm.dead.node.interval", "60s", [SCM, DATANODE];
    /// How often SCM looks at the time of the last heartbeats.
    OZONE_SCM_HEARTBEAT_PROCESS_INTERVAL: Duration = "ozone.scm.heartbeat.thread.interval", "1s", [SCM];
    /// The most RATIS/THREE pipelines a DataNode takes part in; 0 for as many as its disks allow.
    OZONE_SCM_DATANODE_PIPELINE_LIMIT: u32 = "ozone.scm.datanode.pipeline.limit", "2", [SCM];
    /// Pipelines per Raft log disk of a DataNode, when ozone.scm.datanode.pipeline.limit is 0.
    OZONE_SCM_PIPELINE_PER_METADATA_DISK: u32 = "ozone.scm.pipeline.per.metadata.disk", "2", [SCM];
    /// The most RATIS/THREE pipelines in the cluster; 0 for no limit.
    OZONE_SCM_RATIS_PIPELINE_LIMIT: u32 = "ozone.scm.ratis.pipeline.limit", "0", [SCM];
    /// Open pipelines of each erasure coded replication that SCM keeps at least.
    OZONE_SCM_EC_PIPELINE_MINIMUM: u32 = "ozone.scm.ec.pipeline.minimum", "5", [SCM];
    /// Open pipelines of an erasure coded replication that each data directory takes part in.
    OZONE_SCM_EC_PIPELINE_PER_VOLUME_FACTOR: f64 = "ozone.scm.ec.pipeline.per.volume.factor", "1", [SCM];
    /// Open containers per owner, disk and pipeline.
    OZONE_SCM_PIPELINE_OWNER_CONTAINER_COUNT: u32 = "ozone.scm.pipeline.owner.container.count", "3", [SCM];
    /// Also make RATIS/ONE pipelines without being asked.
    OZONE_SCM_PIPELINE_CREATION_AUTO_FACTOR_ONE: bool = "ozone.scm.pipeline.creation.auto.factor.one", "true", [SCM];
    /// How often SCM looks whether more pipelines can be made; a change among the nodes makes it
    /// look at once.
    OZONE_SCM_PIPELINE_CREATION_INTERVAL: Duration = "ozone.scm.pipeline.creation.interval", "10s", [SCM];
    /// How often SCM removes pipelines that never opened.
    OZONE_SCM_PIPELINE_SCRUB_INTERVAL: Duration = "ozone.scm.pipeline.scrub.interval", "5s", [SCM];
    /// Time in which a new pipeline has to open.
    OZONE_SCM_PIPELINE_ALLOCATED_TIMEOUT: Duration = "ozone.scm.pipeline.allocated.timeout", "20s", [SCM];
    /// How long a closed pipeline is kept before it is removed.
    OZONE_SCM_PIPELINE_DESTROY_TIMEOUT: Duration = "ozone.scm.pipeline.destroy.timeout", "66s", [SCM];
    /// Start in safe mode.
    HDDS_SCM_SAFEMODE_ENABLED: bool = "hdds.scm.safemode.enabled", "true", [SCM];
    /// Share of the containers with a reported replica at which SCM leaves safe mode.
    HDDS_SCM_SAFEMODE_THRESHOLD_PCT: f64 = "hdds.scm.safemode.threshold.pct", "0.99", [SCM];
    /// DataNodes that have to register before SCM leaves safe mode.
    HDDS_SCM_SAFEMODE_MIN_DATANODE: u32 = "hdds.scm.safemode.min.datanode", "1", [SCM];
    /// Share of the known RATIS/THREE pipelines that have to be reported by all members before SCM
    /// leaves safe mode.
    HDDS_SCM_SAFEMODE_HEALTHY_PIPELINE_PCT: f64 = "hdds.scm.safemode.healthy.pipeline.pct", "0.10", [SCM];
    /// Share of the known RATIS/THREE pipelines that have to be reported by one member before SCM
    /// leaves safe mode.
    HDDS_SCM_SAFEMODE_ONE_NODE_REPORTED_PIPELINE_PCT: f64 = "hdds.scm.safemode.atleast.one.node.reported.pipeline.pct", "0.90", [SCM];
    /// What happens to a replica of a container SCM does not know: it is left alone, or deleted if
    /// it is CLOSED and has no blocks. One with blocks always stays: SCM's tables may be older.
    HDDS_SCM_UNKNOWN_CONTAINER_ACTION: String = "hdds.scm.unknown-container.action", "WARN", [SCM], one of ["WARN", "DELETE"];
    /// The most deletion transactions sent to DataNodes in one round, counted in blocks.
    HDDS_SCM_BLOCK_DELETION_PER_INTERVAL_MAX: u32 = "hdds.scm.block.deletion.per-interval.max", "500000", [SCM];
    /// How often SCM sends deletions to DataNodes.
    HDDS_SCM_BLOCK_DELETING_SERVICE_INTERVAL: Duration = "hdds.scm.block.deleting.service.interval", "1s", [SCM];
    /// How often SCM sends a deletion again before it gives up on it.
    OZONE_SCM_BLOCK_DELETION_MAX_RETRY: u32 = "ozone.scm.block.deletion.max.retry", "4096", [SCM];
    /// Ids SCM takes at a time from its sequence.
    OZONE_SCM_SEQUENCE_ID_BATCH_SIZE: u64 = "ozone.scm.sequence.id.batch.size", "100000", [SCM];
    /// The most containers one listing returns.
    OZONE_SCM_CONTAINER_LIST_MAX_COUNT: u32 = "ozone.scm.container.list.max.count", "4096", [SCM, CLIENT];
    /// How often SCM compares replicas with what they should be.
    HDDS_SCM_REPLICATION_THREAD_INTERVAL: Duration = "hdds.scm.replication.thread.interval", "30s", [SCM];
    /// How long SCM waits for more DataNodes before it has replicas copied or deleted, from when it
    /// leads and is out of safe mode on. Ozone's default is 5m.
    HDDS_SCM_WAIT_TIME_AFTER_SAFE_MODE_EXIT: Duration = "hdds.scm.wait.time.after.safemode.exit", "60s", [SCM];
    /// Bound on how long SCM waits for a replica it has ordered to be copied or deleted before it
    /// orders anew.
    HDDS_SCM_REPLICATION_EVENT_TIMEOUT: Duration = "hdds.scm.replication.event.timeout", "12m", [SCM];
    /// How much earlier than that a DataNode must have begun what it was told, so that it does not
    /// begin what SCM has ordered elsewhere meanwhile. Must be less than
    /// hdds.scm.replication.event.timeout; half of it when it is not set (Ozone's default is 6m,
    /// half of its default there).
    HDDS_SCM_REPLICATION_EVENT_TIMEOUT_DATANODE_OFFSET: Option<Duration> = "hdds.scm.replication.event.timeout.datanode.offset", "", [SCM];
    /// Least time between two rounds in which replicas are made that are missing or in the wrong
    /// rack. Ozone's default is 30s: it takes them from a queue that often, and here each round
    /// (hdds.scm.replication.thread.interval, and whenever something changed) orders what it found.
    HDDS_SCM_REPLICATION_UNDER_REPLICATED_INTERVAL: Duration = "hdds.scm.replication.under.replicated.interval", "0s", [SCM];
    /// Least time between two rounds in which replicas are deleted that are too many. Ozone's
    /// default is 30s, as of hdds.scm.replication.under.replicated.interval.
    HDDS_SCM_REPLICATION_OVER_REPLICATED_INTERVAL: Duration = "hdds.scm.replication.over.replicated.interval", "0s", [SCM];
    /// The most copies a healthy DataNode is told to make at a time. A node that is being
    /// decommissioned makes twice as many: hdds.datanode.replication.outofservice.limit.factor.
    HDDS_SCM_REPLICATION_DATANODE_REPLICATION_LIMIT: u32 = "hdds.scm.replication.datanode.replication.limit", "20", [SCM];
    /// Copies that a reconstruction of erasure coded replicas counts as, for the DataNode that
    /// coordinates it and in the whole cluster.
    HDDS_SCM_REPLICATION_DATANODE_RECONSTRUCTION_WEIGHT: u32 = "hdds.scm.replication.datanode.reconstruction.weight", "3", [SCM];
    /// The most replicas a DataNode is told to delete at a time.
    HDDS_SCM_REPLICATION_DATANODE_DELETE_CONTAINER_LIMIT: u32 = "hdds.scm.replication.datanode.delete.container.limit", "40", [SCM];
    /// The most copies under way in the whole cluster, as a share of what all its healthy DataNodes
    /// may make; 0 for no such limit.
    HDDS_SCM_REPLICATION_INFLIGHT_LIMIT_FACTOR: f64 = "hdds.scm.replication.inflight.limit.factor", "0.75", [SCM];
    /// Replicas of a container that must stay online when nodes enter maintenance.
    HDDS_SCM_REPLICATION_MAINTENANCE_REPLICA_MINIMUM: u32 = "hdds.scm.replication.maintenance.replica.minimum", "2", [SCM];
    /// Indexes of an erasure coded container that must stay online when nodes enter maintenance,
    /// besides as many as it takes to read it.
    HDDS_SCM_REPLICATION_MAINTENANCE_REMAINING_REDUNDANCY: u32 = "hdds.scm.replication.maintenance.remaining.redundancy", "1", [SCM];
    /// Containers named per kind of trouble in the replication manager's report.
    HDDS_SCM_REPLICATION_CONTAINER_SAMPLE_LIMIT: u32 = "hdds.scm.replication.container.sample.limit", "100", [SCM];
    /// How far the used share of a DataNode's capacity may be from that of the cluster, in per
    /// cent, before the container balancer moves containers from it or to it.
    HDDS_CONTAINER_BALANCER_UTILIZATION_THRESHOLD: f64 = "hdds.container.balancer.utilization.threshold", "10", [SCM];
    /// DataNodes that send or get containers in one iteration of the balancer, in per cent of those
    /// in service.
    HDDS_CONTAINER_BALANCER_DATANODES_INVOLVED_MAX_PERCENTAGE: u32 = "hdds.container.balancer.datanodes.involved.max.percentage.per.iteration", "20", [SCM];
    /// Bytes that the balancer moves in one iteration.
    HDDS_CONTAINER_BALANCER_SIZE_MOVED_MAX: ByteSize = "hdds.container.balancer.size.moved.max.per.iteration", "500GB", [SCM];
    /// Bytes that one DataNode gets in one iteration; more than ozone.scm.container.size.
    HDDS_CONTAINER_BALANCER_SIZE_ENTERING_TARGET_MAX: ByteSize = "hdds.container.balancer.size.entering.target.max", "26GB", [SCM];
    /// Bytes that one DataNode gives away in one iteration; more than ozone.scm.container.size.
    HDDS_CONTAINER_BALANCER_SIZE_LEAVING_SOURCE_MAX: ByteSize = "hdds.container.balancer.size.leaving.source.max", "26GB", [SCM];
    /// Iterations after which the balancer stops; -1 for no end.
    HDDS_CONTAINER_BALANCER_ITERATIONS: i64 = "hdds.container.balancer.iterations", "10", [SCM];
    /// Containers that the balancer leaves where they are: ids with commas.
    HDDS_CONTAINER_BALANCER_EXCLUDE_CONTAINERS: String = "hdds.container.balancer.exclude.containers", "", [SCM];
    /// The only containers that the balancer moves, if there are any: ids with commas.
    HDDS_CONTAINER_BALANCER_INCLUDE_CONTAINERS: String = "hdds.container.balancer.include.containers", "", [SCM];
    /// How long the balancer waits for a container to be on its target and gone from its source.
    HDDS_CONTAINER_BALANCER_MOVE_TIMEOUT: Duration = "hdds.container.balancer.move.timeout", "65m", [SCM];
    /// How much of that the copy may take.
    HDDS_CONTAINER_BALANCER_MOVE_REPLICATION_TIMEOUT: Duration = "hdds.container.balancer.move.replication.timeout", "50m", [SCM];
    /// Time from the end of one iteration of the balancer to the next.
    HDDS_CONTAINER_BALANCER_BALANCING_ITERATION_INTERVAL: Duration = "hdds.container.balancer.balancing.iteration.interval", "70m", [SCM];
    /// The only DataNodes that are balanced, if there are any: host names or addresses with commas.
    HDDS_CONTAINER_BALANCER_INCLUDE_DATANODES: String = "hdds.container.balancer.include.datanodes", "", [SCM];
    /// DataNodes that are not balanced: host names or addresses with commas.
    HDDS_CONTAINER_BALANCER_EXCLUDE_DATANODES: String = "hdds.container.balancer.exclude.datanodes", "", [SCM];
    /// Prefer targets in the rack of the source to emptier ones.
    HDDS_CONTAINER_BALANCER_MOVE_NETWORK_TOPOLOGY_ENABLE: bool = "hdds.container.balancer.move.networkTopology.enable", "false", [SCM];
    /// Ask DataNodes for their usage before an iteration. They report it with each heartbeat, as
    /// what their replicas hold at that moment, so there is nothing to wait for either way.
    HDDS_CONTAINER_BALANCER_TRIGGER_DU_BEFORE_MOVE_ENABLE: bool = "hdds.container.balancer.trigger.du.before.move.enable", "false", [SCM];
    /// Move QUASI_CLOSED containers too. Those with replicas too many lose these first, and are
    /// moved like others then.
    HDDS_CONTAINER_BALANCER_INCLUDE_NON_STANDARD_CONTAINERS: bool = "hdds.container.balancer.include.non.standard.containers", "false", [SCM];
    /// How the places of new replicas are chosen: a class name of Ozone's. With RackAware in it,
    /// two replicas are in one rack and the others elsewhere; else racks do not matter.
    OZONE_SCM_CONTAINER_PLACEMENT_IMPL: String = "ozone.scm.container.placement.impl", "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRackAware", [SCM];
    /// Whether what a DataNode has that leaves goes to one other DataNode, an idle one with room
    /// for all of it and in another rack if there is one, so that only these two have work with
    /// it; else it goes to as many as take it. `--to` of `o3 admin datanode decommission` says it
    /// for one.
    HDDS_SCM_DATANODE_DECOMMISSION_POINT_TO_POINT: bool = "hdds.scm.datanode.decommission.point.to.point", "false", [SCM];
    /// Whether replicas of closed containers are moved that are on disks of another storage type
    /// than their container belongs on: a repair found no room on the right ones, or the type of a
    /// data directory was changed. Set it to false before types of many directories are changed.
    HDDS_SCM_REPLICATION_STORAGE_TYPE_ENABLED: bool = "hdds.scm.replication.storage.type.enabled", "true", [SCM];
    /// How often SCM looks how far nodes are that are being decommissioned or enter maintenance.
    OZONE_SCM_DATANODE_ADMIN_MONITOR_INTERVAL: Duration = "ozone.scm.datanode.admin.monitor.interval", "30s", [SCM];
    /// How the rack of a host is found out: a class name of Hadoop's. With TableMapping in it from
    /// the file net.topology.table.file.name, else by the script net.topology.script.file.name.
    NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL: String = "net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.ScriptBasedMapping", [OM, SCM];
    /// A file of two columns, host name or IP address and rack, such as `10.1.1.7 /rack3`. It is
    /// read again when it changes.
    NET_TOPOLOGY_TABLE_FILE_NAME: Option<PathBuf> = "net.topology.table.file.name", "", [OM, SCM];
    /// The layers of the network and what it costs to pass each, as one of Ozone's files, XML or
    /// YAML: by its path, or one of network-topology-default.xml, network-topology-nodegroup.xml
    /// and network-topology-default.yaml. When it is set a node's rack must have as many parts as
    /// there are layers between root and node.
    OZONE_SCM_NETWORK_TOPOLOGY_SCHEMA_FILE: String = "ozone.scm.network.topology.schema.file", "network-topology-default.xml", [OM, SCM];
    /// A program that prints the rack of each host name or IP address in its arguments.
    NET_TOPOLOGY_SCRIPT_FILE_NAME: Option<PathBuf> = "net.topology.script.file.name", "", [OM, SCM];
}
