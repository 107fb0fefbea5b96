//! Safe mode: after a start SCM waits until enough of the cluster has reported before it hands out blocks.
//!
//! It is left once, when every rule holds, or when an operator says so; it is never entered again.

mod evaluate;

pub use evaluate::RuleStatus;

use proto::hdds::LifeCycleState;
use rustc_hash::FxHashSet;
use types::{ContainerId, PipelineId, PipelineState, ReplicationConfig};

use crate::Cluster;

/// What the rules remember of the start.
#[derive(Debug, Default)]
pub struct SafeMode {
    on: bool,
    forced: bool,
    /// Settled containers with blocks in them, as loaded.
    containers: usize,
    /// Those of them of which no replica has been reported yet.
    unreported: FxHashSet<ContainerId>,
    /// OPEN RATIS/THREE pipelines, as loaded.
    pipelines: Vec<PipelineId>,
    /// Whether the replicated state has caught up.
    ready: bool,
}

impl SafeMode {
    /// Whether SCM is in safe mode.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// A replica of a known container was reported.
    pub(crate) fn note_replica(&mut self, id: ContainerId) {
        if self.on {
            self.unreported.remove(&id);
        }
    }
}

impl Cluster {
    /// Enters safe mode, if there is one, with what was loaded from the store.
    pub fn begin_safe_mode(&mut self) {
        let settled = |c: &&crate::Container| {
            matches!(c.state, LifeCycleState::Closed | LifeCycleState::QuasiClosed) && c.keys > 0
        };
        let unreported: FxHashSet<_> =
            self.containers.from(ContainerId(0)).filter(settled).map(|c| c.id).collect();
        let containers = unreported.len();
        let unreported =
            unreported.into_iter().filter(|id| self.replicas.of(*id).is_empty()).collect();
        let open = |e: &&crate::PipelineEntry| {
            e.record.state == PipelineState::Open
                && e.record.config == ReplicationConfig::RATIS_THREE
        };
        self.safe_mode = SafeMode {
            on: self.settings.safe_mode.enabled,
            forced: false,
            containers,
            unreported,
            pipelines: self.pipelines.iter().filter(open).map(|e| e.record.id).collect(),
            ready: false,
        };
    }

    /// The replicated state has caught up with the log: what is waited for may have grown since the start.
    pub fn note_state_machine_ready(&mut self) {
        if self.safe_mode.on && !self.safe_mode.ready {
            self.begin_safe_mode();
        }
        self.safe_mode.ready = true;
    }

    /// Leaves safe mode if every rule holds; true when it was left by this call.
    pub fn try_leave_safe_mode(&mut self) -> bool {
        if !self.safe_mode.on || !self.safe_mode_rules().iter().all(|r| r.holds) {
            return false;
        }
        self.safe_mode.on = false;
        true
    }

    /// An operator wants out; true when this call did it.
    pub fn force_leave_safe_mode(&mut self) -> bool {
        self.safe_mode.forced |= self.safe_mode.on;
        std::mem::replace(&mut self.safe_mode.on, false)
    }
}
