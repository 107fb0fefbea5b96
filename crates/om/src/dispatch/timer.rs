//! Time of a request by stage. Each moment of it belongs to one stage, so that the stages add up to
//! the whole.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// A part of a request's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// From its receipt to its admission.
    Queue,
    /// Authorization: groups, ACLs.
    Auth,
    /// Reads of the tables: the answer of a read, the leader's decision on a write.
    Prepare,
    /// Waiting for SCM: blocks, locations of containers.
    Scm,
    /// The log: until a majority has the write durably. Of a read, the proof that nothing
    /// acknowledged is missing.
    Replicate,
    /// The round of the state machine that the write was in.
    Apply,
    /// The rest: answer, audit line. A read of tables alone has none where no line is written.
    Answer,
}

/// Their names in metrics, in the order of [`Stage`].
pub(crate) const STAGES: [&str; 7] =
    ["queue", "auth", "prepare", "scm", "replicate", "apply", "answer"];

/// The times of one request.
#[derive(Debug)]
pub(crate) struct Timer {
    received: Instant,
    last: Instant,
    is_finished: bool,
    took: [Duration; STAGES.len()],
}

impl Timer {
    /// A request that was received at that time.
    pub(crate) fn new(received: Instant) -> Self {
        let took = [Duration::ZERO; STAGES.len()];
        Self { received, last: received, is_finished: false, took }
    }

    /// When the request was received.
    pub(crate) fn received(&self) -> Instant {
        self.received
    }

    /// The answer is there. Returns the end of the last stage.
    pub(crate) fn finish(&mut self) -> Instant {
        self.is_finished = true;
        self.last
    }

    /// When the answer was there; `None` before [`finish`](Self::finish).
    pub(crate) fn finished_at(&self) -> Option<Instant> {
        self.is_finished.then_some(self.last)
    }

    /// All since the last call was `stage`. Returns the time now.
    pub(crate) fn end(&mut self, stage: Stage) -> Instant {
        let now = Instant::now();
        self.end_at(stage, now);
        now
    }

    /// The same for a stage that ended at that time, if that is after the last one.
    pub(crate) fn end_at(&mut self, stage: Stage, at: Instant) {
        let took = at.saturating_duration_since(self.last);
        if let Some(sum) = self.took.get_mut(stage as usize) {
            *sum = sum.saturating_add(took);
        }
        self.last = self.last.max(at);
    }

    /// The tables were read, after the user's rights had been checked, if they were.
    pub(crate) fn end_read(&mut self, authorized: Option<Instant>) {
        if let Some(at) = authorized {
            self.end_at(Stage::Auth, at);
        }
        self.end(Stage::Prepare);
    }

    /// The whole, up to the end of the last stage.
    pub(crate) fn total(&self) -> Duration {
        self.last.saturating_duration_since(self.received)
    }

    /// Each stage, in their order.
    pub(crate) fn stages(&self) -> &[Duration] {
        &self.took
    }

    /// For a log line: `queue 0.1ms, replicate 12.3ms`; without the stages that there were not.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for (name, took) in STAGES.iter().zip(&self.took).filter(|(_, took)| !took.is_zero()) {
            let comma = if text.is_empty() { "" } else { ", " };
            // Writing into a String cannot fail.
            let _ = write!(text, "{comma}{name} {:.1}ms", took.as_secs_f64() * 1e3);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_add_up_to_the_whole() {
        let received = Instant::now();
        let at = |ms: u64| received + Duration::from_millis(ms);
        let mut timer = Timer::new(received);
        timer.end_at(Stage::Queue, at(2));
        timer.end_at(Stage::Replicate, at(12));
        // A clock of another thread may lag a little.
        timer.end_at(Stage::Apply, at(11));
        timer.end_at(Stage::Answer, at(13));
        assert_eq!(timer.total(), Duration::from_millis(13));
        assert_eq!(timer.stages().iter().sum::<Duration>(), timer.total());
        assert_eq!(timer.describe(), "queue 2.0ms, replicate 10.0ms, answer 1.0ms");
    }
}
