//! The writer thread of a log: everything that queued up during the last fsync goes out with
//! the next one, whichever group it belongs to. `queue.rs` has it laid out by then.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use raft::eraftpb::{Entry, HardState};
use raft_engine::{Command, LogBatch};
use tokio::sync::oneshot;

use super::format::{HARD, META, TRUNCATED, encode_position};
use super::queue::Laid;
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

    /// The engine's number of the group. A group that is new gets one; one that is erased loses
    /// its own, which is free once the erasure is on disk.
    pub(super) fn region_in(&self, regions: &mut Regions) -> Option<u64> {
        if self.erase {
            return regions.retire(self.region);
        }
        if self.is_empty() {
            return None;
        }
        Some(regions.claim(self.region))
    }

    /// Encodes it. `region`: see [`region_in`](Self::region_in).
    pub(super) fn add_to(
        &self,
        region: Option<u64>,
        batch: &mut LogBatch,
    ) -> raft_engine::Result<()> {
        let Some(region) = region else { return Ok(()) };
        if self.erase {
            batch.add_command(region, Command::Clean);
            return Ok(());
        }
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
    while let Some(mut laid) = core.queue.take() {
        if let Err(reason) = write_until_done(&core, &mut laid) {
            give_up(&core, reason);
            return;
        }
        tell(&mut laid.tasks);
        core.queue.reuse(laid);
    }
}

/// Writes and syncs, again and again while the disk is full. An error is final: fsync failed,
/// so nobody knows what is on disk.
fn write_until_done(core: &LogCore, laid: &mut Laid) -> Result<(), String> {
    if let Some(reason) = laid.broken.take() {
        return Err(reason);
    }
    let sync = core.options.fsync && laid.tasks.iter().any(|(_, task)| task.needs_sync());
    loop {
        let started = Instant::now();
        let written = catch_unwind(AssertUnwindSafe(|| core.engine.write(&mut laid.batch, sync)))
            .map_err(|_| String::from("fsync failed"))?;
        match written {
            Ok(bytes) => {
                release_erased(core, &laid.tasks);
                let metrics = &core.metrics;
                add(&metrics.writes, 1);
                let entries = laid.tasks.iter().map(|(_, task)| task.entries.len() as u64);
                add(&metrics.entries, entries.sum());
                add(&metrics.bytes, bytes as u64);
                add(&metrics.nanos, started.elapsed().as_nanos() as u64);
                if core.health.trouble().is_some() {
                    tracing::info!(log = %core.dir.display(), "raft log can be written again");
                    core.health.set(None);
                }
                return Ok(());
            }
            Err(error) => {
                add(&core.metrics.failures, 1);
                let reason = error.to_string();
                if core.health.trouble().as_ref() != Some(&reason) {
                    tracing::error!(log = %core.dir.display(), %reason, "raft log write failed, trying again until it works");
                    core.health.set(Some(reason));
                }
                if core.queue.is_closed() {
                    return Err(String::from("closed while the log could not be written"));
                }
                std::thread::sleep(RETRY);
                // The engine empties a batch that it has written, and only that.
                laid.lay_again().map_err(|e| e.to_string())?;
            }
        }
    }
}

/// Numbers of groups that are gone may be used again.
fn release_erased(core: &LogCore, tasks: &[(Option<u64>, WriteTask)]) {
    let erased = tasks.iter().filter(|(_, task)| task.erase);
    for region in erased.filter_map(|(region, _)| *region) {
        core.regions.lock().release(region);
    }
}

/// Tells everyone, each loop once.
fn tell(tasks: &mut [(Option<u64>, WriteTask)]) {
    let mut loops: Vec<(Arc<Inbox<Event>>, Readies)> = Vec::new();
    for (_, task) in tasks {
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
    core.queue.clear();
}
