//! How the containers are: what `container report` shows.

use std::collections::BTreeMap;

use proto::hdds::LifeCycleState;
use types::ContainerId;

use crate::{Cluster, Container, ReplicaState};

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

/// Kinds of trouble, and none, in the order that the report lists them.
pub const TROUBLES: [&str; 10] = [
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
];

/// How the containers are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// Number of containers per state and per kind of trouble.
    pub counts: BTreeMap<&'static str, u64>,
    /// Some containers per kind of trouble, as many as the settings say.
    pub samples: BTreeMap<&'static str, Vec<ContainerId>>,
}

impl Cluster {
    /// Counts the containers by state and by trouble.
    pub fn health_report(&self) -> HealthReport {
        let mut report = HealthReport::default();
        for state in STATES {
            report.counts.insert(state.as_str_name(), self.containers.count(state) as u64);
        }
        for trouble in TROUBLES {
            report.counts.insert(trouble, 0);
        }
        for container in self.containers.from(ContainerId(0)).filter(|c| !c.suppressed) {
            let troubles = self.troubles(container);
            if troubles.is_empty() {
                *report.counts.entry("HEALTHY").or_default() += 1;
            }
            for trouble in troubles {
                *report.counts.entry(trouble).or_default() += 1;
                let sample = report.samples.entry(trouble).or_default();
                if sample.len() < self.settings.replication.sample_limit {
                    sample.push(container.id);
                }
            }
        }
        report
    }

    fn troubles(&self, c: &Container) -> Vec<&'static str> {
        let replicas = self.replicas.of(c.id);
        let mut found = Vec::new();
        if c.state == LifeCycleState::Open {
            if !c.pipeline.is_some_and(|p| self.pipelines.takes_or_will_take_writes(p)) {
                found.push("OPEN_WITHOUT_PIPELINE");
            }
            if replicas.iter().any(|r| r.state != ReplicaState::Open) {
                found.push("OPEN_UNHEALTHY");
            }
        }
        if let Some(standing) = self.standing(c) {
            let empty = c.keys == 0 && replicas.iter().all(|r| r.is_empty);
            if standing.is_lost() {
                match standing.bad.is_empty() && standing.going.is_empty() {
                    true if empty => {}
                    true => found.push("MISSING"),
                    false => {}
                }
            } else {
                if standing.missing(false) > 0 {
                    found.push("UNDER_REPLICATED");
                }
                if standing.misplaced {
                    found.push("MIS_REPLICATED");
                }
                if standing.excess() > 0 {
                    found.push("OVER_REPLICATED");
                }
                if c.state == LifeCycleState::QuasiClosed && !self.last_write_is_known(c, u64::MAX)
                {
                    found.push("QUASI_CLOSED_STUCK");
                }
            }
            if empty {
                found.push("EMPTY");
            }
        }
        let bad =
            |r: &crate::Replica| matches!(r.state, ReplicaState::Unhealthy | ReplicaState::Invalid);
        let behind = !replicas.is_empty()
            && c.state == LifeCycleState::Closed
            && self.enough_sequence(c) < c.sequence_id;
        if behind || replicas.iter().any(bad) {
            found.push("UNHEALTHY");
        }
        found
    }
}
