//! The apply threads of a host: a fixed number per log, so that a hanging disk blocks only its own
//! groups.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use parking_lot::Mutex;

use super::{ApplyTask, run::run};
use crate::error::LogError;
use crate::inbox::Inbox;
use crate::log::{LogCore, LogHandle};

struct OfLog {
    log: Weak<LogCore>,
    inboxes: Vec<Arc<Inbox<ApplyTask>>>,
    next: usize,
}

impl OfLog {
    fn close(&self) {
        self.inboxes.iter().for_each(|inbox| inbox.close());
    }
}

#[derive(Default)]
struct State {
    logs: Vec<OfLog>,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

/// The apply threads of a host. Dropping it stops the threads without waiting for them.
pub(crate) struct ApplyThreads {
    per_log: usize,
    state: Mutex<State>,
}

impl ApplyThreads {
    pub(crate) fn new(per_log: usize) -> Self {
        Self { per_log, state: Mutex::default() }
    }

    /// The inbox of the thread for the next group of `log`; `None` after close.
    pub(crate) fn next_for(
        &self,
        log: &LogHandle,
    ) -> Result<Option<Arc<Inbox<ApplyTask>>>, LogError> {
        let state = &mut *self.state.lock();
        if state.closed {
            return Ok(None);
        }
        state.logs.retain(|of| {
            let there = of.log.strong_count() > 0;
            if !there {
                of.close();
            }
            there
        });
        let this = Arc::as_ptr(&log.core);
        let known = state.logs.iter().position(|of| of.log.as_ptr() == this);
        let at = match known {
            Some(at) => at,
            None => {
                let log = Arc::downgrade(&log.core);
                state.logs.push(OfLog { log, inboxes: Vec::new(), next: 0 });
                state.logs.len() - 1
            }
        };
        let of = &mut state.logs[at];
        if of.inboxes.len() < self.per_log {
            let inbox = Arc::new(Inbox::new());
            let builder = std::thread::Builder::new().name(String::from("raft-apply"));
            let tasks = inbox.clone();
            let thread = builder.spawn(move || run(tasks)).map_err(|error| LogError::Io {
                path: log.core.dir.clone(),
                detail: format!("cannot start a thread for its groups: {error}"),
            })?;
            state.threads.push(thread);
            of.inboxes.push(inbox.clone());
            return Ok(Some(inbox));
        }
        of.next = (of.next + 1) % of.inboxes.len();
        Ok(Some(of.inboxes[of.next].clone()))
    }

    /// Stops the threads after their pending work; the caller joins them.
    pub(crate) fn close(&self) -> Vec<JoinHandle<()>> {
        let mut state = self.state.lock();
        state.closed = true;
        state.logs.iter().for_each(OfLog::close);
        std::mem::take(&mut state.threads)
    }
}

impl Drop for ApplyThreads {
    fn drop(&mut self) {
        self.close();
    }
}
