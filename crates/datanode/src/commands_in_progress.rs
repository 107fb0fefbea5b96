//! SCM's commands in progress, so that a repeated one is not started twice.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

/// Commands in progress, by kind and subject. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnderWay {
    commands: Arc<Mutex<FxHashSet<(i32, String)>>>,
}

/// One command in progress, until it is dropped.
#[derive(Debug)]
pub(crate) struct Mark {
    command: (i32, String),
    all: UnderWay,
}

impl UnderWay {
    /// Marks a command, unless the same is in progress.
    pub fn begin(&self, kind: i32, subject: String) -> Option<Mark> {
        let command = (kind, subject);
        let new = self.commands.lock().insert(command.clone());
        new.then(|| Mark { command, all: self.clone() })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.all.commands.lock().remove(&self.command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_not_begun_twice_but_may_come_again() {
        let all = UnderWay::default();
        let first = all.begin(1, "a".into());
        assert!(first.is_some() && all.begin(2, "a".into()).is_some());
        assert!(all.begin(1, "a".into()).is_none());
        drop(first);
        assert!(all.begin(1, "a".into()).is_some());
    }
}
