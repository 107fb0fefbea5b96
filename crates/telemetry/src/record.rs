//! Stages of a request in progress, recorded in case it is slow.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of recorded stages of a request; further ones are only counted. Limits the memory
/// of a request to a few KiB.
pub(crate) const MAX_STAGES: usize = 64;

tokio::task_local! {
    /// The current task's request.
    pub(crate) static CURRENT: Arc<Record>;
}

/// The stages of a request.
pub(crate) struct Record {
    began: Instant,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    operation: Option<&'static str>,
    breakdown: Option<String>,
    // Allocated with the first stage: a lookup has none, and needs no memory for them.
    stages: Vec<Stage>,
    left_out: u64,
}

struct Stage {
    name: &'static str,
    offset: Duration,
    /// `None` while it is in progress.
    took: Option<Duration>,
    /// False if it was abandoned.
    done: bool,
}

impl Record {
    pub(crate) fn new(began: Instant) -> Arc<Self> {
        Arc::new(Self { began, noted: Mutex::default() })
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Its duration until `at`.
    pub(crate) fn until(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.began)
    }

    /// Sets the operation, if it is not known at the start.
    pub(crate) fn name(&self, operation: &'static str) {
        self.noted.lock().operation = Some(operation);
    }

    /// Sets the breakdown from the request's server.
    pub(crate) fn break_down(&self, breakdown: String) {
        self.noted.lock().breakdown = Some(breakdown);
    }

    pub(crate) fn breakdown(&self) -> Option<String> {
        self.noted.lock().breakdown.clone()
    }

    pub(crate) fn operation(&self) -> Option<&'static str> {
        self.noted.lock().operation
    }

    /// Starts a stage, which is in progress until the result is dropped.
    pub(crate) fn begin(self: &Arc<Self>, name: &'static str) -> UnderWay {
        let offset = self.began.elapsed();
        let mut noted = self.noted.lock();
        let place = if noted.stages.len() < MAX_STAGES {
            noted.stages.push(Stage { name, offset, took: None, done: false });
            Some(noted.stages.len() - 1)
        } else {
            noted.left_out += 1;
            None
        };
        drop(noted);
        UnderWay { record: Arc::clone(self), place, done: false }
    }
}

/// The stages in order of their start: `replicate 0.2ms+1203.8ms` started 0.2 ms after the request
/// and took 1203.8 ms.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noted = self.noted.lock();
        for (n, Stage { name, offset, took, done }) in noted.stages.iter().enumerate() {
            let so_far = || self.began.elapsed().saturating_sub(*offset);
            let comma = if n == 0 { "" } else { ", " };
            let (offset, took) = (millis(*offset), millis(took.unwrap_or_else(so_far)));
            let left = if *done { "" } else { " (not done)" };
            write!(f, "{comma}{name} {offset:.1}ms+{took:.1}ms{left}")?;
        }
        match noted.left_out {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A stage in progress.
pub(crate) struct UnderWay {
    record: Arc<Record>,
    place: Option<usize>,
    done: bool,
}

impl UnderWay {
    /// Ends the stage; a stage dropped without it counts as abandoned.
    pub(crate) fn finish(mut self) {
        self.done = true;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let now = self.record.began.elapsed();
        if let Some(stage) = self.record.noted.lock().stages.get_mut(place) {
            stage.took = Some(now.saturating_sub(stage.offset));
            stage.done = self.done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_told_in_order_and_those_above_the_bound_counted() {
        let record = Record::new(Instant::now());
        record.begin("decide").finish();
        let open = record.begin("replicate");
        let text = record.to_string();
        assert!(text.starts_with("decide 0."), "{text}");
        assert!(text.contains(", replicate ") && text.ends_with("(not done)"), "{text}");
        open.finish();
        for _ in 0..MAX_STAGES {
            record.begin("block write").finish();
        }
        let text = record.to_string();
        assert!(text.ends_with(" and 2 more"), "{text}");
        assert!(!text.contains("not done"), "{text}");
    }
}
