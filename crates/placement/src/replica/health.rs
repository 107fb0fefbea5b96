//! Health of the containers, as `container report` shows it.

use std::collections::BTreeMap;

use proto::hdds::LifeCycleState;
use types::ContainerId;

use super::Replication;
use super::count::ReplicaCount;
use super::count::enough_sequence;
use super::ec_count::EcReplicaCount;
use crate::state::container::{Container, Containers};
use crate::state::replica::ReplicaState;
use crate::time::Millis;

/// Life cycle states in the order that the report lists them.
pub const STATES: [LifeCycleState; 7] = [
    LifeCycleState::Open,
    LifeCycleState::Closing,
    LifeCycleState::QuasiClosed,
    LifeCycleState::Closed,
    LifeCycleState::Deleting,
    LifeCycleState::Deleted,
    LifeCycleState::Recovering,
];

/// Health states of a container, in the order of the report. Each container has one of them; those
/// with two names combine two states. MISSING_UNDER_REPLICATED is for erasure coded ones.
pub const HEALTHS: [&str; 16] = [
    "HEALTHY",
    "UNDER_REPLICATED",
    "MIS_REPLICATED",
    "OVER_REPLICATED",
    "MISSING",
    "UNHEALTHY",
    "EMPTY",
    "OPEN_UNHEALTHY",
    "QUASI_CLOSED_STUCK",
    "OPEN_WITHOUT_PIPELINE",
    "UNHEALTHY_UNDER_REPLICATED",
    "UNHEALTHY_OVER_REPLICATED",
    "MISSING_UNDER_REPLICATED",
    "QUASI_CLOSED_STUCK_UNDER_REPLICATED",
    "QUASI_CLOSED_STUCK_OVER_REPLICATED",
    "QUASI_CLOSED_STUCK_MISSING",
];

/// Health of the containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// Number of containers per state and per health.
    pub counts: BTreeMap<&'static str, u64>,
    /// Some containers of every health that needs attention, up to the configured number.
    pub samples: BTreeMap<&'static str, Vec<ContainerId>>,
}

/// Counts the containers by state and by health.
pub(crate) fn report(on: &Replication<'_>, containers: &Containers) -> HealthReport {
    let mut report = HealthReport::default();
    for state in STATES {
        report.counts.insert(state.as_str_name(), containers.count(state) as u64);
    }
    for health in HEALTHS {
        report.counts.insert(health, 0);
    }
    for container in containers.from(ContainerId(0)).filter(|c| !c.suppressed) {
        let health = on.health(container);
        let count = report.counts.entry(health).or_default();
        *count = count.saturating_add(1);
        if health == "HEALTHY" {
            continue;
        }
        let sample = report.samples.entry(health).or_default();
        if sample.len() < on.settings.replication.sample_limit {
            sample.push(container.id);
        }
    }
    report
}

impl Replication<'_> {
    /// The health of a container: one of [`HEALTHS`].
    pub fn health(&self, c: &Container) -> &'static str {
        if c.state == LifeCycleState::Open {
            return self.health_of_open(c);
        }
        if self.reported().may_be_missing(c) {
            return "MISSING";
        }
        if let Some(count) = self.ec_replica_count(c) {
            return self.health_of_ec(c, &count);
        }
        match self.replica_count(c) {
            Some(count) => self.health_of_closed(c, &count),
            None => "HEALTHY",
        }
    }

    fn health_of_open(&self, c: &Container) -> &'static str {
        let replicas = self.replicas.of(c.id);
        if !c.pipeline.is_some_and(|p| self.pipelines.accepts_or_will_accept_writes(p)) {
            "OPEN_WITHOUT_PIPELINE"
        } else if replicas.iter().any(|r| r.state != ReplicaState::Open) {
            "OPEN_UNHEALTHY"
        } else {
            "HEALTHY"
        }
    }

    fn health_of_closed(&self, c: &Container, s: &ReplicaCount) -> &'static str {
        let replicas = self.replicas.of(c.id);
        // The last writes stay unknown.
        let stuck = c.state == LifeCycleState::QuasiClosed
            && !self.reported().last_write_is_known(c, Millis::MAX);
        let empty = c.keys == 0 && replicas.iter().all(|r| r.is_empty);
        // Replicas that are empty here may be incomplete while others are unreachable.
        if empty && (!stuck || replicas.is_empty()) {
            return "EMPTY";
        }
        if s.is_lost() {
            let here = s.bad.len();
            return match (here.saturating_add(s.going.len()), stuck) {
                (0, true) => "QUASI_CLOSED_STUCK_MISSING",
                (0, false) => "MISSING",
                // There are replicas, and none that is vouched for.
                _ if here < s.required => "UNHEALTHY_UNDER_REPLICATED",
                _ if here > s.required => "UNHEALTHY_OVER_REPLICATED",
                _ => "UNHEALTHY",
            };
        }
        let missing = s.missing(false) > 0;
        if stuck {
            return match (missing, s.excess() > 0) {
                (true, _) => "QUASI_CLOSED_STUCK_UNDER_REPLICATED",
                (_, true) => "QUASI_CLOSED_STUCK_OVER_REPLICATED",
                _ => "QUASI_CLOSED_STUCK",
            };
        }
        let bad = replicas
            .iter()
            .any(|r| matches!(r.state, ReplicaState::Unhealthy | ReplicaState::Invalid));
        // The best replica lacks writes that the record contains.
        let behind =
            c.state == LifeCycleState::Closed && enough_sequence(self.replicas, c) < c.sequence_id;
        match () {
            () if behind && missing => "UNHEALTHY_UNDER_REPLICATED",
            () if behind && s.excess() > 0 => "UNHEALTHY_OVER_REPLICATED",
            () if missing => "UNDER_REPLICATED",
            () if bad || behind => "UNHEALTHY",
            () if s.misplaced => "MIS_REPLICATED",
            () if s.excess() > 0 => "OVER_REPLICATED",
            () => "HEALTHY",
        }
    }

    /// The health of a closed erasure coded container.
    fn health_of_ec(&self, c: &Container, s: &EcReplicaCount) -> &'static str {
        if c.keys == 0 && self.replicas.of(c.id).iter().all(|r| r.is_empty) {
            return "EMPTY";
        }
        if s.is_lost() {
            let damaged = s.bad.iter().filter(|(index, _)| (1..=s.required).contains(index));
            let there = s.readable().saturating_add(damaged.count());
            // Replicas on nodes that leave can still be copied.
            let leaves = |index: &&u32| !s.serving.contains_key(index);
            let copies = s.leaving.keys().chain(s.maintenance.keys()).any(|i| leaves(&i));
            return match (there >= s.data as usize, copies) {
                (true, false) => "UNHEALTHY",
                (true, true) => "UNHEALTHY_UNDER_REPLICATED",
                (false, false) => "MISSING",
                (false, true) => "MISSING_UNDER_REPLICATED",
            };
        }
        match () {
            () if !s.needed(false).is_empty() => "UNDER_REPLICATED",
            () if !s.bad.is_empty() => "UNHEALTHY",
            () if self.is_crowded(c, s) => "MIS_REPLICATED",
            () if s.has_excess() => "OVER_REPLICATED",
            () => "HEALTHY",
        }
    }
}
