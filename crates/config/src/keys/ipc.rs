//! Hadoop's settings of an RPC server's call queue. Ozone reads them for OM as `ipc.PORT.NAME`,
//! where PORT is that of `ozone.om.address`; without a port they apply to every server.

use crate::declare::{Key, keys};

/// A key whose value is a list of numbers.
pub type Numbers = Key<Vec<String>>;

keys! {
    /// Call queue of OM: fair between users by their recent calls (FairCallQueue) or first in,
    /// first out (LinkedBlockingQueue, Ozone's default). Set it as ipc.PORT.callqueue.impl for the
    /// port of ozone.om.address, like all keys that begin with ipc.
    IPC_CALLQUEUE_IMPL: String = "ipc.callqueue.impl", "org.apache.hadoop.ipc_.FairCallQueue", [OM],
        one of ["org.apache.hadoop.ipc_.FairCallQueue", "org.apache.hadoop.ipc.FairCallQueue",
                "java.util.concurrent.LinkedBlockingQueue"];
    /// Scheduler that assigns users to priority levels of the FairCallQueue: by their share of
    /// recent calls (DecayRpcScheduler), or all to the first level (DefaultRpcScheduler).
    IPC_SCHEDULER_IMPL: String = "ipc.scheduler.impl", "org.apache.hadoop.ipc_.DecayRpcScheduler", [OM],
        one of ["org.apache.hadoop.ipc_.DecayRpcScheduler", "org.apache.hadoop.ipc.DecayRpcScheduler",
                "org.apache.hadoop.ipc_.DefaultRpcScheduler", "org.apache.hadoop.ipc.DefaultRpcScheduler"];
    /// Number of priority levels.
    IPC_SCHEDULER_PRIORITY_LEVELS: u32 = "ipc.scheduler.priority.levels", "4", [OM];
    /// Identity by which calls are counted: the user a request is for, over any gateway or protocol
    /// (OzoneIdentityProvider), or the user of the connection (UserIdentityProvider, Ozone's
    /// default).
    IPC_IDENTITY_PROVIDER_IMPL: String = "ipc.identity-provider.impl",
        "org.apache.hadoop.ozone.om.helpers.OzoneIdentityProvider", [OM],
        one of ["org.apache.hadoop.ozone.om.helpers.OzoneIdentityProvider",
                "org.apache.hadoop.ipc_.UserIdentityProvider", "org.apache.hadoop.ipc.UserIdentityProvider"];
    /// Cost of a call. Only a cost of one per call is available.
    IPC_COST_PROVIDER_IMPL: String = "ipc.cost-provider.impl", "org.apache.hadoop.ipc_.DefaultCostProvider", [OM],
        one of ["org.apache.hadoop.ipc_.DefaultCostProvider", "org.apache.hadoop.ipc.DefaultCostProvider"];
    /// Reject a call if the queue is full, so that the client retries later. If false, the call
    /// waits and OM stops reading from its connection (Ozone's default).
    IPC_BACKOFF_ENABLE: bool = "ipc.backoff.enable", "true", [OM];
    /// Number of calls that are taken from each level in turn, separated by commas, the first level
    /// first; 8,4,2,1 for four levels if unset.
    IPC_FAIRCALLQUEUE_MULTIPLEXER_WEIGHTS: Vec<String> = "ipc.faircallqueue.multiplexer.weights", "", [OM];
    /// Comma-separated weights by which the levels share the capacity of the call queue; equal
    /// shares if unset.
    IPC_CALLQUEUE_CAPACITY_WEIGHTS: Vec<String> = "ipc.callqueue.capacity.weights", "", [OM];
    /// Failover of clients to another OM on a full queue is not available.
    IPC_CALLQUEUE_OVERFLOW_TRIGGER_FAILOVER: String = "ipc.callqueue.overflow.trigger.failover", "false", [OM],
        one of ["false"];
    /// Interval at which the call counts decay, in milliseconds.
    IPC_DECAY_SCHEDULER_PERIOD_MS: u64 = "ipc.decay-scheduler.period-ms", "5000", [OM];
    /// Factor by which the call counts are multiplied at each interval.
    IPC_DECAY_SCHEDULER_DECAY_FACTOR: f64 = "ipc.decay-scheduler.decay-factor", "0.5", [OM];
    /// Shares of all calls, in percent, from which a user is in the second level, the third, and so
    /// on, separated by commas; 12.5,25,50 for four levels if unset.
    IPC_DECAY_SCHEDULER_THRESHOLDS: Vec<String> = "ipc.decay-scheduler.thresholds", "", [OM];
    /// Comma-separated users who are always in the first level.
    IPC_DECAY_SCHEDULER_SERVICE_USERS: Vec<String> = "ipc.decay-scheduler.service-users", "", [OM];
    /// Backoff by response time is not available.
    IPC_DECAY_SCHEDULER_BACKOFF_RESPONSETIME_ENABLE: String = "ipc.decay-scheduler.backoff.responsetime.enable",
        "false", [OM], one of ["false"];
    /// Number of users with the most calls whose shares the metrics include.
    IPC_DECAY_SCHEDULER_METRICS_TOP_USER_COUNT: u32 = "ipc.decay-scheduler.metrics.top.user.count", "10", [OM];
}
