//! An apply thread: collects the committed entries of each group and applies them as one batch.
//!
//! Long tasks of a state machine (a snapshot, or the restore of one, which may fetch gigabytes from
//! other nodes) must not block the other groups of the thread. They run on a thread of their own;
//! later work for the group is queued, and runs in order when the machine is back.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::ApplyTask;
use super::machine::Machine;
use crate::failure::panic_text;
use crate::inbox::Inbox;
use crate::machine::LogPosition;
use crate::snapshot::Incoming;

/// Maximum number of busy machines of one apply thread. Further ones wait, because each reads or
/// writes the same disk.
const BUSY_AT_ONCE: usize = 2;

/// A long task.
enum Long {
    Snapshot,
    Restore { incoming: Incoming, at: LogPosition },
}

impl Long {
    fn run(self, machine: &mut Machine) {
        match self {
            Self::Snapshot => machine.snapshot(),
            Self::Restore { incoming, at } => machine.restore(incoming, at),
        }
    }
}

/// A group's machine, as seen by its thread.
enum MachineSlot {
    Ready(Box<Machine>),
    /// A long task is pending or running.
    Busy {
        /// Set until the task starts.
        work: Option<(Box<Machine>, Long)>,
        /// Set once the task has started.
        thread: Option<JoinHandle<()>>,
        /// Tasks that arrived in the meantime.
        waiting: VecDeque<ApplyTask>,
    },
}

/// An apply thread: its queue and its groups.
struct Thread {
    inbox: Arc<Inbox<ApplyTask>>,
    groups: FxHashMap<u64, MachineSlot>,
    /// Groups with unapplied entries.
    touched: Vec<u64>,
    busy: usize,
    /// Groups that wait for a slot among the busy ones.
    next: VecDeque<u64>,
}

/// Runs until the inbox is closed.
pub(super) fn run(inbox: Arc<Inbox<ApplyTask>>) {
    let (groups, touched, next) = (FxHashMap::default(), Vec::new(), VecDeque::new());
    let mut thread = Thread { inbox, groups, touched, busy: 0, next };
    let mut tasks = Vec::new();
    while thread.inbox.recv_many(&mut tasks, None) {
        for task in tasks.drain(..) {
            let group = task.group();
            thread.surviving(group, |thread| thread.handle(task));
        }
        for group in std::mem::take(&mut thread.touched) {
            thread.surviving(group, |thread| thread.apply_gathered(group));
        }
    }
    for slot in thread.groups.into_values() {
        if let MachineSlot::Busy { thread: Some(thread), .. } = slot
            && thread.join().is_err()
        {
            tracing::error!("snapshot thread panicked");
        }
    }
}

impl Thread {
    /// Runs `f` for `group`; a panic in it fails the group, and the thread continues.
    fn surviving(&mut self, group: u64, f: impl FnOnce(&mut Self)) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| f(self))) else { return };
        let reason = format!("panic of its apply thread: {}", panic_text(&*panic));
        tracing::error!(group, %reason, "apply thread recovered from a panic");
        if let Some(MachineSlot::Ready(machine)) = self.groups.get_mut(&group) {
            machine.fail(reason);
        }
    }

    fn apply_gathered(&mut self, group: u64) {
        if let Some(MachineSlot::Ready(machine)) = self.groups.get_mut(&group) {
            machine.apply();
        }
    }

    fn handle(&mut self, task: ApplyTask) {
        let group = task.group();
        match self.groups.get_mut(&group) {
            Some(MachineSlot::Busy { waiting, .. })
                if !matches!(task, ApplyTask::Returned { .. }) =>
            {
                waiting.push_back(task);
                return;
            }
            _ => {}
        }
        match task {
            ApplyTask::Start { shared, machine } => {
                let machine = Box::new(Machine::new(shared, machine));
                self.groups.insert(group, MachineSlot::Ready(machine));
            }
            ApplyTask::Entries { entries, replies, .. } => {
                if let Some(MachineSlot::Ready(machine)) = self.groups.get_mut(&group)
                    && machine.gather(entries, replies)
                {
                    self.touched.push(group);
                }
            }
            ApplyTask::LeaderChanged { leader, term, is_me, .. } => {
                self.with(group, |machine| machine.leader_changed(leader, term, is_me));
            }
            ApplyTask::Flush { .. } => self.with(group, Machine::flush),
            ApplyTask::Snapshot { .. } => self.leave(group, Long::Snapshot),
            ApplyTask::Restore { incoming, at, .. } => {
                self.leave(group, Long::Restore { incoming, at });
            }
            ApplyTask::Returned { machine, .. } => self.put_back(group, machine),
            ApplyTask::Stop { done, .. } => {
                self.with(group, |_| {});
                let removed = self.groups.remove(&group).is_some();
                let _ = done.send(removed);
            }
        }
    }

    /// Runs `f` after applying the group's batch.
    fn with(&mut self, group: u64, f: impl FnOnce(&mut Machine)) {
        if let Some(MachineSlot::Ready(machine)) = self.groups.get_mut(&group) {
            machine.apply();
            f(machine);
        }
    }

    /// Hands a machine a long task, after applying its batch.
    fn leave(&mut self, group: u64, work: Long) {
        let Some(MachineSlot::Ready(mut machine)) = self.groups.remove(&group) else { return };
        machine.apply();
        let work = Some((machine, work));
        self.groups
            .insert(group, MachineSlot::Busy { work, thread: None, waiting: VecDeque::new() });
        self.next.push_back(group);
        self.begin_next();
    }

    fn begin_next(&mut self) {
        while self.busy < BUSY_AT_ONCE {
            let Some(group) = self.next.pop_front() else { return };
            let Some(MachineSlot::Busy { work, thread, .. }) = self.groups.get_mut(&group) else {
                continue;
            };
            let Some(begun) = work.take() else { continue };
            self.busy += 1;
            *thread = spawn(begun, group, &self.inbox);
        }
    }

    fn put_back(&mut self, group: u64, machine: Box<Machine>) {
        self.busy -= 1;
        if let Some(MachineSlot::Busy { waiting, .. }) =
            self.groups.insert(group, MachineSlot::Ready(machine))
        {
            // One of them may start another long task; the rest is queued after it.
            waiting.into_iter().for_each(|task| self.handle(task));
        }
        self.begin_next();
    }
}

/// Runs the task on a thread of its own, or inline if no thread can be started.
fn spawn(
    work: (Box<Machine>, Long),
    group: u64,
    inbox: &Arc<Inbox<ApplyTask>>,
) -> Option<JoinHandle<()>> {
    let shared = Arc::new(Mutex::new(Some(work)));
    let (taken, back) = (shared.clone(), inbox.clone());
    let go = move || {
        let work = taken.lock().take();
        if let Some((mut machine, work)) = work {
            work.run(&mut machine);
            back.push(ApplyTask::Returned { group, machine });
        }
    };
    let spawned = std::thread::Builder::new().name(String::from("raft-snapshot")).spawn(go);
    match spawned {
        Ok(thread) => Some(thread),
        Err(error) => {
            tracing::warn!(%error, "cannot start a thread for a snapshot; it blocks the groups of this disk");
            let work = shared.lock().take();
            if let Some((mut machine, work)) = work {
                work.run(&mut machine);
                inbox.push(ApplyTask::Returned { group, machine });
            }
            None
        }
    }
}
