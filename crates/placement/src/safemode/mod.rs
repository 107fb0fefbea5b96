//! Safe mode: after a start SCM waits until enough of the cluster has reported before it hands out
//! blocks.
//!
//! It is left once, when every rule is satisfied, or on an operator's request; it is never entered
//! again.

mod evaluate;

pub use evaluate::RuleStatus;
pub(crate) use evaluate::Rules;

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashMap;
use types::{ContainerId, PipelineId, PipelineState, ReplicationConfig};

use crate::settings::SafeModeSettings;
use crate::state::container::{Container, Containers};
use crate::state::pipeline::{PipelineEntry, Pipelines};
use crate::state::replica::Replicas;

/// State of the rules since the start.
#[derive(Debug, Default)]
pub struct SafeMode {
    on: bool,
    forced: bool,
    /// Settled replicated containers with blocks in them, as loaded.
    containers: Awaited,
    /// Settled erasure coded ones.
    ec_containers: Awaited,
    /// OPEN RATIS/THREE pipelines, as loaded.
    pipelines: Vec<PipelineId>,
    /// True if the replicated state is up to date.
    ready: bool,
}

/// Containers of which replicas are awaited.
#[derive(Debug, Default)]
struct Awaited {
    total: usize,
    /// Those of which too few replicas were reported, and how many it takes to read them.
    left: FxHashMap<ContainerId, usize>,
}

impl Awaited {
    fn new<'a>(containers: impl Iterator<Item = &'a Container>) -> Self {
        let left: FxHashMap<_, _> = containers.map(|c| (c.id, needed(&c.config))).collect();
        Self { total: left.len(), left }
    }

    /// This number of different replicas of a container is known.
    fn note(&mut self, id: ContainerId, replicas: usize) {
        if self.left.get(&id).is_some_and(|needed| replicas >= *needed) {
            self.left.remove(&id);
        }
    }

    fn reported(&self) -> usize {
        self.total.saturating_sub(self.left.len())
    }

    /// The share of them that can be read, 1 when there are none.
    fn share(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.reported() as f64 / self.total as f64 }
    }
}

/// Number of replicas needed to read a container: one copy, or the number of data indexes.
fn needed(config: &ReplicationConfig) -> usize {
    match config {
        ReplicationConfig::Ec(ec) => ec.data as usize,
        _ => 1,
    }
}

impl SafeMode {
    /// Returns `true` if SCM is in safe mode.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The replicated state has caught up.
    pub(crate) fn note_ready(&mut self) {
        self.ready = true;
    }

    /// Leaves safe mode: every rule is satisfied.
    pub(crate) fn leave(&mut self) {
        self.on = false;
    }

    /// Leaves safe mode for an operator; true if it was on.
    pub(crate) fn force_leave(&mut self) -> bool {
        self.forced |= self.on;
        std::mem::replace(&mut self.on, false)
    }

    /// Enters safe mode, if it is enabled, with the state loaded from the store.
    pub(crate) fn begin(
        settings: &SafeModeSettings,
        containers: &Containers,
        pipelines: &Pipelines,
        replicas: &Replicas,
    ) -> Self {
        let closed = |c: &&Container| {
            matches!(c.state, LifeCycleState::Closed | LifeCycleState::QuasiClosed) && c.keys > 0
        };
        let ec = |c: &&Container| matches!(c.config, ReplicationConfig::Ec(_));
        let closed = || containers.from(ContainerId(0)).filter(closed);
        let mut replicated = Awaited::new(closed().filter(|c| !ec(c)));
        let mut coded = Awaited::new(closed().filter(ec));
        // Replicas reported while another SCM led.
        for (id, config) in closed().map(|c| (c.id, Some(c.config))) {
            let known = replicas.different(id, config);
            replicated.note(id, known);
            coded.note(id, known);
        }
        let open = |e: &&PipelineEntry| {
            e.record.state == PipelineState::Open
                && e.record.config == ReplicationConfig::RATIS_THREE
        };
        Self {
            on: settings.enabled,
            forced: false,
            containers: replicated,
            ec_containers: coded,
            pipelines: pipelines.iter().filter(open).map(|e| e.record.id).collect(),
            ready: false,
        }
    }

    /// This number of different replicas of a known container is known.
    pub(crate) fn note_replicas(&mut self, id: ContainerId, replicas: usize) {
        if self.on {
            self.containers.note(id, replicas);
            self.ec_containers.note(id, replicas);
        }
    }
}
