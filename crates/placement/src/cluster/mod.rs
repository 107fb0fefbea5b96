//! All state of SCM, in one value.

mod apply;
mod balance;
mod container;
mod deletion;
mod follow_up;
mod node;
mod pipeline;
mod replica;
mod safe_mode;

use crate::replica::backoff::Backoffs;
use crate::replica::mending::Mending;
use crate::replica::moving::Moves;
use crate::replica::progress::Repaired;
use crate::replica::storage_type::StorageTypeRepairs;
use crate::replica::urgency::Urgency;
use crate::safemode::SafeMode;
use crate::settings::Settings;
use crate::state::balancer::Balancer;
use crate::state::container::Containers;
use crate::state::deletion::DeletionLog;
use crate::state::history::Histories;
use crate::state::nodes::Destinations;
use crate::state::nodes::Nodes;
use crate::state::pending::PendingTasks;
use crate::state::pipeline::Pipelines;
use crate::state::replica::Replicas;
use crate::state::sequence::Sequences;
use crate::time::Millis;

/// All state of SCM. See the [crate] for how it changes.
#[derive(Debug)]
pub struct Cluster {
    /// Settings of the rules.
    pub settings: Settings,
    /// DataNodes (soft).
    pub nodes: Nodes,
    /// Pipelines (replicated; leader and reports are soft).
    pub pipelines: Pipelines,
    /// Containers (replicated; sizes are soft until the state changes).
    pub containers: Containers,
    /// Copies of containers on nodes (soft).
    pub replicas: Replicas,
    /// Pending copies and deletions of replicas (soft).
    pub pending: PendingTasks,
    /// Containers whose copies failed recently (soft).
    backoffs: Backoffs,
    /// Replicas that move to another node (soft).
    pub moves: Moves,
    /// The requested state of the container balancer; `None` before its first start (replicated).
    pub balancer: Option<Balancer>,
    /// Destinations of the replicas of nodes that leave (replicated).
    pub destinations: Destinations,
    /// Priorities of repairs when there are too many (soft).
    urgency: Urgency,
    /// Replicas on disks of another storage type (soft).
    storage_types: StorageTypeRepairs,
    /// Damaged replicas whose reconciliation was ordered recently (soft).
    mending: Mending,
    /// Recent repairs (soft).
    repaired: Repaired,
    /// Recent events of containers (soft).
    pub histories: Histories,
    /// Blocks to be deleted (replicated; acknowledgements are soft).
    pub deletions: DeletionLog,
    /// Sequence numbers (replicated; the leader's ranges are soft).
    pub sequences: Sequences,
    /// The wait after a start (soft).
    pub safe_mode: SafeMode,
    /// Time of the first check of all nodes: a node that has not registered by then may still do so
    /// (soft).
    watched_since: Option<Millis>,
    /// Changes of the log that the rules never judged (soft).
    pub refused: RefusedChanges,
}

/// Changes that were refused although the rules did not refuse them, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedChanges {
    /// Their application panicked.
    pub panics: u64,
    /// Changes that this release does not support.
    pub unknown: u64,
}

impl RefusedChanges {
    /// The application of one panicked.
    pub fn count_panic(&mut self) {
        self.panics = self.panics.saturating_add(1);
    }

    /// Counts an unsupported change.
    pub fn count_unknown(&mut self) {
        self.unknown = self.unknown.saturating_add(1);
    }
}

impl Cluster {
    /// An empty cluster. The server loads the replicated state into the parts, then calls
    /// [`Cluster::begin_safe_mode`].
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            nodes: Nodes::default(),
            pipelines: Pipelines::default(),
            containers: Containers::default(),
            replicas: Replicas::default(),
            pending: PendingTasks::default(),
            backoffs: Backoffs::default(),
            moves: Moves::default(),
            balancer: None,
            destinations: Destinations::default(),
            urgency: Urgency::default(),
            storage_types: StorageTypeRepairs::default(),
            mending: Mending::default(),
            repaired: Repaired::default(),
            histories: Histories::default(),
            deletions: DeletionLog::default(),
            sequences: Sequences::default(),
            safe_mode: SafeMode::default(),
            watched_since: None,
            refused: RefusedChanges::default(),
        }
    }

    /// Drops the replicated state before a load from another SCM's snapshot. Soft state stays.
    pub fn forget_replicated(&mut self) {
        self.pipelines = Pipelines::default();
        self.containers = Containers::default();
        self.deletions = DeletionLog::default();
        self.sequences = Sequences::default();
        self.balancer = None;
        self.destinations = Destinations::default();
    }
}
