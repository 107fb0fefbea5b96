//! Keys the Storage Container Manager reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::value::{ByteSize, HostPort};

keys! {
    /// Hosts of SCM; the default host of the ozone.scm.*.address keys.
    OZONE_SCM_NAMES: Vec<String> = "ozone.scm.names", "", [OM, SCM, DATANODE, CLIENT];
    /// Service ids of the SCM services, each of several SCMs that form one Raft group. The node ids
    /// of its SCMs are ozone.scm.nodes.SERVICE.
    OZONE_SCM_SERVICE_IDS: Vec<String> = "ozone.scm.service.ids", "", [OM, SCM, DATANODE, CLIENT];
    /// The service id of ozone.scm.service.ids to use if there are several.
    OZONE_SCM_DEFAULT_SERVICE_ID: String = "ozone.scm.default.service.id", "", [OM, SCM, DATANODE, CLIENT];
    /// Node ids of the SCMs of a service, as ozone.scm.nodes.SERVICE. The host of each is
    /// ozone.scm.address.SERVICE.NODE.
    OZONE_SCM_NODES: Vec<String> = "ozone.scm.nodes", "", [OM, SCM, DATANODE, CLIENT];
    /// Host of an SCM of a service, as ozone.scm.address.SERVICE.NODE. The address and port keys of
    /// each endpoint accept the same suffix.
    OZONE_SCM_ADDRESS: String = "ozone.scm.address", "", [OM, SCM, DATANODE, CLIENT];
    /// Node id of this SCM within its service; derived from its address if unset.
    OZONE_SCM_NODE_ID: String = "ozone.scm.node.id", "", [SCM];
    /// The SCM that initializes a new cluster if no SCM of the service belongs to one yet; the
    /// first of ozone.scm.nodes.SERVICE if unset.
    OZONE_SCM_PRIMORDIAL_NODE_ID: String = "ozone.scm.primordial.node.id", "", [SCM];
    /// Port of the replication between the SCMs of a service. Our own protocol.
    OZONE_SCM_RATIS_PORT: u16 = "ozone.scm.ratis.port", "9894", [SCM];
    /// Address of SCM for clients and administrators, ours and Ozone's (containers, pipelines,
    /// nodes). Its host defaults to that of ozone.scm.names.
    OZONE_SCM_CLIENT_ADDRESS: HostPort = "ozone.scm.client.address", "0.0.0.0:9860", [OM, SCM, CLIENT];
    /// Address that SCM binds its client endpoint to, if it differs from ozone.scm.client.address.
    OZONE_SCM_CLIENT_BIND_HOST: String = "ozone.scm.client.bind.host", "", [SCM];
    /// Address of SCM for OM's block requests. Its host defaults to that of
    /// ozone.scm.client.address.
    OZONE_SCM_BLOCK_CLIENT_ADDRESS: HostPort = "ozone.scm.block.client.address", "0.0.0.0:9863", [OM, SCM];
    /// Address that SCM binds its block endpoint to, if it differs from
    /// ozone.scm.block.client.address.
    OZONE_SCM_BLOCK_CLIENT_BIND_HOST: String = "ozone.scm.block.client.bind.host", "", [SCM];
    /// Address of SCM for DataNodes. Its host defaults to that of ozone.scm.client.address.
    OZONE_SCM_DATANODE_ADDRESS: HostPort = "ozone.scm.datanode.address", "0.0.0.0:9861", [SCM, DATANODE];
    /// Address that SCM binds its DataNode endpoint to, if it differs from
    /// ozone.scm.datanode.address.
    OZONE_SCM_DATANODE_BIND_HOST: String = "ozone.scm.datanode.bind.host", "", [SCM];
    /// Port of ozone.scm.client.address if that has none.
    OZONE_SCM_CLIENT_PORT: u16 = "ozone.scm.client.port", "9860", [OM, SCM, CLIENT];
    /// Port of ozone.scm.block.client.address if that has none.
    OZONE_SCM_BLOCK_CLIENT_PORT: u16 = "ozone.scm.block.client.port", "9863", [OM, SCM];
    /// Port of ozone.scm.datanode.address if that has none.
    OZONE_SCM_DATANODE_PORT: u16 = "ozone.scm.datanode.port", "9861", [SCM, DATANODE];
    /// Address of SCM's status page and metrics; the host defaults to that of SCM's client
    /// endpoint.
    OZONE_SCM_HTTP_ADDRESS: HostPort = "ozone.scm.http-address", "0.0.0.0:9876", [SCM];
    /// Address that SCM binds its web port to, if it differs from ozone.scm.http-address. Ozone's
    /// default is 0.0.0.0.
    OZONE_SCM_HTTP_BIND_HOST: String = "ozone.scm.http-bind-host", "", [SCM];
    /// Serve SCM's status page and metrics.
    OZONE_SCM_HTTP_ENABLED: bool = "ozone.scm.http.enabled", "true", [SCM];
    /// Directory of SCM's tables and Raft log; ozone.metadata.dirs if unset.
    OZONE_SCM_DB_DIRS: Option<PathBuf> = "ozone.scm.db.dirs", "", [SCM];
    /// Permissions of ozone.scm.db.dirs and of SCM's Raft log directory, octal or symbolic: 700 or
    /// rwx------. Existing directories are changed, too.
    OZONE_SCM_DB_DIRS_PERMISSIONS: DirPermissions = "ozone.scm.db.dirs.permissions", "700", [SCM];
    /// Directory of SCM's Raft log; next to its tables if unset.
    OZONE_SCM_HA_RATIS_STORAGE_DIR: Option<PathBuf> = "ozone.scm.ha.ratis.storage.dir", "", [SCM];
    /// Number of applied Raft entries after which SCM flushes its tables and trims its Raft log.
    OZONE_SCM_HA_RATIS_SNAPSHOT_THRESHOLD: u64 = "ozone.scm.ha.ratis.snapshot.threshold", "1000", [SCM];
    /// Time without a heartbeat after which a DataNode is stale and receives no new pipelines or
    /// containers. Ozone's default is 5m; heartbeats come every second here.
    OZONE_SCM_STALE_NODE_INTERVAL: Duration = "ozone.scm.stale.node.interval", "10s", [SCM];
    /// Time without a heartbeat after which a DataNode is dead. A DataNode without contact to any
    /// SCM for this time closes the containers of the pipelines that it leads. Ozone's default is
    /// 10m.
    OZONE_SCM_DEAD_NODE_INTERVAL: Duration = "ozone.scm.dead.node.interval", "60s", [SCM, DATANODE];
    /// Interval at which SCM checks the time of the last heartbeats.
    OZONE_SCM_HEARTBEAT_PROCESS_INTERVAL: Duration = "ozone.scm.heartbeat.thread.interval", "1s", [SCM];
    /// Maximum number of RATIS/THREE pipelines of a DataNode; 0 for a limit by the number of its
    /// disks (ozone.scm.pipeline.per.metadata.disk).
    OZONE_SCM_DATANODE_PIPELINE_LIMIT: u32 = "ozone.scm.datanode.pipeline.limit", "2", [SCM];
    /// Number of pipelines per Raft log disk of a DataNode if ozone.scm.datanode.pipeline.limit is
    /// 0.
    OZONE_SCM_PIPELINE_PER_METADATA_DISK: u32 = "ozone.scm.pipeline.per.metadata.disk", "2", [SCM];
    /// Maximum number of RATIS/THREE pipelines in the cluster; 0 for no limit.
    OZONE_SCM_RATIS_PIPELINE_LIMIT: u32 = "ozone.scm.ratis.pipeline.limit", "0", [SCM];
    /// Minimum number of open pipelines that SCM keeps for each erasure-coded replication.
    OZONE_SCM_EC_PIPELINE_MINIMUM: u32 = "ozone.scm.ec.pipeline.minimum", "5", [SCM];
    /// Number of open pipelines of an erasure-coded replication per data directory.
    OZONE_SCM_EC_PIPELINE_PER_VOLUME_FACTOR: f64 = "ozone.scm.ec.pipeline.per.volume.factor", "1", [SCM];
    /// Number of open containers per owner, disk and pipeline.
    OZONE_SCM_PIPELINE_OWNER_CONTAINER_COUNT: u32 = "ozone.scm.pipeline.owner.container.count", "3", [SCM];
    /// Also create RATIS/ONE pipelines in the background.
    OZONE_SCM_PIPELINE_CREATION_AUTO_FACTOR_ONE: bool = "ozone.scm.pipeline.creation.auto.factor.one", "true", [SCM];
    /// Interval at which SCM tries to create pipelines. A change of the nodes triggers it at once.
    OZONE_SCM_PIPELINE_CREATION_INTERVAL: Duration = "ozone.scm.pipeline.creation.interval", "10s", [SCM];
    /// Interval at which SCM removes pipelines that did not open in time.
    OZONE_SCM_PIPELINE_SCRUB_INTERVAL: Duration = "ozone.scm.pipeline.scrub.interval", "5s", [SCM];
    /// Timeout for a new pipeline to open.
    OZONE_SCM_PIPELINE_ALLOCATED_TIMEOUT: Duration = "ozone.scm.pipeline.allocated.timeout", "20s", [SCM];
    /// Time after which a closed pipeline is removed.
    OZONE_SCM_PIPELINE_DESTROY_TIMEOUT: Duration = "ozone.scm.pipeline.destroy.timeout", "66s", [SCM];
    /// Enable safe mode at start.
    HDDS_SCM_SAFEMODE_ENABLED: bool = "hdds.scm.safemode.enabled", "true", [SCM];
    /// Minimum fraction of the containers with a reported replica before SCM leaves safe mode.
    HDDS_SCM_SAFEMODE_THRESHOLD_PCT: f64 = "hdds.scm.safemode.threshold.pct", "0.99", [SCM];
    /// Minimum number of registered DataNodes before SCM leaves safe mode.
    HDDS_SCM_SAFEMODE_MIN_DATANODE: u32 = "hdds.scm.safemode.min.datanode", "1", [SCM];
    /// Minimum fraction of the RATIS/THREE pipelines reported by all their members before SCM
    /// leaves safe mode.
    HDDS_SCM_SAFEMODE_HEALTHY_PIPELINE_PCT: f64 = "hdds.scm.safemode.healthy.pipeline.pct", "0.10", [SCM];
    /// Minimum fraction of the RATIS/THREE pipelines reported by at least one member before SCM
    /// leaves safe mode.
    HDDS_SCM_SAFEMODE_ONE_NODE_REPORTED_PIPELINE_PCT: f64 = "hdds.scm.safemode.atleast.one.node.reported.pipeline.pct", "0.90", [SCM];
    /// Action on a replica of a container that SCM does not have: WARN keeps it, DELETE deletes it
    /// if it is CLOSED and has no blocks. A replica with blocks is always kept, because SCM's
    /// tables may be older.
    HDDS_SCM_UNKNOWN_CONTAINER_ACTION: String = "hdds.scm.unknown-container.action", "WARN", [SCM], one of ["WARN", "DELETE"];
    /// Maximum number of blocks in the deletion transactions that SCM sends to DataNodes in one
    /// round.
    HDDS_SCM_BLOCK_DELETION_PER_INTERVAL_MAX: u32 = "hdds.scm.block.deletion.per-interval.max", "500000", [SCM];
    /// Interval at which SCM sends deletions to DataNodes.
    HDDS_SCM_BLOCK_DELETING_SERVICE_INTERVAL: Duration = "hdds.scm.block.deleting.service.interval", "1s", [SCM];
    /// Maximum number of retries of a deletion transaction.
    OZONE_SCM_BLOCK_DELETION_MAX_RETRY: u32 = "ozone.scm.block.deletion.max.retry", "4096", [SCM];
    /// Number of ids that SCM allocates from its sequence at a time.
    OZONE_SCM_SEQUENCE_ID_BATCH_SIZE: u64 = "ozone.scm.sequence.id.batch.size", "100000", [SCM];
    /// Maximum number of containers that one listing returns.
    OZONE_SCM_CONTAINER_LIST_MAX_COUNT: u32 = "ozone.scm.container.list.max.count", "4096", [SCM, CLIENT];
    /// Interval of the replication manager's checks of all containers.
    HDDS_SCM_REPLICATION_THREAD_INTERVAL: Duration = "hdds.scm.replication.thread.interval", "30s", [SCM];
    /// Time for which SCM waits for more DataNodes before it orders replicas to be copied or
    /// deleted, from the time it leads and has left safe mode. Ozone's default is 5m.
    HDDS_SCM_WAIT_TIME_AFTER_SAFE_MODE_EXIT: Duration = "hdds.scm.wait.time.after.safemode.exit", "60s", [SCM];
    /// Timeout of a copy or deletion that SCM has ordered, after which SCM orders it again.
    HDDS_SCM_REPLICATION_EVENT_TIMEOUT: Duration = "hdds.scm.replication.event.timeout", "12m", [SCM];
    /// Time by which a DataNode's deadline to start such an order is earlier than SCM's timeout, so
    /// that a DataNode does not start work that SCM has meanwhile ordered elsewhere. Must be less
    /// than hdds.scm.replication.event.timeout; half of that if unset (Ozone's default is 6m, half
    /// of its default of that key).
    HDDS_SCM_REPLICATION_EVENT_TIMEOUT_DATANODE_OFFSET: Option<Duration> = "hdds.scm.replication.event.timeout.datanode.offset", "", [SCM];
    /// Minimum time between two rounds that repair under-replicated and mis-replicated containers.
    /// Ozone's default is 30s, because it processes a queue at that interval; here each round
    /// (every hdds.scm.replication.thread.interval, and after a change) sends its commands itself.
    HDDS_SCM_REPLICATION_UNDER_REPLICATED_INTERVAL: Duration = "hdds.scm.replication.under.replicated.interval", "0s", [SCM];
    /// Minimum time between two rounds that delete surplus replicas. Ozone's default is 30s; see
    /// hdds.scm.replication.under.replicated.interval.
    HDDS_SCM_REPLICATION_OVER_REPLICATED_INTERVAL: Duration = "hdds.scm.replication.over.replicated.interval", "0s", [SCM];
    /// Maximum number of pending copies of a healthy DataNode. Multiplied by
    /// hdds.datanode.replication.outofservice.limit.factor for a node that is leaving.
    HDDS_SCM_REPLICATION_DATANODE_REPLICATION_LIMIT: u32 = "hdds.scm.replication.datanode.replication.limit", "20", [SCM];
    /// Number of copies as which a reconstruction of erasure-coded replicas counts, for the
    /// DataNode that coordinates it and in the whole cluster.
    HDDS_SCM_REPLICATION_DATANODE_RECONSTRUCTION_WEIGHT: u32 = "hdds.scm.replication.datanode.reconstruction.weight", "3", [SCM];
    /// Maximum number of pending replica deletions of a DataNode.
    HDDS_SCM_REPLICATION_DATANODE_DELETE_CONTAINER_LIMIT: u32 = "hdds.scm.replication.datanode.delete.container.limit", "40", [SCM];
    /// Maximum number of copies in flight in the whole cluster, as a fraction of the sum of the
    /// limits of all healthy DataNodes; 0 for no limit.
    HDDS_SCM_REPLICATION_INFLIGHT_LIMIT_FACTOR: f64 = "hdds.scm.replication.inflight.limit.factor", "0.75", [SCM];
    /// Minimum number of online replicas of a container for nodes to enter maintenance.
    HDDS_SCM_REPLICATION_MAINTENANCE_REPLICA_MINIMUM: u32 = "hdds.scm.replication.maintenance.replica.minimum", "2", [SCM];
    /// Minimum number of online indexes of an erasure-coded container for nodes to enter
    /// maintenance, in addition to the number required to read it.
    HDDS_SCM_REPLICATION_MAINTENANCE_REMAINING_REDUNDANCY: u32 = "hdds.scm.replication.maintenance.remaining.redundancy", "1", [SCM];
    /// Number of sample containers per state in the replication manager's report.
    HDDS_SCM_REPLICATION_CONTAINER_SAMPLE_LIMIT: u32 = "hdds.scm.replication.container.sample.limit", "100", [SCM];
    /// Maximum difference between the utilization of a DataNode and that of the cluster, in
    /// percent, before the container balancer moves containers from or to the DataNode.
    HDDS_CONTAINER_BALANCER_UTILIZATION_THRESHOLD: f64 = "hdds.container.balancer.utilization.threshold", "10", [SCM];
    /// Maximum share of the DataNodes in service that take part in one iteration of the balancer,
    /// in percent.
    HDDS_CONTAINER_BALANCER_DATANODES_INVOLVED_MAX_PERCENTAGE: u32 = "hdds.container.balancer.datanodes.involved.max.percentage.per.iteration", "20", [SCM];
    /// Maximum bytes that the balancer moves in one iteration.
    HDDS_CONTAINER_BALANCER_SIZE_MOVED_MAX: ByteSize = "hdds.container.balancer.size.moved.max.per.iteration", "500GB", [SCM];
    /// Maximum bytes that one DataNode receives in one iteration; greater than
    /// ozone.scm.container.size.
    HDDS_CONTAINER_BALANCER_SIZE_ENTERING_TARGET_MAX: ByteSize = "hdds.container.balancer.size.entering.target.max", "26GB", [SCM];
    /// Maximum bytes that one DataNode sends in one iteration; greater than
    /// ozone.scm.container.size.
    HDDS_CONTAINER_BALANCER_SIZE_LEAVING_SOURCE_MAX: ByteSize = "hdds.container.balancer.size.leaving.source.max", "26GB", [SCM];
    /// Number of iterations after which the balancer stops; -1 for no limit.
    HDDS_CONTAINER_BALANCER_ITERATIONS: i64 = "hdds.container.balancer.iterations", "10", [SCM];
    /// Comma-separated ids of containers that the balancer does not move.
    HDDS_CONTAINER_BALANCER_EXCLUDE_CONTAINERS: String = "hdds.container.balancer.exclude.containers", "", [SCM];
    /// Comma-separated ids of the only containers that the balancer moves; all if empty.
    HDDS_CONTAINER_BALANCER_INCLUDE_CONTAINERS: String = "hdds.container.balancer.include.containers", "", [SCM];
    /// Timeout of a move, from the order to copy to the deletion at the source.
    HDDS_CONTAINER_BALANCER_MOVE_TIMEOUT: Duration = "hdds.container.balancer.move.timeout", "65m", [SCM];
    /// Timeout of the copy as a part of a move.
    HDDS_CONTAINER_BALANCER_MOVE_REPLICATION_TIMEOUT: Duration = "hdds.container.balancer.move.replication.timeout", "50m", [SCM];
    /// Pause between two iterations of the balancer.
    HDDS_CONTAINER_BALANCER_BALANCING_ITERATION_INTERVAL: Duration = "hdds.container.balancer.balancing.iteration.interval", "70m", [SCM];
    /// Comma-separated host names or addresses of the only DataNodes that are balanced; all if
    /// empty.
    HDDS_CONTAINER_BALANCER_INCLUDE_DATANODES: String = "hdds.container.balancer.include.datanodes", "", [SCM];
    /// Comma-separated host names or addresses of DataNodes that are not balanced.
    HDDS_CONTAINER_BALANCER_EXCLUDE_DATANODES: String = "hdds.container.balancer.exclude.datanodes", "", [SCM];
    /// Prefer targets in the rack of the source to less utilized ones.
    HDDS_CONTAINER_BALANCER_MOVE_NETWORK_TOPOLOGY_ENABLE: bool = "hdds.container.balancer.move.networkTopology.enable", "false", [SCM];
    /// Ask DataNodes for their usage before an iteration. They report it with each heartbeat, as
    /// the current size of their replicas, so the balancer never has to wait for it.
    HDDS_CONTAINER_BALANCER_TRIGGER_DU_BEFORE_MOVE_ENABLE: bool = "hdds.container.balancer.trigger.du.before.move.enable", "false", [SCM];
    /// Also move QUASI_CLOSED containers. Surplus replicas are deleted first.
    HDDS_CONTAINER_BALANCER_INCLUDE_NON_STANDARD_CONTAINERS: bool = "hdds.container.balancer.include.non.standard.containers", "false", [SCM];
    /// Placement policy of new replicas, as a class name of Ozone. If it contains RackAware, two
    /// replicas are placed in one rack and the others in other racks; otherwise racks are ignored.
    OZONE_SCM_CONTAINER_PLACEMENT_IMPL: String = "ozone.scm.container.placement.impl", "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRackAware", [SCM];
    /// Copy the replicas of a DataNode that is being decommissioned to one other DataNode, an idle
    /// one with sufficient space and in another rack if possible, so that only these two nodes have
    /// the load. If false, the replicas are distributed over many nodes. `--to` of `o3 admin
    /// datanode decommission` overrides it for one node.
    HDDS_SCM_DATANODE_DECOMMISSION_POINT_TO_POINT: bool = "hdds.scm.datanode.decommission.point.to.point", "false", [SCM];
    /// Move replicas of closed containers that are on disks of another storage type than that of
    /// their container, because a repair found no space on the right disks or the type of a data
    /// directory was changed. Set it to false before changing the types of many directories.
    HDDS_SCM_REPLICATION_STORAGE_TYPE_ENABLED: bool = "hdds.scm.replication.storage.type.enabled", "true", [SCM];
    /// Interval at which SCM checks the progress of nodes that are being decommissioned or enter
    /// maintenance.
    OZONE_SCM_DATANODE_ADMIN_MONITOR_INTERVAL: Duration = "ozone.scm.datanode.admin.monitor.interval", "30s", [SCM];
    /// Source of a host's rack, as a class name of Hadoop. If it contains TableMapping, the file
    /// net.topology.table.file.name; otherwise the script net.topology.script.file.name.
    NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL: String = "net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.ScriptBasedMapping", [OM, SCM];
    /// File with two columns, host name or IP address and rack, such as `10.1.1.7 /rack3`. It is
    /// read again when it changes.
    NET_TOPOLOGY_TABLE_FILE_NAME: Option<PathBuf> = "net.topology.table.file.name", "", [OM, SCM];
    /// Network topology schema, which lists the layers of the network and the cost of each, as one
    /// of Ozone's files in XML or YAML: a path, or one of network-topology-default.xml,
    /// network-topology-nodegroup.xml and network-topology-default.yaml. If set, a node's rack must
    /// have as many parts as there are layers between root and node.
    OZONE_SCM_NETWORK_TOPOLOGY_SCHEMA_FILE: String = "ozone.scm.network.topology.schema.file", "network-topology-default.xml", [OM, SCM];
    /// Program that prints the rack of each host name or IP address in its arguments.
    NET_TOPOLOGY_SCRIPT_FILE_NAME: Option<PathBuf> = "net.topology.script.file.name", "", [OM, SCM];
}
