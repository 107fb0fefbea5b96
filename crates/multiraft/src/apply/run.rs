//! An apply thread: gathers the committed entries of each group that piled up, and has them applied
//! as one batch.
//!
//! What takes a state machine long (a snapshot, or the restore of one, which may fetch gigabytes from
//! other nodes) must not hold up the other groups of the thread. It is done on a thread of its own; what
//! comes for the group meanwhile waits, and is done in order when the machine is back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::ApplyTask;
use super::machine::Machine;
use crate::inbox::Inbox;
use crate::machine::LogPosition;
use crate::snapshot::Incoming;

/// Machines of one apply thread that are away at a time. Further ones wait: each reads or writes the same disk.
const AWAY_AT_ONCE: usize = 2;

/// What takes long.
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

/// A group's machine, as its thread sees it.
enum Place {
    Here(Box<Machine>),
    /// It has something long to do, or is at it.
    Away {
        /// Until it begins.
        work: Option<(Box<Machine>, Long)>,
        /// Since it began.
        thread: Option<JoinHandle<()>>,
        /// What came meanwhile.
        waiting: VecDeque<ApplyTask>,
    },
}

/// See the module.
struct Thread {
    inbox: Arc<Inbox<ApplyTask>>,
    groups: FxHashMap<u64, Place>,
    /// Groups with entries that are not applied yet.
    touched: Vec<u64>,
    away: usize,
    /// Groups that wait until fewer are away.
    next: VecDeque<u64>,
}

/// Runs until the inbox is closed.
pub(super) fn run(inbox: Arc<Inbox<ApplyTask>>) {
    let (groups, touched, next) = (FxHashMap::default(), Vec::new(), VecDeque::new());
    let mut thread = Thread { inbox, groups, touched, away: 0, next };
    let mut tasks = Vec::new();
    while thread.inbox.take(&mut tasks, None) {
        for task in tasks.drain(..) {
            thread.handle(task);
        }
        thread.apply_gathered();
    }
    for place in thread.groups.into_values() {
        if let Place::Away { thread: Some(thread), .. } = place
            && thread.join().is_err()
        {
            tracing::error!("a thread that takes or restores snapshots panicked");
        }
    }
}

impl Thread {
    fn apply_gathered(&mut self) {
        for group in self.touched.drain(..) {
            if let Some(Place::Here(machine)) = self.groups.get_mut(&group) {
                machine.apply();
            }
        }
    }

    fn handle(&mut self, task: ApplyTask) {
        let group = task.group();
        match self.groups.get_mut(&group) {
            Some(Place::Away { waiting, .. }) if !matches!(task, ApplyTask::Back { .. }) => {
                waiting.push_back(task);
                return;
            }
            _ => {}
        }
        match task {
            ApplyTask::Start { shared, machine } => {
                let machine = Box::new(Machine::new(shared, machine));
                self.groups.insert(group, Place::Here(machine));
            }
            ApplyTask::Entries { entries, replies, .. } => {
                if let Some(Place::Here(machine)) = self.groups.get_mut(&group)
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
            ApplyTask::Back { machine, .. } => self.come_back(group, machine),
            ApplyTask::Stop { done, .. } => {
                self.with(group, |_| {});
                let removed = self.groups.remove(&group).is_some();
                let _ = done.send(removed);
            }
        }
    }

    /// Runs `f` after what was gathered for the group before.
    fn with(&mut self, group: u64, f: impl FnOnce(&mut Machine)) {
        if let Some(Place::Here(machine)) = self.groups.get_mut(&group) {
            machine.apply();
            f(machine);
        }
    }

    /// Has a machine do something long, after what was gathered for it before.
    fn leave(&mut self, group: u64, work: Long) {
        let Some(Place::Here(mut machine)) = self.groups.remove(&group) else { return };
        machine.apply();
        let work = Some((machine, work));
        self.groups.insert(group, Place::Away { work, thread: None, waiting: VecDeque::new() });
        self.next.push_back(group);
        self.begin_next();
    }

    fn begin_next(&mut self) {
        while self.away < AWAY_AT_ONCE {
            let Some(group) = self.next.pop_front() else { return };
            let Some(Place::Away { work, thread, .. }) = self.groups.get_mut(&group) else {
                continue;
            };
            let Some(begun) = work.take() else { continue };
            self.away += 1;
            *thread = spawn(begun, group, &self.inbox);
        }
    }

    fn come_back(&mut self, group: u64, machine: Box<Machine>) {
        self.away -= 1;
        if let Some(Place::Away { waiting, .. }) = self.groups.insert(group, Place::Here(machine)) {
            // One of them may make it leave again; the rest waits for that.
            waiting.into_iter().for_each(|task| self.handle(task));
        }
        self.begin_next();
    }
}

/// Does it on a thread of its own, or at once when there is none to be had.
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
            back.push(ApplyTask::Back { group, machine });
        }
    };
    let spawned = std::thread::Builder::new().name(String::from("raft-snapshot")).spawn(go);
    match spawned {
        Ok(thread) => Some(thread),
        Err(error) => {
            tracing::warn!(%error, "no thread for a snapshot; the groups of this disk wait for it");
            let work = shared.lock().take();
            if let Some((mut machine, work)) = work {
                work.run(&mut machine);
                inbox.push(ApplyTask::Back { group, machine });
            }
            None
        }
    }
}
