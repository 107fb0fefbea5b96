//! Keys of Apache Ozone 2.2.0 and of Hadoop that have no effect, each with the reason.
//!
//! A key belongs here if ignoring it reduces no safety, removes no limit and grants no access:
//! its behaviour is the default here, or has another key, or belongs to a feature that is
//! rejected as a whole ([`refused`](crate::refused)). **To add one**, add a line;
//! `make docs` adds it to docs/reference/configuration.md.

/// A key, or all keys with a prefix, without effect.
#[derive(Debug)]
pub struct WithoutEffect {
    /// The name; a `*` at its end matches any suffix. Also matches a service and node suffix.
    pub pattern: &'static str,
    /// The reason.
    pub reason: &'static str,
}

impl WithoutEffect {
    /// Returns `true` if the pattern matches this key.
    pub fn covers(&self, key: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => key
                .strip_prefix(self.pattern)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
        }
    }
}

const fn of(pattern: &'static str, reason: &'static str) -> WithoutEffect {
    WithoutEffect { pattern, reason }
}

const RECON: &str = "only Ozone's Recon reads it";
const JAVA_CLIENT: &str =
    "only Ozone's Java client reads it; our client has timeouts, retries and buffers of its own";
const KERBEROS: &str = "there is no Kerberos; settings that enable it are refused";
const TLS: &str = "there is no TLS; settings that enable it are refused";
const CERTIFICATES: &str =
    "there are no certificates and no tokens; settings that enable them are refused";
const KMS: &str = "there is no key provider; settings that enable one are refused";
const TENANTS: &str = "there are no tenants; settings that enable them are refused";
const THREADS: &str = "requests share the process's threads; trioxide.om.limit.* and trioxide.server.max.connections \
                       limit them";
const MEMORY: &str = "trioxide.memory.limit limits all data in flight of a process";
const RATIS: &str = "the Raft implementation is not Ratis; its files, queues and timeouts differ";
const ELECTION: &str =
    "election timeouts are trioxide.om.election.timeout and trioxide.scm.election.timeout";
const ANSWERS: &str = "the retry cache has a fixed size";
const ROCKSDB: &str =
    "RocksDB has fixed settings here; acknowledged writes are in the synced Raft log";
const COMPACTION: &str =
    "hdds.range.compaction.service.* and ozone.om.range.compaction.service.* control compaction";
const LOCKS: &str = "there are no such locks: a Raft group applies its commands sequentially";
const CACHES: &str = "caches have keys of their own, trioxide.*.cache.size";
const SNAPSHOT_FILES: &str =
    "a snapshot has no files of its own that would be opened, filtered, pruned or defragmented";
const CHECKPOINTS: &str =
    "a lagging OM receives its tables over Raft, throttled by trioxide.om.snapshot.rate";
const JVM: &str = "it is a setting of Java";
const METRICS: &str = "metrics are counters and histograms; Prometheus computes intervals";
const DATASTREAM: &str = "data is written by requests; Ratis' data streaming is not supported";
const DELETION: &str = "trioxide.block.deleting.share.with.clients throttles deletions; they wait for no locks \
                        and have no timeouts";
const QUEUES: &str = "queues of reports and commands have fixed limits";
const WORKERS: &str = "the worker threads of a disk serve all reads, writes, copies and deletions";
const DISK_CHECK: &str = "hdds.datanode.disk.check.io.test.count and \
                          hdds.datanode.disk.check.io.failures.tolerated decide; a check that times out fails the disk";
const PORTS: &str = "servers communicate over trioxide.datanode.port and their Raft ports";
const FREON: &str = "freon has no web page";
const SPACE: &str = "free space is queried from the file system on demand";
const CHOICE: &str = "containers, pipelines and their leaders are chosen by load; racks, storage types and free space \
                      have keys of their own";
const ALWAYS_LINEARIZABLE: &str = "reads from OM's leader are always linearizable; for followers see \
                                   ozone.client.follower.read.* and ozone.om.follower.read.*";
const LOG_LINES: &str = "trioxide.log.filter selects log lines";
const SCM_CLIENT: &str = "calls to SCM are retried until a deadline, on another SCM first";
const NO_SECURITY: &str =
    "there is neither Kerberos nor TLS; settings that enable them are refused";
const HADOOP_FILES: &str =
    "it is a setting of Hadoop's own servers, clients or tools, which Ozone does not read";

/// Every key without effect, in groups.
pub static WITHOUT_EFFECT: &[WithoutEffect] = &[
    // Of other programs.
    of("ozone.recon.*", RECON),
    of("recon.om.*", RECON),
    of("hdds.heartbeat.recon.*", "DataNodes send no heartbeats to Recon"),
    of("ozone.freon.*", FREON),
    of("fs.trash.classname", "hadoop fs and ozone fs read it"),
    // Clients.
    of("ozone.client.*", JAVA_CLIENT),
    of("hdds.ratis.client.*", JAVA_CLIENT),
    of("hdds.ratis.raft.client.*", JAVA_CLIENT),
    of("hdds.ratis.raft.grpc.flow.control.window", JAVA_CLIENT),
    of("ozone.fs.iterate.batch-size", JAVA_CLIENT),
    of("ozone.fs.listing.page.size", JAVA_CLIENT),
    of("ozone.fs.datastream.*", DATASTREAM),
    of("ozone.rest.client.*", "there is no such client"),
    of("ozone.scm.chunk.size", "ozone.client.stream.buffer.size sets the size of chunks"),
    of("ozone.UnsafeByteOperations.enabled", JVM),
    of("ozone.om.transport.class", JAVA_CLIENT),
    of("ozone.om.admin.protocol.*", JAVA_CLIENT),
    of("scm.container.client.*", JAVA_CLIENT),
    of("ozone.xceiver.client.metrics.*", METRICS),
    of("hdds.scmclient.*", SCM_CLIENT),
    of("ozone.scm.info.wait.duration", SCM_CLIENT),
    // Authentication and encryption.
    of("hdds.block.token.expiry.time", CERTIFICATES),
    of("hdds.datanode.http.auth.kerberos.*", KERBEROS),
    of("hdds.scm.http.auth.kerberos.*", KERBEROS),
    of("ozone.om.http.auth.kerberos.*", KERBEROS),
    of("ozone.s3g.http.auth.kerberos.*", KERBEROS),
    of("ozone.om.kerberos.principal.pattern", KERBEROS),
    of("hdds.datanode.https-address", TLS),
    of("hdds.datanode.https-bind-host", TLS),
    of("ozone.om.https-address", TLS),
    of("ozone.om.https-bind-host", TLS),
    of("ozone.scm.https-address", TLS),
    of("ozone.scm.https-bind-host", TLS),
    of("ozone.s3g.https-address", TLS),
    of("ozone.s3g.https-bind-host", TLS),
    of("ozone.s3g.webadmin.https-address", TLS),
    of("ozone.s3g.webadmin.https-bind-host", TLS),
    of("ozone.https.client.keystore.resource", TLS),
    of("ozone.https.server.keystore.resource", TLS),
    of("ozone.ssl.enabled.protocols", TLS),
    of("ssl.server.*", TLS),
    of("ssl.client.*", TLS),
    of("hdds.grpc.tls.ciphers", TLS),
    of("hdds.grpc.tls.protocols", TLS),
    of("hdds.grpc.tls.provider", TLS),
    of("hdds.x509.*", CERTIFICATES),
    of("hdds.secret.key.*", CERTIFICATES),
    of("hdds.key.*", CERTIFICATES),
    of("hdds.priv.key.file.name", CERTIFICATES),
    of("hdds.public.key.file.name", CERTIFICATES),
    of("hdds.metadata.dir", CERTIFICATES),
    of("hdds.security.provider", CERTIFICATES),
    of("ozone.manager.delegation.*", CERTIFICATES),
    of("ozone.scm.security.*", CERTIFICATES),
    of("ozone.scm.ca.list.retry.interval", CERTIFICATES),
    of("ozone.om.edekcacheloader.*", KMS),
    of("ozone.om.multitenancy.ranger.*", TENANTS),
    of(
        "ozone.authorization.enabled",
        "it requires ozone.security.enabled, which is refused; ozone.acl.enabled enables ACLs",
    ),
    of("ozone.s3g.secret.http.*", "there is no such endpoint: ozone s3 getsecret creates secrets"),
    of("hdds.profiler.endpoint.enabled", "there is no profiler on the web pages"),
    of("ozone.http.basedir", "web pages are built into the binary"),
    of(
        "ozone.audit.log.debug.cmd.list.*",
        "the audit log contains all writes, and reads if trioxide.audit.reads is set",
    ),
    of("hdds.datanode.plugins", "Java plug-ins are not supported"),
    // Servers.
    of(
        "hadoop.http.idle_timeout.ms",
        "trioxide.server.idle.timeout applies to the S3 gateway; connections to status pages have no idle timeout",
    ),
    of("hdds.datanode.handler.count", THREADS),
    of("hdds.datanode.read.threadpool", THREADS),
    of("hdds.datanode.grpc.so.backlog", "the backlog of a port is the system's default"),
    of("ozone.om.handler.count.key", THREADS),
    of("ozone.om.read.threadpool", THREADS),
    of("ozone.om.grpc.*", THREADS),
    of("ozone.scm.handler.count.key", THREADS),
    of("ozone.scm.block.handler.count.key", THREADS),
    of("ozone.scm.client.handler.count.key", THREADS),
    of("ozone.scm.datanode.handler.count.key", THREADS),
    of("ozone.scm.block.read.threadpool", THREADS),
    of("ozone.scm.client.read.threadpool", THREADS),
    of("ozone.scm.datanode.read.threadpool", THREADS),
    of("ozone.scm.event.*", THREADS),
    of(
        "ozone.service.shutdown.timeout",
        "trioxide.shutdown.timeout is the timeout of a role's shutdown",
    ),
    of("ozone.network.*", JVM),
    of("hdds.metrics.*", METRICS),
    of("ozone.volume.io.percentiles.intervals.seconds", METRICS),
    of("ozone.s3g.metrics.*", METRICS),
    of("ozone.om.save.metrics.interval", METRICS),
    of("hadoop.hdds.db.rocksdb.*", ROCKSDB),
    of("hdds.db.profile", ROCKSDB),
    of("ozone.metastore.rocksdb.*", ROCKSDB),
    of("hdds.datanode.db.config.path", ROCKSDB),
    of("hdds.datanode.rocksdb.*", ROCKSDB),
    of("hdds.datanode.rocksdb.auto-compaction-small-sst-file*", COMPACTION),
    of("ozone.om.compaction.service.timeout", COMPACTION),
    // DataNodes.
    of("hdds.datanode.read.chunk.threads.per.volume", WORKERS),
    of("hdds.container.ratis.num.*", WORKERS),
    of("hdds.container.ratis.admin.port", PORTS),
    of("hdds.container.ratis.server.port", PORTS),
    of("hdds.datanode.replication.port", PORTS),
    of("hdds.container.ratis.datastream.*", DATASTREAM),
    of("hdds.ratis.raft.server.datastream.*", DATASTREAM),
    of("hdds.container.ratis.enabled", "SCM always creates Raft pipelines"),
    of("hdds.container.ratis.rpc.type", RATIS),
    of("hdds.container.ratis.log.*", RATIS),
    of("hdds.container.ratis.segment.*", RATIS),
    of("hdds.container.ratis.statemachine*", RATIS),
    of("hdds.datanode.ratis.server.request.timeout", RATIS),
    of(
        "hdds.datanode.wait.on.all.followers",
        "a follower that lost the bytes of an entry fetches them from a peer that stored them",
    ),
    of("hdds.ratis.raft.server.delete.ratis.log.directory", RATIS),
    of("hdds.ratis.raft.server.leaderelection.pre-vote", "elections always have a pre-vote"),
    of("hdds.ratis.raft.server.log.appender.*", RATIS),
    of("hdds.ratis.raft.server.rpc.request.timeout", RATIS),
    of("hdds.ratis.raft.server.write.element-limit", MEMORY),
    of("hdds.ratis.server.num.snapshots.retained", RATIS),
    of("hdds.ratis.server.retry-cache.timeout.duration", ANSWERS),
    of("hdds.raft.server.rpc.first-election.timeout", ELECTION),
    of("hdds.command.status.report.interval", "the next heartbeat reports the status of commands"),
    of("hdds.container.action.max.limit", QUEUES),
    of("hdds.pipeline.action.max.limit", QUEUES),
    of("hdds.datanode.command.queue.limit", QUEUES),
    of("hdds.datanode.block.delete.*", DELETION),
    of("hdds.datanode.block.deleting.*", DELETION),
    of("hdds.datanode.delete.container.timeout", DELETION),
    of("hdds.datanode.container.close.threads.max", WORKERS),
    of("hdds.datanode.container.delete.threads.max", WORKERS),
    of("hdds.datanode.container.checksum.lock.stripes", LOCKS),
    of("hdds.datanode.container.client.cache.*", CACHES),
    of("ozone.container.cache.*", CACHES),
    of("hdds.datanode.container.db.dir", "the tables of a disk are on the disk itself"),
    of("hdds.datanode.container.schema.v3.*", "there is one database for each disk"),
    of("hdds.container.checksum.verification.enabled", "checksums are always verified"),
    of("hdds.container.scrub.dev.*", "hdds.container.scrub.enabled controls all scans"),
    of("hdds.container.replication.compression", "replicas are copied as they are stored"),
    of("hdds.datanode.replication.work.dir", "received replicas are written to their final disk"),
    of("hdds.datanode.df.refresh.period", SPACE),
    of("hdds.datanode.du.*", SPACE),
    of("hdds.datanode.disk.check.io.test.enabled", DISK_CHECK),
    of(
        "hdds.datanode.disk.check.rocksdb.check.io.test.enabled",
        "every request uses the tables: an I/O error fails the disk",
    ),
    of("hdds.datanode.disk.check.sliding.window.timeout", DISK_CHECK),
    of("hdds.datanode.disk.check.timeout.*", DISK_CHECK),
    of("hdds.datanode.dns.*", "hdds.datanode.hostname is the name of a DataNode"),
    of("hdds.datanode.use.datanode.hostname", "DataNodes use each other's registered addresses"),
    of(
        "hdds.datanode.storage.utilization.*",
        "hdds.datanode.volume.min.free.space.* limit the use of a disk, and SCM places by free space",
    ),
    of(
        "ozone.scm.datanode.ratis.volume.free-space.min",
        "SCM places by the free space of the disks with the Raft logs; a log on a full disk acknowledges nothing",
    ),
    of("ozone.chunk.read.*", MEMORY),
    of(
        "ozone.scm.container.layout",
        "small blocks are packed into segment files, others have a file each",
    ),
    of("ozone.scm.keyvalue.container.deletion-choosing.policy", DELETION),
    of("ozone.block.deleting.service.timeout", DELETION),
    of("ozone.block.deleting.service.workers", DELETION),
    of("hdds.heartbeat.initial-interval", "a DataNode registers as soon as SCM answers"),
    of("ozone.scm.heartbeat.rpc-retry-count", "heartbeats are retried until SCM answers"),
    of("ozone.scm.heartbeat.rpc-retry-interval", "heartbeats are retried until SCM answers"),
    of("ozone.scm.heartbeat.log.warn.interval.count", LOG_LINES),
    // OM.
    of("ozone.om.allow.leader.skip.linearizable.read", ALWAYS_LINEARIZABLE),
    of("ozone.om.ha.raft.server.read.*", ALWAYS_LINEARIZABLE),
    of("ozone.om.ha.raft.server.retrycache.expirytime", ANSWERS),
    of("ozone.om.ratis.server.retry.cache.timeout", ANSWERS),
    of("ozone.om.ha.raft.server.log.appender.*", RATIS),
    of("ozone.om.ratis.server.leaderelection.pre-vote", "elections always have a pre-vote"),
    of("ozone.om.leader.election.minimum.timeout.duration", ELECTION),
    of("ozone.om.ratis.minimum.timeout", ELECTION),
    of("ozone.om.ratis.server.failure.timeout.duration", RATIS),
    of("ozone.om.ratis.server.close.threshold", JVM),
    of("ozone.om.ratis.server.request.timeout", RATIS),
    of(
        "ozone.om.ratis.server.pending.write.element-limit",
        "trioxide.om.limit.writes and trioxide.om.limit.waiting limit writes",
    ),
    of(
        "ozone.om.unflushed.transaction.max.count",
        "trioxide.om.limit.writes and trioxide.om.limit.waiting limit writes",
    ),
    of("ozone.om.ratis.events.max.limit", QUEUES),
    of("ozone.om.ratis.log.*", RATIS),
    of("ozone.om.ratis.rpc.type", RATIS),
    of("ozone.om.ratis.segment.*", RATIS),
    of("ozone.om.ratis.snapshot.dir", CHECKPOINTS),
    of("ozone.om.ratis.snapshot.max.total.sst.size", CHECKPOINTS),
    of("ozone.om.snapshot.provider.*", CHECKPOINTS),
    of("ozone.om.db.checkpoint.use.inode.based.transfer", CHECKPOINTS),
    of("ozone.om.upgrade.finalization.*", CHECKPOINTS),
    of(
        "ozone.om.upgrade.quota.recalculate.enabled",
        "every change updates the usage of volumes and buckets",
    ),
    of(
        "ozone.om.container.location.*",
        "the cache of container locations has a fixed size and is refreshed when a read fails",
    ),
    of(
        "ozone.om.network.topology.refresh.duration",
        "OM resolves racks itself, with net.topology.*",
    ),
    of("ozone.om.hierarchical.*", LOCKS),
    of("ozone.om.key.path.lock.enabled", LOCKS),
    of("ozone.om.lock.fair", LOCKS),
    of("ozone.om.client.trash.core.pool.size", "trash checkpoints are deleted sequentially"),
    of("ozone.om.open.key.cleanup.service.timeout", "a run ends at its limit per task"),
    of("ozone.om.open.mpu.cleanup.service.timeout", "a run ends at its limit per task"),
    of("ozone.om.snapshot.cache.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.checkpoint.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.compact.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.compaction.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.db.max.open.files", SNAPSHOT_FILES),
    of("ozone.om.snapshot.diff.cleanup.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.diff.db.dir", SNAPSHOT_FILES),
    of("ozone.om.snapshot.diff.disable.native.libs", SNAPSHOT_FILES),
    of("ozone.om.snapshot.diff.max.jobs.purge.per.task", SNAPSHOT_FILES),
    of("ozone.om.snapshot.directory.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.force.full.diff", "snapshot diffs are always exact"),
    of("ozone.om.snapshot.load.native.lib", SNAPSHOT_FILES),
    of("ozone.om.snapshot.local.data.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.prune.*", SNAPSHOT_FILES),
    of("ozone.om.snapshot.rocksdb.metrics.enabled", SNAPSHOT_FILES),
    of(
        "ozone.snapshot.deep.cleaning.enabled",
        "data that no snapshot references is always reclaimed",
    ),
    of("ozone.snapshot.defrag.*", SNAPSHOT_FILES),
    of(
        "ozone.snapshot.deleting.limit.per.task",
        "ozone.snapshot.key.deleting.limit.per.task limits a run",
    ),
    of("ozone.snapshot.deleting.service.timeout", "a run ends at its limit per task"),
    of("ozone.snapshot.directory.*", SNAPSHOT_FILES),
    of("ozone.snapshot.filtering.*", SNAPSHOT_FILES),
    of("ozone.sst.filtering.service.timeout", SNAPSHOT_FILES),
    // SCM.
    of("hdds.scm.block.deletion.txn.dn.commit.map.limit", DELETION),
    of("ozone.scm.block.deletion.per.dn.distribution.factor", DELETION),
    of("hdds.scm.pipeline.choose.policy.impl", CHOICE),
    of("hdds.scm.ec.pipeline.choose.policy.impl", CHOICE),
    of("ozone.scm.pipeline.leader-choose.policy", CHOICE),
    of("ozone.scm.pending.container.roll.interval", CHOICE),
    of("hdds.scm.safemode.log.interval", LOG_LINES),
    of(
        "hdds.scm.safemode.pipeline.creation",
        "pipelines are created as soon as DataNodes register",
    ),
    of(
        "ozone.scm.close.container.wait.duration",
        "containers are closed at once: a rejected writer continues in another block",
    ),
    of("ozone.scm.container.lock.stripes", LOCKS),
    of("ozone.scm.datanode.admin.monitor.logging.limit", LOG_LINES),
    of(
        "ozone.scm.expired.container.replica.op.scrub.interval",
        "a copy or deletion fails when its timeout expires",
    ),
    of("ozone.scm.grpc.port", CHECKPOINTS),
    of("ozone.scm.ha.dbtransactionbuffer.flush.interval", ROCKSDB),
    of("ozone.scm.ha.grpc.deadline.interval", CHECKPOINTS),
    of("ozone.scm.ha.raft.server.log.appender.*", RATIS),
    of("ozone.scm.ha.raft.server.rpc.first-election.timeout", ELECTION),
    of("ozone.scm.ha.ratis.leader.election.timeout", ELECTION),
    of("ozone.scm.ha.ratis.leader.ready.*", ELECTION),
    of("ozone.scm.ha.ratis.log.*", RATIS),
    of("ozone.scm.ha.ratis.request.timeout", RATIS),
    of("ozone.scm.ha.ratis.rpc.type", RATIS),
    of("ozone.scm.ha.ratis.segment.*", RATIS),
    of("ozone.scm.ha.ratis.server.failure.timeout.duration", RATIS),
    of("ozone.scm.ha.ratis.server.leaderelection.pre-vote", "elections always have a pre-vote"),
    of("ozone.scm.ha.ratis.server.retry.cache.timeout", ANSWERS),
    of("ozone.scm.ha.ratis.snapshot.dir", CHECKPOINTS),
    of("ozone.scm.ratis.events.max.limit", QUEUES),
    of("ozone.scm.skip.bootstrap.validation", "the cluster id is always checked"),
    // S3 gateway.
    of(
        "ozone.s3g.client.buffer.size",
        "a GET reads ahead whole chunks, limited by trioxide.memory.limit",
    ),
    of(
        "ozone.s3g.list-keys.shallow.enabled",
        "a listing with a delimiter always skips the keys below a common prefix",
    ),
    // Hadoop's.
    of("hadoop.proxyuser.*", "there is no Kerberos: the client sends the user's name"),
    of("hadoop.security.auth_to_local*", KERBEROS),
    of("hadoop.kerberos.*", KERBEROS),
    of("hadoop.http.authentication.*", KERBEROS),
    of("hadoop.http.filter.initializers", "Ozone's web pages have ozone.http.filter.initializers"),
    of("hadoop.ssl.*", TLS),
    of("hadoop.security.group.mapping.*", "a mapping that reads it is refused"),
    of(
        "hadoop.security.groups.negative-cache.secs",
        "hadoop.security.groups.cache.secs applies to users without groups, too",
    ),
    of("hadoop.security.groups.cache.*", "groups are resolved by the request that needs them"),
    of("hadoop.security.groups.shell.*", "groups are not resolved by commands"),
    of("hadoop.security.crypto.*", KMS),
    of("hadoop.security.dns.*", KERBEROS),
    of("hadoop.security.token.service.use_ip", CERTIFICATES),
    of("hadoop.security.*", NO_SECURITY),
    of("hadoop.http.*", HADOOP_FILES),
    of("hadoop.rpc.socket.factory.class.*", JVM),
    of("hadoop.caller.context.*", "the audit log has no caller context"),
    of("hadoop.tmp.dir", HADOOP_FILES),
    of("hadoop.util.*", HADOOP_FILES),
    of("hadoop.workaround.*", HADOOP_FILES),
    of("ipc.client.*", JAVA_CLIENT),
    of("ipc.ping.interval", JAVA_CLIENT),
    of("ipc.server.*", THREADS),
    of("ipc.maximum.response.length", "the maximum size of Hadoop RPC messages is fixed"),
    of("ipc.maximum.data.length", "the maximum size of Hadoop RPC messages is fixed"),
];
