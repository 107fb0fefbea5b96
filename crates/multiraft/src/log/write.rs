//! The writer thread of a log: everything that queued up during the last fsync goes out with
//! the next one, whichever group it belongs to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use raft::eraftpb::{Entry, HardState};
use raft_engine::{Command, LogBatch};
use tokio::sync::oneshot;

use super::format::{HARD, META, TRUNCATED, encode_position};
use super::regions::Regions;
use super::{EntryExt, LogCore};
use crate::inbox::Inbox;
use crate::machine::LogPosition;
use crate::metrics::add;
use crate::turn::event::Event;

/// How long to wait before a write that failed (disk full) is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// One group's part of a write.
#[derive(Default)]
pub(crate) struct WriteTask {
    /// The group's folded id.
    pub(crate) region: u64,
    /// Members, for a group that is new or whose members have changed.
    pub(crate) meta: Option<Vec<u8>>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) hard_state: Option<HardState>,
    /// Drops the entries up to here.
    pub(crate) truncate: Option<LogPosition>,
    /// With `truncate`: drops entries further on, too, up to here.
    pub(crate) drop_through: u64,
    /// Removes the group.
    pub(crate) erase: bool,
    /// Whom to tell that it is on disk.
    pub(crate) done: Done,
}

/// See [`WriteTask::done`].
#[derive(Default)]
pub(crate) enum Done {
    #[default]
    Nobody,
    /// A loop, with the number of the ready.
    Ready { inbox: Arc<Inbox<Event>>, number: u64 },
    /// A loop that waits for the members to be on disk.
    Members { inbox: Arc<Inbox<Event>> },
    /// Somebody who waits.
    Waiter(oneshot::Sender<()>),
}

/// Groups and the numbers of their readies.
type Readies = Vec<(u64, u64)>;

impl WriteTask {
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(|e| e.data.len() + e.context.len() + 32).sum()
    }

    fn needs_sync(&self) -> bool {
        // A trim repeats itself when it is lost.
        !self.entries.is_empty()
            || self.hard_state.is_some()
            || self.meta.is_some()
            || self.erase
            || !matches!(self.done, Done::Nobody)
    }

    fn is_empty(&self) -> bool {
        self.meta.is_none()
            && self.entries.is_empty()
            && self.hard_state.is_none()
            && self.truncate.is_none()
    }

    fn add_to(&self, batch: &mut LogBatch, regions: &mut Regions) -> raft_engine::Result<()> {
        if self.erase {
            if let Some(region) = regions.get(self.region) {
                batch.add_command(region, Command::Clean);
            }
            return Ok(());
        }
        if self.is_empty() {
            return Ok(());
        }
        let region = regions.claim(self.region);
        if let Some(meta) = &self.meta {
            batch.put(region, META.to_vec(), meta.clone())?;
        }
        if let Some(at) = self.truncate {
            let index = at.index.max(self.drop_through) + 1;
            batch.add_command(region, Command::Compact { index });
            batch.put(region, TRUNCATED.to_vec(), encode_position(at))?;
        }
        if let Some(hard_state) = &self.hard_state {
            batch.put_message(region, HARD.to_vec(), hard_state)?;
        }
        batch.add_entries::<EntryExt>(region, &self.entries)
    }
}

pub(super) fn run(core: Arc<LogCore>) {
    let mut tasks = Vec::new();
    // Used again and again, for its buffer.
    let mut batch = LogBatch::default();
    while core.tasks.take(&mut tasks, None) {
        let mut rest = tasks.as_mut_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at_mut(fitting(rest, core.options.max_batch_bytes));
            if let Err(reason) = write_until_done(&core, now, &mut batch) {
                give_up(&core, reason);
                return;
            }
            tell(now);
            rest = later;
        }
        tasks.clear();
    }
}

/// How many of `tasks` make one write; at least one.
fn fitting(tasks: &[WriteTask], max_bytes: usize) -> usize {
    let mut bytes = 0;
    for (n, task) in tasks.iter().enumerate() {
        bytes += task.bytes();
        if n > 0 && bytes > max_bytes {
            return n;
        }
    }
    tasks.len()
}

/// Writes and syncs, again and again while the disk is full. An error is final: fsync failed,
/// so nobody knows what is on disk.
fn write_until_done(
    core: &LogCore,
    tasks: &[WriteTask],
    batch: &mut LogBatch,
) -> Result<(), String> {
    let sync = core.options.fsync && tasks.iter().any(WriteTask::needs_sync);
    loop {
        let started = Instant::now();
        {
            let regions = &mut core.regions.lock();
            for task in tasks {
                task.add_to(batch, regions).map_err(|e| e.to_string())?;
            }
        }
        let written = catch_unwind(AssertUnwindSafe(|| core.engine.write(batch, sync)))
            .map_err(|_| String::from("fsync failed"))?;
        match written {
            Ok(bytes) => {
                release_erased(core, tasks);
                let metrics = &core.metrics;
                add(&metrics.writes, 1);
                add(&metrics.entries, tasks.iter().map(|t| t.entries.len() as u64).sum());
                add(&metrics.bytes, bytes as u64);
                add(&metrics.nanos, started.elapsed().as_nanos() as u64);
                if core.health.trouble().is_some() {
                    tracing::info!(log = %core.dir.display(), "raft log can be written again");
                    core.health.set(None);
                }
                return Ok(());
            }
            Err(error) => {
                // The engine empties a batch that it has written, and only that.
                *batch = LogBatch::default();
                add(&core.metrics.failures, 1);
                let reason = error.to_string();
                if core.health.trouble().as_ref() != Some(&reason) {
                    tracing::error!(log = %core.dir.display(), %reason, "raft log write failed, trying again until it works");
                    core.health.set(Some(reason));
                }
                if core.tasks.is_closed() {
                    return Err(String::from("closed while the log could not be written"));
                }
                std::thread::sleep(RETRY);
            }
        }
    }
}

/// Numbers of groups that are gone may be used again.
fn release_erased(core: &LogCore, tasks: &[WriteTask]) {
    for (n, erased) in tasks.iter().enumerate().filter(|(_, task)| task.erase) {
        let here = |task: &WriteTask| task.region == erased.region && !task.is_empty();
        if !tasks[n + 1..].iter().any(here) {
            core.regions.lock().release(erased.region);
        }
    }
}

/// Tells everyone, each loop once.
fn tell(tasks: &mut [WriteTask]) {
    let mut loops: Vec<(Arc<Inbox<Event>>, Readies)> = Vec::new();
    for task in tasks {
        match std::mem::take(&mut task.done) {
            Done::Nobody => {}
            Done::Waiter(sender) => {
                let _ = sender.send(());
            }
            Done::Members { inbox } => inbox.push(Event::MembersStored { group: task.region }),
            Done::Ready { inbox, number } => {
                let item = (task.region, number);
                match loops.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &inbox)) {
                    Some((_, items)) => items.push(item),
                    None => loops.push((inbox, vec![item])),
                }
            }
        }
    }
    for (inbox, items) in loops {
        inbox.push(Event::Persisted(items));
    }
}

fn give_up(core: &LogCore, reason: String) {
    tracing::error!(log = %core.dir.display(), %reason, "raft log gave up; its groups stop on this node");
    core.health.set(Some(reason.clone()));
    for (group, inbox) in core.groups.lock().iter() {
        inbox.push(Event::LogFailed { group: *group, reason: reason.clone() });
    }
    core.tasks.clear();
}
