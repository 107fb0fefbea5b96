//! A no-op state machine.

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};

/// Applies nothing, so that only the cost of replication remains.
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
