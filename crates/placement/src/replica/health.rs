//! How the containers are: what `container report` shows.

use std::collections::BTreeMap;

use proto::hdds::LifeCycleState;
use types::ContainerId;

use super::count::ReplicaCount;
use crate::cluster::Cluster;
use crate::state::container::Container;
use crate::state::replica::ReplicaState;

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

/// What a container's health can be, in the order that the report lists it. Each container has one
/// of them; those that have two names in one say two things. MISSING_UNDER_REPLICATED is for
/// erasure coded ones.
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

/// How the containers are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// Number of containers per state and per health.
    pub counts: BTreeMap<&'static str, u64>,
    /// Some containers of every health that needs looking at, as many as the settings say.
    pub samples: BTreeMap<&'static str, Vec<ContainerId>>,
}

impl Cluster {
    /// Counts the containers by state and by health.
    pub fn health_report(&self) -> HealthReport {
        let mut report = HealthReport::default();
        for state in STATES {
            report.counts.insert(state.as_str_name(), self.containers.count(state) as u64);
        }
        for health in HEALTHS {
            report.counts.insert(health, 0);
        }
        for container in self.containers.from(ContainerId(0)).filter(|c| !c.suppressed) {
            let health = self.health(container);
            let count = report.counts.entry(health).or_default();
            *count = count.saturating_add(1);
            if health == "HEALTHY" {
                continue;
            }
            let sample = report.samples.entry(health).or_default();
            if sample.len() < self.settings.replication.sample_limit {
                sample.push(container.id);
            }
        }
        report
    }

    /// The health of a container: one of [`HEALTHS`].
    pub fn health(&self, c: &Container) -> &'static str {
        if c.state == LifeCycleState::Open {
            return self.health_of_open(c);
        }
        if self.may_be_missing(c) {
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
        // What was written last stays unknown.
        let stuck = c.state == LifeCycleState::QuasiClosed
            && !self.last_write_is_known(c, crate::time::Millis::MAX);
        let empty = c.keys == 0 && replicas.iter().all(|r| r.is_empty);
        // What is empty here may not be so with those that are not heard of.
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
        // The best there is lacks writes that the record knows of.
        let behind = c.state == LifeCycleState::Closed && self.enough_sequence(c) < c.sequence_id;
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
}
