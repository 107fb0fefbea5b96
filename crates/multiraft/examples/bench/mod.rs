//! What the benches share: a state machine that does nothing, this process' CPU, arguments.

#![allow(dead_code, reason = "no bench uses all of it")]

use std::time::Duration;

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};

/// Applies nothing: what is left is what replication costs.
#[derive(Default)]
pub struct Nothing(LogPosition);

impl StateMachine for Nothing {
    fn applied(&self) -> LogPosition {
        self.0
    }

    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError> {
        if let Some(last) = entries.last() {
            self.0 = LogPosition { term: last.term, index: last.index };
        }
        Ok(vec![Bytes::new(); entries.len()])
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        Ok(self.0)
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        Ok(SnapshotSource::Bytes(Bytes::new()))
    }

    fn restore(&mut self, _: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        self.0 = at;
        Ok(())
    }
}

/// User and system time of this process.
pub fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
    // Linux counts in hundredths of a second.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// The number behind `name`.
pub fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args();
    let found = arguments.by_ref().any(|a| a == name).then(|| arguments.next()).flatten();
    found.and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Whether `name` was given.
pub fn flag(name: &str) -> bool {
    std::env::args().any(|a| a == name)
}

/// Where data goes: the directory behind `--dir`, or this one.
pub fn directory() -> String {
    std::env::args().skip_while(|a| a != "--dir").nth(1).unwrap_or_else(|| ".".into())
}
