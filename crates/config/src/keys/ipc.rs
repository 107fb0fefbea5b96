//! Hadoop's settings of the queue in front of a server, which Ozone reads for OM as
//! `ipc.PORT.NAME`, PORT being that of `ozone.om.address`. Without a port they are for all.

use crate::declare::{Key, keys};

/// A key whose value is a list of numbers.
pub type Numbers = Key<Vec<String>>;

keys! {
    /// How OM's requests wait when not all can be worked on at once: users by what they asked for
    /// lately (FairCallQueue), or in the order in which they came (LinkedBlockingQueue, which is
    /// Ozone's default). Set as ipc.PORT.callqueue.impl for the port of ozone.om.address, as all
    /// keys that begin with ipc.
    IPC_CALLQUEUE_IMPL: String = "ipc.callqueue.impl", "org.apache.hadoop.ipc_.FairCallQueue", [OM],
        one of ["org.apache.hadoop.ipc_.FairCallQueue", "org.apache.hadoop.ipc.FairCallQueue",
                "java.util.concurrent.LinkedBlockingQueue"];
    /// Which level of the FairCallQueue a user is in: by the share of all calls that the user made
    /// lately (DecayRpcScheduler), or always the first (DefaultRpcScheduler).
    IPC_SCHEDULER_IMPL: String = "ipc.scheduler.impl", "org.apache.hadoop.ipc_.DecayRpcScheduler", [OM],
        one of ["org.apache.hadoop.ipc_.DecayRpcScheduler", "org.apache.hadoop.ipc.DecayRpcScheduler",
                "org.apache.hadoop.ipc_.DefaultRpcScheduler", "org.apache.hadoop.ipc.DefaultRpcScheduler"];
    /// How many levels there are.
    IPC_SCHEDULER_PRIORITY_LEVELS: u32 = "ipc.scheduler.priority.levels", "4", [OM];
    /// Whose calls are told apart: those of the user that a request is for, whichever gateway and
    /// protocol brought it (OzoneIdentityProvider), or of the connection's (UserIdentityProvider,
    /// which is Ozone's default).
    IPC_IDENTITY_PROVIDER_IMPL: String = "ipc.identity-provider.impl",
        "org.apache.hadoop.ozone.om.helpers.OzoneIdentityProvider", [OM],
        one of ["org.apache.hadoop.ozone.om.helpers.OzoneIdentityProvider",
                "org.apache.hadoop.ipc_.UserIdentityProvider", "org.apache.hadoop.ipc.UserIdentityProvider"];
    /// What a call counts. Another cost than that of one call is not available.
    IPC_COST_PROVIDER_IMPL: String = "ipc.cost-provider.impl", "org.apache.hadoop.ipc_.DefaultCostProvider", [OM],
        one of ["org.apache.hadoop.ipc_.DefaultCostProvider", "org.apache.hadoop.ipc.DefaultCostProvider"];
    /// Refuse a call when too many wait, as one to be tried again later; otherwise it waits, too,
    /// and nothing more is read from its connection (Ozone's default).
    IPC_BACKOFF_ENABLE: bool = "ipc.backoff.enable", "true", [OM];
    /// How many calls of each level are taken before one of the next is, separated by commas, the
    /// first level first; 8,4,2,1 for four levels when unset.
    IPC_FAIRCALLQUEUE_MULTIPLEXER_WEIGHTS: Vec<String> = "ipc.faircallqueue.multiplexer.weights", "", [OM];
    /// Which part of the calls that may wait each level has, as weights separated by commas; equal
    /// parts when unset.
    IPC_CALLQUEUE_CAPACITY_WEIGHTS: Vec<String> = "ipc.callqueue.capacity.weights", "", [OM];
    /// Refusing calls so that clients ask another OM is not available.
    IPC_CALLQUEUE_OVERFLOW_TRIGGER_FAILOVER: String = "ipc.callqueue.overflow.trigger.failover", "false", [OM],
        one of ["false"];
    /// How often counts of calls are multiplied by the decay factor, in milliseconds.
    IPC_DECAY_SCHEDULER_PERIOD_MS: u64 = "ipc.decay-scheduler.period-ms", "5000", [OM];
    /// What counts of calls are multiplied by.
    IPC_DECAY_SCHEDULER_DECAY_FACTOR: f64 = "ipc.decay-scheduler.decay-factor", "0.5", [OM];
    /// From which share of all calls, in percent, a user is in the second level, the third, and so
    /// on, separated by commas; 12.5,25,50 for four levels when unset.
    IPC_DECAY_SCHEDULER_THRESHOLDS: Vec<String> = "ipc.decay-scheduler.thresholds", "", [OM];
    /// Users who are always in the first level, separated by commas.
    IPC_DECAY_SCHEDULER_SERVICE_USERS: Vec<String> = "ipc.decay-scheduler.service-users", "", [OM];
    /// Refusing calls because answers take long is not available.
    IPC_DECAY_SCHEDULER_BACKOFF_RESPONSETIME_ENABLE: String = "ipc.decay-scheduler.backoff.responsetime.enable",
        "false", [OM], one of ["false"];
    /// Users whose shares of all calls are in the metrics, those who ask for most.
    IPC_DECAY_SCHEDULER_METRICS_TOP_USER_COUNT: u32 = "ipc.decay-scheduler.metrics.top.user.count", "10", [OM];
}
