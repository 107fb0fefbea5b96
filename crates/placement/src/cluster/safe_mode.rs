//! Safe mode of the cluster.

use super::Cluster;
use crate::safemode::{RuleStatus, Rules, SafeMode};

impl Cluster {
    fn rules(&self) -> Rules<'_> {
        let Self { settings, nodes, pipelines, safe_mode, .. } = self;
        Rules { settings: &settings.safe_mode, nodes, pipelines, safe_mode }
    }

    /// All rules. They are evaluated outside safe mode too, for callers that ask.
    pub fn safe_mode_rules(&self) -> Vec<RuleStatus> {
        self.rules().all()
    }

    /// Returns `true` if safe mode still waits for DataNodes.
    pub(super) fn more_nodes_are_coming(&self) -> bool {
        self.rules().more_nodes_are_coming()
    }

    /// Enters safe mode, if it is enabled, with the state loaded from the store.
    pub fn begin_safe_mode(&mut self) {
        let Self { settings, pipelines, containers, replicas, .. } = &*self;
        self.safe_mode = SafeMode::begin(&settings.safe_mode, containers, pipelines, replicas);
    }

    /// The replicated state has all entries that the new leader had committed: the requirements may
    /// have grown since the start, or since the previous leader.
    pub fn note_state_machine_ready(&mut self) {
        if self.safe_mode.is_on() {
            self.begin_safe_mode();
        }
        self.safe_mode.note_ready();
    }

    /// Leaves safe mode if every rule is satisfied; true if this call left it.
    pub fn try_leave_safe_mode(&mut self) -> bool {
        if !self.safe_mode.is_on() || !self.safe_mode_rules().iter().all(|r| r.holds) {
            return false;
        }
        self.safe_mode.leave();
        true
    }

    /// Leaves safe mode for an operator; true if it was on.
    pub fn force_leave_safe_mode(&mut self) -> bool {
        self.safe_mode.force_leave()
    }
}
