//! One run of the container balancer on the SCM that leads: its iterations, for the service that
//! drives them and for the status verb.
//!
//! The requested configuration is in the replicated state ([`placement::Balancer`]); the progress
//! is not. A new leader starts with the next iteration.

use std::collections::VecDeque;

use placement::Millis;
use placement::balance::{Iteration, IterationResult, Statistics};

/// Ended iterations that are remembered.
const HISTORY: usize = 100;

/// The run of the balancer.
#[derive(Debug, Default)]
pub struct Balancing {
    /// Start of its run on this SCM; `None` when it does not run.
    pub started: Option<Millis>,
    /// The current iteration.
    pub current: Option<Current>,
    /// Start of the next iteration.
    pub next_at: Millis,
    /// Ended iterations of this run, the last one last.
    pub history: VecDeque<Ended>,
}

/// The current iteration.
#[derive(Debug)]
pub struct Current {
    /// Its number, from 1 on.
    pub number: u32,
    /// Its start.
    pub began: Millis,
    /// The iteration.
    pub iteration: Iteration,
}

/// An iteration that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Its number, from 1 on.
    pub number: u32,
    /// The result.
    pub result: IterationResult,
    /// Its duration.
    pub took: Millis,
    /// Its counts.
    pub statistics: Statistics,
}

impl Balancing {
    /// A run begins.
    pub fn start(&mut self, now: Millis) {
        *self = Self { started: Some(now), next_at: now, ..Self::default() };
    }

    /// The run is over, or another SCM leads.
    pub fn stop(&mut self, now: Millis) {
        self.end_iteration(IterationResult::Interrupted, now);
        self.started = None;
    }

    /// Ends the current iteration.
    pub fn end_iteration(&mut self, result: IterationResult, now: Millis) {
        let Some(current) = self.current.take() else { return };
        let took = now.saturating_sub(current.began);
        let statistics = current.iteration.statistics().clone();
        tracing::info!(
            iteration = current.number,
            result = result.as_str(),
            took_ms = took,
            moved = statistics.completed,
            moved_bytes = statistics.moved_bytes,
            failed = statistics.failed,
            timed_out = statistics.timed_out,
            "container balancer"
        );
        if self.history.len() >= HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Ended { number: current.number, result, took, statistics });
    }
}
