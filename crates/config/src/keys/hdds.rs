//! Keys several roles read.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::static_groups::StaticGroups;
use crate::value::ByteSize;

keys! {
    /// Where roles keep their metadata when their own directory key is not set.
    OZONE_METADATA_DIRS: Option<PathBuf> = "ozone.metadata.dirs", "", [OM, SCM, DATANODE];
    /// Permissions of ozone.metadata.dirs, also of a directory that is there already: octal or
    /// symbolic, 700 or rwx------.
    OZONE_METADATA_DIRS_PERMISSIONS: DirPermissions = "ozone.metadata.dirs.permissions", "700", [OM, SCM, DATANODE];
    /// Forbid that pages of other sites show a role's status page in a frame.
    HDDS_XFRAME_ENABLED: bool = "hdds.xframe.enabled", "true", [OM, SCM, DATANODE, S3G];
    /// Which pages may: the value of X-Frame-Options.
    HDDS_XFRAME_VALUE: String = "hdds.xframe.value", "SAMEORIGIN", [OM, SCM, DATANODE, S3G], one of ["DENY", "SAMEORIGIN", "ALLOW-FROM"];
    /// Serve metrics beside a role's status page, /metrics and /prom.
    HDDS_PROMETHEUS_ENDPOINT_ENABLED: bool = "hdds.prometheus.endpoint.enabled", "true", [OM, SCM, DATANODE, S3G];
    /// How the groups of a user are found out: a class name of Hadoop's. NullGroupsMapping knows
    /// none; the others stand for the account files of the machine, /etc/passwd and /etc/group.
    HADOOP_SECURITY_GROUP_MAPPING: String = "hadoop.security.group.mapping", "org.apache.hadoop.security.JniBasedUnixGroupsMappingWithFallback", [OM, SCM, DATANODE];
    /// Users whose groups are these, whatever hadoop.security.group.mapping says:
    /// ann=staff,ops;bob= gives ann two and bob none.
    HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES: StaticGroups = "hadoop.user.group.static.mapping.overrides", "dr.who=;", [OM, SCM, DATANODE];
    /// Seconds for which the groups of a user that were found out are used.
    HADOOP_SECURITY_GROUPS_CACHE_SECS: u64 = "hadoop.security.groups.cache.secs", "300", [OM, SCM, DATANODE];
    /// Users who may administer the cluster, separated by commas; the user who runs the server
    /// always may.
    OZONE_ADMINISTRATORS: Vec<String> = "ozone.administrators", "", [OM, SCM, DATANODE];
    /// Groups whose members may administer the cluster, separated by commas.
    OZONE_ADMINISTRATORS_GROUPS: Vec<String> = "ozone.administrators.groups", "", [OM, SCM, DATANODE];
    /// Replication type of a key when neither the client nor the bucket says.
    OZONE_SERVER_DEFAULT_REPLICATION_TYPE: String = "ozone.server.default.replication.type", "RATIS", [OM, CLIENT, S3G], one of ["RATIS", "STAND_ALONE", "EC"];
    /// Replication of a key when neither the client nor the bucket says: 1 or 3 (also ONE, THREE)
    /// for RATIS.
    OZONE_SERVER_DEFAULT_REPLICATION: String = "ozone.server.default.replication", "3", [OM, CLIENT, S3G];
    /// Largest block of a key.
    OZONE_SCM_BLOCK_SIZE: ByteSize = "ozone.scm.block.size", "256MB", [OM, SCM, DATANODE, CLIENT];
    /// Size at which a container counts as full.
    OZONE_SCM_CONTAINER_SIZE: ByteSize = "ozone.scm.container.size", "5GB", [SCM, DATANODE];
    /// How often a DataNode reports to SCM. Ozone's default is 30s; heartbeats are cheap here and
    /// carry commands, so ours is shorter.
    HDDS_HEARTBEAT_INTERVAL: Duration = "hdds.heartbeat.interval", "1s", [DATANODE, SCM];
    /// How often DataNodes look for blocks to delete.
    OZONE_BLOCK_DELETING_SERVICE_INTERVAL: Duration = "ozone.block.deleting.service.interval", "1m", [DATANODE, SCM, OM];
    /// The share of the time that SCM sends deletions, and a DataNode gives back the space of
    /// deleted blocks, while clients use it: more than 0, and 1 to make no way for them. OM has a
    /// key of its own, trioxide.om.background.share.
    TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS: f64 = "trioxide.block.deleting.share.with.clients", "0.125", [DATANODE, SCM];
    /// Hours of the server's local time in which deletions make no way for clients: 1,2,3 or 22-5,
    /// first and last hour included. In OM this counts for all that it does in the background.
    TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR: Vec<String> = "trioxide.block.deleting.off-peak.hour", "", [DATANODE, SCM, OM];
    /// Compact ranges of SCM's and the DataNodes' tables in which deletions left many tombstones;
    /// OM has keys of its own, ozone.om.range.compaction.service.*.
    HDDS_RANGE_COMPACTION_SERVICE_ENABLED: bool = "hdds.range.compaction.service.enabled", "true", [SCM, DATANODE];
    /// How often SCM and DataNodes look for such ranges.
    HDDS_RANGE_COMPACTION_SERVICE_INTERVAL: Duration = "hdds.range.compaction.service.interval", "1m", [SCM, DATANODE];
    /// The most entries of one range that is compacted, unless a single file has more.
    HDDS_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES: u64 = "hdds.range.compaction.service.max.compaction.entries", "1000000", [SCM, DATANODE];
    /// The share of tombstones among its entries, in percent, from which on a range is compacted.
    HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE: u64 = "hdds.range.compaction.service.tombstone.percentage", "30", [SCM, DATANODE];
    /// The fewest tombstones for which a range is compacted.
    HDDS_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES: u64 = "hdds.range.compaction.service.min.tombstones", "10000", [SCM, DATANODE];
    /// Share of its size at which a container is closed.
    HDDS_CONTAINER_CLOSE_THRESHOLD: f64 = "hdds.container.close.threshold", "0.9", [DATANODE];
    /// Make spans of requests and background runs, and send them to a collector.
    OZONE_TRACING_ENABLED: bool = "ozone.tracing.enabled", "false", [COMMON];
    /// OTLP gRPC receiver of the collector, http://HOST:PORT; when unset, the environment variable
    /// OTEL_EXPORTER_OTLP_ENDPOINT, or else http://localhost:4317.
    OZONE_TRACING_ENDPOINT: String = "ozone.tracing.endpoint", "", [COMMON];
    /// Share of the traces beginning here that are exported, 0 to 1; what has a parent follows it.
    /// Below 0 is unset: the environment variable OTEL_TRACES_SAMPLER_ARG, or else 1.
    OZONE_TRACING_SAMPLER: f64 = "ozone.tracing.sampler", "-1", [COMMON];
    /// Share of the spans of a name that are exported within their traces, as NAME:RATE separated
    /// by commas; when unset, the environment variable OTEL_SPAN_SAMPLING_ARG.
    OZONE_TRACING_SPAN_SAMPLING: String = "ozone.tracing.span.sampling", "", [COMMON];
}
