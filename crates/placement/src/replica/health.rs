//! How the containers are: what `container report` shows.

use std::collections::BTreeMap;

use proto::hdds::LifeCycleState;
use types::ContainerId;

use crate::{Cluster, Container, Health, ReplicaState};

/// Containers named per kind of trouble.
pub const SAMPLE_LIMIT: usize = 100;

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

/// Kinds of trouble, in the order that the report lists them.
pub const TROUBLES: [&str; 9] = [
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
    /// Up to [`SAMPLE_LIMIT`] containers per kind of trouble.
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
            for trouble in self.troubles(container) {
                *report.counts.entry(trouble).or_default() += 1;
                let sample = report.samples.entry(trouble).or_default();
                if sample.len() < SAMPLE_LIMIT {
                    sample.push(container.id);
                }
            }
        }
        report
    }

    fn troubles(&self, c: &Container) -> Vec<&'static str> {
        let replicas = self.replicas.of(c.id);
        let alive =
            |r: &&crate::Replica| self.nodes.get(r.node).is_some_and(|n| n.health != Health::Dead);
        let bad = |r: &&crate::Replica| {
            matches!(r.state, ReplicaState::Unhealthy | ReplicaState::Invalid)
        };
        let live = replicas.iter().filter(alive).count();
        let unhealthy = replicas.iter().filter(bad).count();
        let required = c.config.required_nodes() as usize;
        let mut found = Vec::new();
        match c.state {
            LifeCycleState::Open => {
                if !c.pipeline.is_some_and(|p| self.pipelines.takes_or_will_take_writes(p)) {
                    found.push("OPEN_WITHOUT_PIPELINE");
                }
                if replicas.iter().any(|r| r.state != ReplicaState::Open) {
                    found.push("OPEN_UNHEALTHY");
                }
            }
            LifeCycleState::Closed | LifeCycleState::QuasiClosed => {
                match live {
                    0 if c.keys == 0 => found.push("EMPTY"),
                    0 => found.push("MISSING"),
                    n if n < required => found.push("UNDER_REPLICATED"),
                    n if n > required => found.push("OVER_REPLICATED"),
                    _ => {}
                }
                if c.state == LifeCycleState::QuasiClosed && live > 0 {
                    found.push("QUASI_CLOSED_STUCK");
                }
                if live > 0 && c.keys == 0 && replicas.iter().all(|r| r.is_empty) {
                    found.push("EMPTY");
                }
            }
            _ => {}
        }
        if unhealthy > 0 {
            found.push("UNHEALTHY");
        }
        found
    }
}
