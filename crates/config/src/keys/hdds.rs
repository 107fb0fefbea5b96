//! Keys that several roles read.

use std::path::PathBuf;
use std::time::Duration;

use crate::declare::keys;
use crate::permissions::DirPermissions;
use crate::static_groups::StaticGroups;
use crate::value::ByteSize;

keys! {
    /// Default metadata directory of roles whose own directory key is not set.
    OZONE_METADATA_DIRS: Option<PathBuf> = "ozone.metadata.dirs", "", [OM, SCM, DATANODE];
    /// Permissions of ozone.metadata.dirs, octal or symbolic: 700 or rwx------. An existing
    /// directory is changed, too.
    OZONE_METADATA_DIRS_PERMISSIONS: DirPermissions = "ozone.metadata.dirs.permissions", "700", [OM, SCM, DATANODE];
    /// Send X-Frame-Options, so that browsers do not show a role's status page in frames of other
    /// sites.
    HDDS_XFRAME_ENABLED: bool = "hdds.xframe.enabled", "true", [OM, SCM, DATANODE, S3G];
    /// Value of X-Frame-Options.
    HDDS_XFRAME_VALUE: String = "hdds.xframe.value", "SAMEORIGIN", [OM, SCM, DATANODE, S3G], one of ["DENY", "SAMEORIGIN", "ALLOW-FROM"];
    /// Serve metrics at /metrics and /prom, next to a role's status page.
    HDDS_PROMETHEUS_ENDPOINT_ENABLED: bool = "hdds.prometheus.endpoint.enabled", "true", [OM, SCM, DATANODE, S3G];
    /// Source of a user's groups, as a class name of Hadoop. NullGroupsMapping returns no groups;
    /// all others use the host's account files, /etc/passwd and /etc/group.
    HADOOP_SECURITY_GROUP_MAPPING: String = "hadoop.security.group.mapping", "org.apache.hadoop.security.JniBasedUnixGroupsMappingWithFallback", [OM, SCM, DATANODE];
    /// Static groups of users, which override hadoop.security.group.mapping: ann=staff,ops;bob=
    /// puts ann into two groups and bob into none.
    HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES: StaticGroups = "hadoop.user.group.static.mapping.overrides", "dr.who=;", [OM, SCM, DATANODE];
    /// Time for which a user's groups are cached, in seconds.
    HADOOP_SECURITY_GROUPS_CACHE_SECS: u64 = "hadoop.security.groups.cache.secs", "300", [OM, SCM, DATANODE];
    /// Comma-separated administrators of the cluster. The user who runs the server is always one.
    OZONE_ADMINISTRATORS: Vec<String> = "ozone.administrators", "", [OM, SCM, DATANODE];
    /// Comma-separated groups whose members are administrators of the cluster.
    OZONE_ADMINISTRATORS_GROUPS: Vec<String> = "ozone.administrators.groups", "", [OM, SCM, DATANODE];
    /// Replication type of a key if neither the client nor the bucket sets one.
    OZONE_SERVER_DEFAULT_REPLICATION_TYPE: String = "ozone.server.default.replication.type", "RATIS", [OM, CLIENT, S3G], one of ["RATIS", "STAND_ALONE", "EC"];
    /// Replication of a key if neither the client nor the bucket sets one: 1 or 3 (also ONE, THREE)
    /// for RATIS.
    OZONE_SERVER_DEFAULT_REPLICATION: String = "ozone.server.default.replication", "3", [OM, CLIENT, S3G];
    /// Maximum size of a block.
    OZONE_SCM_BLOCK_SIZE: ByteSize = "ozone.scm.block.size", "256MB", [OM, SCM, DATANODE, CLIENT];
    /// Maximum size of a container.
    OZONE_SCM_CONTAINER_SIZE: ByteSize = "ozone.scm.container.size", "5GB", [SCM, DATANODE];
    /// Interval of a DataNode's heartbeats to SCM. Ozone's default is 30s; heartbeats are cheap
    /// here and carry commands, so ours is shorter.
    HDDS_HEARTBEAT_INTERVAL: Duration = "hdds.heartbeat.interval", "1s", [DATANODE, SCM];
    /// Interval at which DataNodes look for blocks to delete.
    OZONE_BLOCK_DELETING_SERVICE_INTERVAL: Duration = "ozone.block.deleting.service.interval", "1m", [DATANODE, SCM, OM];
    /// Fraction of the time that SCM spends on sending deletions, and a DataNode on reclaiming the
    /// space of deleted blocks, while clients use it: greater than 0; 1 disables the throttle. OM
    /// uses trioxide.om.background.share instead.
    TRIOXIDE_BLOCK_DELETING_SHARE_WITH_CLIENTS: f64 = "trioxide.block.deleting.share.with.clients", "0.125", [DATANODE, SCM];
    /// Off-peak hours, in the server's local time, in which deletions are not throttled: 1,2,3 or
    /// 22-5, first and last hour included. In OM they apply to all background services.
    TRIOXIDE_BLOCK_DELETING_OFF_PEAK_HOUR: Vec<String> = "trioxide.block.deleting.off-peak.hour", "", [DATANODE, SCM, OM];
    /// Compact ranges of the tables of SCM and DataNodes in which deletions left many tombstones.
    /// OM has keys of its own, ozone.om.range.compaction.service.*.
    HDDS_RANGE_COMPACTION_SERVICE_ENABLED: bool = "hdds.range.compaction.service.enabled", "true", [SCM, DATANODE];
    /// Interval at which SCM and DataNodes look for such ranges.
    HDDS_RANGE_COMPACTION_SERVICE_INTERVAL: Duration = "hdds.range.compaction.service.interval", "1m", [SCM, DATANODE];
    /// Maximum number of entries of a compacted range, unless a single file has more.
    HDDS_RANGE_COMPACTION_SERVICE_MAX_COMPACTION_ENTRIES: u64 = "hdds.range.compaction.service.max.compaction.entries", "1000000", [SCM, DATANODE];
    /// Minimum share of tombstones among the entries of a compacted range, in percent.
    HDDS_RANGE_COMPACTION_SERVICE_TOMBSTONE_PERCENTAGE: u64 = "hdds.range.compaction.service.tombstone.percentage", "30", [SCM, DATANODE];
    /// Minimum number of tombstones of a compacted range.
    HDDS_RANGE_COMPACTION_SERVICE_MIN_TOMBSTONES: u64 = "hdds.range.compaction.service.min.tombstones", "10000", [SCM, DATANODE];
    /// Fraction of ozone.scm.container.size at which a container is closed.
    HDDS_CONTAINER_CLOSE_THRESHOLD: f64 = "hdds.container.close.threshold", "0.9", [DATANODE];
    /// Record spans of requests and background services and send them to a collector.
    OZONE_TRACING_ENABLED: bool = "ozone.tracing.enabled", "false", [COMMON];
    /// OTLP gRPC endpoint of the collector, http://HOST:PORT. If unset, the environment variable
    /// OTEL_EXPORTER_OTLP_ENDPOINT, or else http://localhost:4317.
    OZONE_TRACING_ENDPOINT: String = "ozone.tracing.endpoint", "", [COMMON];
    /// Fraction of the traces started here that are exported, from 0 to 1; a span with a parent
    /// follows its parent's decision. If negative, the environment variable
    /// OTEL_TRACES_SAMPLER_ARG, or else 1.
    OZONE_TRACING_SAMPLER: f64 = "ozone.tracing.sampler", "-1", [COMMON];
    /// Fraction of the spans of a name that are exported within their traces, as comma-separated
    /// NAME:RATE. If unset, the environment variable OTEL_SPAN_SAMPLING_ARG.
    OZONE_TRACING_SPAN_SAMPLING: String = "ozone.tracing.span.sampling", "", [COMMON];
}
