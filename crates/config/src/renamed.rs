//! Keys that Ozone renamed: the deprecated name of a key is an alias of the current one.

/// Deprecated and current name of each, as in Ozone 2.2.0 (`OzoneConfiguration.addDeprecatedKeys`).
pub const RENAMED: &[(&str, &str)] = &[
    ("ozone.datanode.pipeline.limit", "ozone.scm.datanode.pipeline.limit"),
    ("hdds.ratis.raft.server.rpcslowness.timeout", "hdds.ratis.raft.server.rpc.slowness.timeout"),
    ("dfs.datanode.keytab.file", "hdds.datanode.kerberos.keytab.file"),
    ("ozone.scm.chunk.layout", "ozone.scm.container.layout"),
    ("dfs.container.chunk.write.sync", "hdds.container.chunk.write.sync"),
    ("dfs.container.ipc", "hdds.container.ipc.port"),
    ("dfs.container.ipc.random.port", "hdds.container.ipc.random.port"),
    ("dfs.container.ratis.admin.port", "hdds.container.ratis.admin.port"),
    ("dfs.container.ratis.datanode.storage.dir", "hdds.container.ratis.datanode.storage.dir"),
    ("dfs.container.ratis.datastream.enabled", "hdds.container.ratis.datastream.enabled"),
    ("dfs.container.ratis.datastream.port", "hdds.container.ratis.datastream.port"),
    ("dfs.container.ratis.datastream.random.port", "hdds.container.ratis.datastream.random.port"),
    ("dfs.container.ratis.enabled", "hdds.container.ratis.enabled"),
    ("dfs.container.ratis.ipc", "hdds.container.ratis.ipc.port"),
    ("dfs.container.ratis.ipc.random.port", "hdds.container.ratis.ipc.random.port"),
    (
        "dfs.container.ratis.leader.pending.bytes.limit",
        "hdds.container.ratis.leader.pending.bytes.limit",
    ),
    (
        "dfs.container.ratis.log.appender.queue.byte-limit",
        "hdds.container.ratis.log.appender.queue.byte-limit",
    ),
    (
        "dfs.container.ratis.log.appender.queue.num-elements",
        "hdds.container.ratis.log.appender.queue.num-elements",
    ),
    ("dfs.container.ratis.log.purge.gap", "hdds.container.ratis.log.purge.gap"),
    ("dfs.container.ratis.log.queue.byte-limit", "hdds.container.ratis.log.queue.byte-limit"),
    ("dfs.container.ratis.log.queue.num-elements", "hdds.container.ratis.log.queue.num-elements"),
    (
        "dfs.container.ratis.num.container.op.executors",
        "hdds.container.ratis.num.container.op.executors",
    ),
    (
        "dfs.container.ratis.num.write.chunk.threads.per.volume",
        "hdds.container.ratis.num.write.chunk.threads.per.volume",
    ),
    ("dfs.container.ratis.rpc.type", "hdds.container.ratis.rpc.type"),
    (
        "dfs.container.ratis.segment.preallocated.size",
        "hdds.container.ratis.segment.preallocated.size",
    ),
    ("dfs.container.ratis.segment.size", "hdds.container.ratis.segment.size"),
    ("dfs.container.ratis.server.port", "hdds.container.ratis.server.port"),
    (
        "dfs.container.ratis.statemachinedata.sync.retries",
        "hdds.container.ratis.statemachinedata.sync.retries",
    ),
    (
        "dfs.container.ratis.statemachinedata.sync.timeout",
        "hdds.container.ratis.statemachinedata.sync.timeout",
    ),
    (
        "dfs.container.ratis.statemachine.max.pending.apply-transactions",
        "hdds.container.ratis.statemachine.max.pending.apply-transactions",
    ),
    (
        "dfs.ratis.leader.election.minimum.timeout.duration",
        "hdds.ratis.leader.election.minimum.timeout.duration",
    ),
    (
        "dfs.ratis.server.retry-cache.timeout.duration",
        "hdds.ratis.server.retry-cache.timeout.duration",
    ),
    ("dfs.ratis.snapshot.threshold", "hdds.ratis.snapshot.threshold"),
    ("dfs.datanode.dns.interface", "hdds.datanode.dns.interface"),
    ("dfs.datanode.dns.nameserver", "hdds.datanode.dns.nameserver"),
    ("dfs.datanode.hostname", "hdds.datanode.hostname"),
    ("dfs.datanode.data.dir", "hdds.datanode.dir"),
    ("dfs.datanode.use.datanode.hostname", "hdds.datanode.use.datanode.hostname"),
    ("dfs.xframe.enabled", "hdds.xframe.enabled"),
    ("dfs.xframe.value", "hdds.xframe.value"),
    ("dfs.metrics.session-id", "hdds.metrics.session-id"),
    ("dfs.client.https.keystore.resource", "ozone.https.client.keystore.resource"),
    ("dfs.https.server.keystore.resource", "ozone.https.server.keystore.resource"),
    ("dfs.http.policy", "ozone.http.policy"),
    ("dfs.datanode.kerberos.principal", "hdds.datanode.kerberos.principal"),
    ("dfs.datanode.kerberos.keytab.file", "hdds.datanode.kerberos.keytab.file"),
    ("dfs.metrics.percentiles.intervals", "hdds.metrics.percentiles.intervals"),
    ("hdds.recon.heartbeat.interval", "hdds.heartbeat.recon.interval"),
    ("hdds.tracing.enabled", "ozone.tracing.enabled"),
];

/// The current name of a key.
pub fn current(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}
