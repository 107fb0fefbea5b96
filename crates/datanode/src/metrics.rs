//! The DataNode's metrics: commands per endpoint, disks, pipelines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use blockio::{OpKind, OpMetrics};
use multiraft::{HostMetrics, LogHandle, LogMetrics, RaftHost};
use proto::datanode::Type;
use proto::disk_balancer::DiskBalancerRunningStatus;
use service::{MetricsRegistry, Role, RpcMethod, RpcMetrics};
use types::DatanodeId;

use crate::command;
use crate::disk_balancer::Counts as BalancerCounts;
use crate::node::Node;
use crate::repair::reconcile::Counts as ReconcileCounts;
use crate::repair::reconstruct::Counts;
use containerstore::scan::ScanStats;
use containerstore::{Disk, ScanKind, Space};

/// Kinds of commands are numbered from 1 to this.
const KINDS: i32 = 24;

/// Metrics of a DataNode.
pub(crate) struct Metrics {
    /// Registry of all metrics.
    pub registry: MetricsRegistry,
    /// Container commands, whichever endpoint they came through.
    pub commands: CommandMetrics,
    /// Reads whose client disconnected before the response.
    pub dropped_reads: Arc<AtomicU64>,
}

/// Queue and processing time of container commands by kind.
pub(crate) struct CommandMetrics {
    /// All kinds.
    pub rpc: RpcMetrics,
    by_kind: Vec<RpcMethod>,
}

impl CommandMetrics {
    /// The measurements of one kind; unknown kinds share one.
    pub fn of(&self, kind: Option<Type>) -> Option<&RpcMethod> {
        let index = kind.map_or(0, |kind| kind as i32);
        usize::try_from(index).ok().and_then(|index| self.by_kind.get(index))
    }
}

impl Metrics {
    pub fn new(id: DatanodeId) -> Self {
        let registry = MetricsRegistry::new(Role::new("datanode", id.to_string()));
        let rpc = RpcMetrics::new(&registry, "container");
        let method = |kind| rpc.method(command::name(Type::try_from(kind).ok()));
        let by_kind = (0..=KINDS).map(method).collect();
        let dropped_reads = Arc::<AtomicU64>::default();
        let dropped = Arc::clone(&dropped_reads);
        let help = "Reads whose client disconnected before the response";
        registry.counter_fn("reads_dropped", help, move || dropped.load(Ordering::Relaxed));
        Self { registry, commands: CommandMetrics { rpc, by_kind }, dropped_reads }
    }

    /// Shows the disks and pipelines of an open DataNode.
    pub fn watch(&self, node: &Arc<Node>) {
        let gauge = |name: &str, help: &str, value: fn(&Node) -> f64| {
            let node: Weak<Node> = Arc::downgrade(node);
            self.registry.gauge_fn(name, help, move || node.upgrade().map_or(0.0, |n| value(&n)));
        };
        gauge("pipelines", "Pipelines running here", |n| n.pipelines.ids().len() as f64);
        gauge("pipelines_failed", "Pipelines here that do not work", |n| {
            n.pipelines.in_trouble().len() as f64
        });
        gauge("pipeline_restarts", "Restarts of running pipelines after a failure", |n| {
            n.pipelines.restarts() as f64
        });
        let help = "Requests to members of a pipeline to be closed for their state";
        gauge("pipeline_censuses", help, |n| n.pipelines.censuses() as f64);
        gauge("pipelines_led", "Pipelines led from here", |n| n.pipelines.led() as f64);
        gauge("containers", "Container replicas", |n| n.store.containers().len() as f64);
        gauge("disks_failed", "Disks that have failed or could not be opened", |n| {
            let failed = n.store.disks().iter().filter(|disk| disk.failure().is_some()).count();
            (n.store.unopened().len() + failed) as f64
        });
        gauge("disk_tests_failed", "Tests of data and Raft log directories that failed", |n| {
            n.store.disks().iter().map(|disk| disk.failed_tests()).sum::<u64>() as f64
        });
        gauge("disk_files_not_read", "Files of which a device refused to give bytes", |n| {
            n.store.disks().iter().map(|disk| disk.refused_files()).sum::<usize>() as f64
        });
        gauge("containers_unhealthy", "Replicas that are UNHEALTHY", |n| {
            n.store.unhealthy() as f64
        });
        let help = "Replicas that are not served: another one of the container is, on another disk";
        gauge("containers_second_replicas", help, |n| n.store.second_replicas().len() as f64);
        gauge("containers_suspicious", "Replicas that wait to be read whole", |n| {
            n.store.suspects() as f64
        });
        gauge("containers_scanned", "Suspicious replicas that were read whole", |n| {
            n.store.scans(ScanKind::OnDemand).containers as f64
        });
        gauge("containers_found_damaged", "Suspicious replicas that were damaged", |n| {
            n.store.scans(ScanKind::OnDemand).damaged as f64
        });
        gauge("write_bytes_in_flight", "Bytes of writes being worked on", |n| {
            n.write_budget.used() as f64
        });
        gauge("read_bytes_in_flight", "Bytes of reads being worked on", |n| {
            n.read_budget.used() as f64
        });
        crate::settings::chunk_cache::watch(&self.registry, node.store.options().cache.as_ref());
        let help = "Bytes a second that copies and reconstructions may send now; 0 is no limit";
        gauge("repair_limit_bytes", help, |n| n.pace.rate(tokio::time::Instant::now()) as f64);
        self.watch_copies(node);
        self.watch_reconstructions(node);
        self.watch_reconciliations(node);
        self.watch_disk_balancer(node);
        self.watch_disks(node.store.disks());
        self.watch_used(node);
        self.watch_scans(node.store.disks());
    }

    /// Registers the counts of each disk's scans.
    fn watch_scans(&self, disks: &[Arc<Disk>]) {
        for kind in ScanKind::ALL {
            let count = |name: &str, help: &str, value: fn(&ScanStats) -> u64| {
                let read = of_each(disks, move |disk| value(&disk.scans().of(kind)));
                let name = format!("{}_scan_{name}", kind.name());
                self.registry.counters_fn(&name, help, "disk", read);
            };
            count("containers", "Replicas that this kind of scan looked through", |f| f.containers);
            count("bytes", "Bytes of blocks that this kind of scan read", |f| f.bytes);
            count("damaged", "Damaged replicas that this kind of scan found", |f| f.damaged);
        }
    }

    /// Containers that were copied from here and to here.
    fn watch_copies(&self, node: &Arc<Node>) {
        let count = |name: &str, help: &str, value: fn(&Node) -> &AtomicU64| {
            let node: Weak<Node> = Arc::downgrade(node);
            let read = move || node.upgrade().map_or(0, |n| value(&n).load(Ordering::Relaxed));
            self.registry.counter_fn(&format!("copies_{name}"), help, read);
        };
        let (sent, received) = (
            "Containers copied from here",
            "Containers copied to here, and those whose index was rebuilt here",
        );
        count("sent", sent, |n| &n.pusher.counts().done);
        count("sent_failed", "Copies from here that failed", |n| &n.pusher.counts().failed);
        count("sent_bytes", "Bytes of chunks copied from here", |n| &n.pusher.counts().bytes);
        count("received", received, |n| &n.arrivals.counts().done);
        count("received_failed", "Copies to here, and rebuilds, that failed", |n| {
            &n.arrivals.counts().failed
        });
        count("received_bytes", "Bytes of chunks copied to here or rebuilt", |n| {
            &n.arrivals.counts().bytes
        });
    }

    /// Registers the counts of reconstructions by this node.
    fn watch_reconstructions(&self, node: &Arc<Node>) {
        let count = |name: &str, help: &str, value: fn(&Counts) -> &AtomicU64| {
            let node: Weak<Node> = Arc::downgrade(node);
            let read = move || {
                let node = node.upgrade();
                node.map_or(0, |n| value(&n.reconstructions).load(Ordering::Relaxed))
            };
            self.registry.counter_fn(&format!("reconstruct_ec_{name}"), help, read);
        };
        count("done", "Orders to rebuild replica indexes that were carried out", |c| &c.done);
        count("failed", "Orders to rebuild replica indexes that failed", |c| &c.failed);
        count("blocks", "Blocks that were rebuilt from here", |c| &c.blocks);
        count("bytes", "Bytes that were rebuilt and sent from here", |c| &c.bytes);
        count("blocks_skipped", "Blocks that too few replicas have", |c| &c.skipped);
        let node: Weak<Node> = Arc::downgrade(node);
        let help = "Orders to rebuild replica indexes in progress";
        self.registry.gauge_fn("reconstruct_ec_running", help, move || {
            let node = node.upgrade();
            node.map_or(0.0, |n| n.reconstructions.running.load(Ordering::Relaxed) as f64)
        });
    }

    /// Registers the counts of reconciliations.
    fn watch_reconciliations(&self, node: &Arc<Node>) {
        let count = |name: &str, help: &str, value: fn(&ReconcileCounts) -> &AtomicU64| {
            let node: Weak<Node> = Arc::downgrade(node);
            let read = move || {
                let node = node.upgrade();
                node.map_or(0, |n| value(&n.reconciliations).load(Ordering::Relaxed))
            };
            self.registry.counter_fn(&format!("reconcile_{name}"), help, read);
        };
        count("done", "Replicas that were reconciled with each of their peers", |c| &c.done);
        count("failed", "Replicas that were not, or not with each of them", |c| &c.failed);
        count("blocks", "Blocks that replicas here lacked and took from others", |c| &c.blocks);
        count("bytes", "Bytes of blocks that were taken from other replicas", |c| &c.bytes);
        count("conflicts", "Blocks that differ between replicas and were left", |c| &c.conflicts);
        count("repaired", "UNHEALTHY replicas that are good again", |c| &c.repaired);
        let node: Weak<Node> = Arc::downgrade(node);
        let help = "Closed replicas whose checksum is still to be worked out";
        self.registry.gauge_fn("checksums_due", help, move || {
            node.upgrade().map_or(0.0, |n| n.store.checksums_due() as f64)
        });
    }

    /// Registers the counts of moves between the disks.
    fn watch_disk_balancer(&self, node: &Arc<Node>) {
        let count = |name: &str, help: &str, value: fn(&BalancerCounts) -> &AtomicU64| {
            let node: Weak<Node> = Arc::downgrade(node);
            let read = move || {
                let node = node.upgrade();
                node.map_or(0, |n| value(&n.disk_balancer.counts).load(Ordering::Relaxed))
            };
            self.registry.counter_fn(&format!("disk_balancer_{name}"), help, read);
        };
        count("moves", "Containers moved from one disk to another", |c| &c.moves);
        count("bytes", "Bytes of containers moved from one disk to another", |c| &c.bytes);
        count("failures", "Containers that were to be moved to another disk and were not", |c| {
            &c.failures
        });
        let gauge = |name: &str, help: &str, value: fn(&Node) -> f64| {
            let node: Weak<Node> = Arc::downgrade(node);
            let read = move || node.upgrade().map_or(0.0, |n| value(&n));
            self.registry.gauge_fn(&format!("disk_balancer_{name}"), help, read);
        };
        gauge("running", "Whether the disks are being balanced: 1, else 0", |n| {
            f64::from(u8::from(n.disk_balancer.status() == DiskBalancerRunningStatus::Running))
        });
        gauge("moving", "Containers that are being moved to another disk", |n| {
            n.disk_balancer.running() as f64
        });
        gauge("retired", "Replicas that were moved and are still on their last disk", |n| {
            n.store.retired() as f64
        });
    }

    /// Registers the bytes of each disk's replicas.
    fn watch_used(&self, node: &Arc<Node>) {
        let node = Arc::downgrade(node);
        let help = "Bytes of replicas on the disk";
        self.registry.gauges_fn("disk_used_bytes", help, "disk", move || {
            let Some(node) = node.upgrade() else { return Vec::new() };
            let used = node.store.used_bytes();
            let of = |disk: &Arc<Disk>| used.get(disk.id()).copied().unwrap_or_default() as f64;
            let disks = node.store.disks().iter().enumerate();
            disks.map(|(index, disk)| (format!("disk{index}"), of(disk))).collect()
        });
    }

    /// Space and I/O of each disk.
    fn watch_disks(&self, disks: &[Arc<Disk>]) {
        let space = |name: &str, help: &str, value: fn(&Space) -> u64| {
            let read = of_each(disks, move |disk| value(&disk.space()) as f64);
            self.registry.gauges_fn(&format!("disk_{name}"), help, "disk", read);
        };
        space("capacity_bytes", "Size of the disk", |s| s.capacity);
        space("available_bytes", "Free space of the disk", |s| s.available);
        for kind in OpKind::ALL {
            let count = |name: &str, help: &str, value: fn(&OpMetrics) -> u64| {
                let name = format!("disk_{}_{name}", kind.name());
                let read = of_each(disks, move |disk| value(&disk.io().metrics().of(kind)));
                self.registry.counters_fn(&name, help, "disk", read);
            };
            count("operations", "I/O operations of the disk", |m| m.ops);
            count("bytes", "Bytes of I/O of the disk", |m| m.bytes);
            count("errors", "I/O operations of the disk that failed", |m| m.errors);
            count("microseconds", "Time of I/O operations of the disk", |m| m.nanos / 1_000);
        }
        let reads = |name: &str, help: &str, value: fn(&blockio::Metrics) -> u64| {
            let read = of_each(disks, move |disk| value(disk.io().metrics()));
            self.registry.counters_fn(&format!("disk_{name}"), help, "disk", read);
        };
        let help = "Reads that the disk was late with, tried again on a fresh worker";
        reads("late_reads", help, blockio::Metrics::late_reads);
        let help = "Reads that were refused because the disk was late";
        reads("refused_reads", help, blockio::Metrics::refused_reads);
        let help = "Reads dropped before their start because their caller timed out";
        reads("dropped_reads", help, blockio::Metrics::dropped_reads);
        let help = "Workers that were started in addition to those that hang";
        reads("replaced_workers", help, blockio::Metrics::replaced_workers);
        let stuck = of_each(disks, |disk| disk.io().stuck_workers() as f64);
        let help = "Workers that hang in a read whose caller timed out";
        self.registry.gauges_fn("disk_stuck_workers", help, "disk", stuck);
        let queued = of_each(disks, |disk| disk.io().metrics().queued() as f64);
        let help = "I/O operations queued or in flight";
        self.registry.gauges_fn("disk_queued_operations", help, "disk", queued);
    }

    /// Shows what drives the pipelines, and the logs of the disks.
    pub fn watch_raft(&self, host: &RaftHost, logs: &[LogHandle]) {
        for (name, help) in HostMetrics::descriptions() {
            let metrics = host.metrics().clone();
            let value = move || {
                let all = metrics.snapshot();
                all.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, value)| *value as f64)
            };
            self.registry.gauge_fn(&format!("raft_{name}"), help, value);
        }
        let count = |name: &str, help: &str, value: fn(&LogMetrics) -> &AtomicU64| {
            let logs: Vec<_> = logs.iter().map(|log| log.metrics().clone()).collect();
            let read = move || {
                let read = |log: &_| value(log).load(Ordering::Relaxed);
                logs.iter().enumerate().map(|(n, log)| (format!("log{n}"), read(log))).collect()
            };
            self.registry.counters_fn(&format!("raft_log_{name}"), help, "log", read);
        };
        count("writes", "Durable writes of the Raft log", |m| &m.writes);
        count("entries", "Entries written to the Raft log", |m| &m.entries);
        count("bytes", "Bytes written to the Raft log", |m| &m.bytes);
        count("failures", "Failed writes of the Raft log", |m| &m.failures);
    }
}

/// Reads a number of each open disk. The registry outlives the disks, and must not keep them open.
fn of_each<T, F: Fn(&Disk) -> T>(
    disks: &[Arc<Disk>],
    value: F,
) -> impl Fn() -> Vec<(String, T)> + use<T, F> {
    let disks: Vec<_> = disks.iter().map(Arc::downgrade).collect();
    move || {
        let open = disks.iter().enumerate();
        let open = open.filter_map(|(index, disk)| Some((index, disk.upgrade()?)));
        open.map(|(index, disk)| (format!("disk{index}"), value(&disk))).collect()
    }
}
