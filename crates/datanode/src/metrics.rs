//! The DataNode's metrics: commands per door, disks, pipelines.

use std::sync::{Arc, Weak};

use proto::datanode::Type;
use service::{MetricsRegistry, Role, RpcMethod, RpcMetrics};
use types::DatanodeId;

use crate::command;
use crate::node::Node;

/// Kinds of commands are numbered from 1 to this.
const KINDS: i32 = 24;

/// What a DataNode measures.
pub(crate) struct Metrics {
    /// All of it.
    pub registry: MetricsRegistry,
    /// Container commands, whichever door they came through.
    pub commands: CommandMetrics,
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
        Self { registry, commands: CommandMetrics { rpc, by_kind } }
    }

    /// Shows the disks and pipelines of an open DataNode.
    pub fn watch(&self, node: &Arc<Node>) {
        let gauge = |name: &str, help: &str, value: fn(&Node) -> f64| {
            let node: Weak<Node> = Arc::downgrade(node);
            self.registry.gauge_fn(name, help, move || node.upgrade().map_or(0.0, |n| value(&n)));
        };
        gauge("pipelines", "Pipelines running here", |n| n.pipelines.ids().len() as f64);
        gauge("pipelines_led", "Pipelines led from here", |n| n.pipelines.led() as f64);
        gauge("containers", "Container replicas", |n| n.store.containers().len() as f64);
        gauge("write_bytes_in_flight", "Bytes of writes being worked on", |n| {
            n.write_budget.used() as f64
        });
        gauge("read_bytes_in_flight", "Bytes of reads being worked on", |n| {
            n.read_budget.used() as f64
        });
        for disk in node.store.disks() {
            let space = |name: &str, help: &str, value: fn(&crate::storage::Space) -> u64| {
                let disk = disk.clone();
                let name = format!("disk_{}_{name}", short(disk.id()));
                self.registry.gauge_fn(&name, help, move || value(&disk.space()) as f64);
            };
            space("capacity_bytes", "Size of the disk", |s| s.capacity);
            space("available_bytes", "Free space of the disk", |s| s.available);
            space("used_bytes", "Bytes of replicas on the disk", |s| s.used);
        }
    }
}

/// A disk's id as part of a metric's name: letters, digits and underscores only.
fn short(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(14).collect()
}
