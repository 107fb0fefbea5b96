//! The writer thread of a log: everything queued during the last fsync, of any group, is written
//! with the next one. `queue.rs` has encoded it by then.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::core::LogCore;
use super::engine::EngineError;
use super::format::PersistedGroup;
use super::queue::EncodedBatch;
use super::task::{Done, WriteTask};
use crate::event::Event;
use crate::inbox::Inbox;
use crate::metrics::add;

/// Delay before the retry of a failed write (disk full).
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// Groups and the numbers of their readies.
type Readies = Vec<(u64, u64)>;

pub(super) fn run(core: Arc<LogCore>) {
    while let Some(mut encoded) = core.queue.pop() {
        if let Err(error) = write_until_done(&core, &mut encoded) {
            core.give_up(error.to_string());
            return;
        }
        record_members(&core, &encoded.tasks);
        notify(&mut encoded.tasks);
        core.queue.reuse(encoded);
    }
}

/// The log cannot be written any more.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("{0}")]
    Earlier(String),
    #[error("fsync failed")]
    Sync,
    #[error("log was closed while it could not be written")]
    Closed,
    #[error("cannot record the synced position of the log: {0}")]
    Note(std::io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Writes and syncs, with retries while the disk is full. Any other error is final: the contents of
/// the disk are unknown, and a later successful fsync proves nothing.
fn write_until_done(core: &LogCore, encoded: &mut EncodedBatch) -> Result<(), WriteError> {
    if let Some(error) = encoded.broken.take() {
        return Err(error.into());
    }
    // Also without a waiting caller: `check.rs` relies on it that no write began after one during
    // which power failed.
    let sync = core.options.fsync;
    loop {
        if let Some(reason) = core.health.failure() {
            return Err(WriteError::Earlier(reason));
        }
        let started = Instant::now();
        let written =
            catch_unwind(AssertUnwindSafe(|| core.engine.write(&mut encoded.batch, sync)))
                .map_err(|_| WriteError::Sync)?;
        match written {
            Ok(bytes) => {
                if sync {
                    note_synced(core)?;
                }
                release_erased(core, &encoded.tasks);
                let metrics = &core.metrics;
                add(&metrics.writes, 1);
                let entries = encoded.tasks.iter().map(|(_, task)| task.entries.len() as u64);
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
                if !is_full(&error) {
                    return Err(error.into());
                }
                let reason = error.to_string();
                if core.health.trouble().as_ref() != Some(&reason) {
                    tracing::error!(log = %core.dir.display(), %reason, "raft log write failed, retrying until it succeeds");
                    core.health.set(Some(reason));
                }
                if core.queue.is_closed() {
                    return Err(WriteError::Closed);
                }
                std::thread::sleep(RETRY_DELAY);
                // The engine clears a batch only after writing it.
                encoded.encode_again()?;
            }
        }
    }
}

/// Records the log's synced position; for its first write retries while that disk is full.
fn note_synced(core: &LogCore) -> Result<(), WriteError> {
    while let Err(error) = core.identity.synced.note_appended(core.written.append()) {
        let reason = error.to_string();
        if !no_room(&error) {
            return Err(WriteError::Note(error));
        }
        if core.queue.is_closed() {
            return Err(WriteError::Closed);
        }
        if core.health.trouble().as_ref() != Some(&reason) {
            tracing::error!(log = %core.dir.display(), %reason, "cannot record the synced position of a raft log, retrying until it succeeds");
            core.health.set(Some(reason));
        }
        std::thread::sleep(RETRY_DELAY);
    }
    Ok(())
}

/// Returns `true` if the disk is only full: nothing was written, and a retry may succeed.
fn is_full(error: &EngineError) -> bool {
    match error {
        EngineError::TryAgain(_) => true,
        EngineError::Io(io) => no_room(io),
        _ => false,
    }
}

fn no_room(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Releases the numbers of erased groups.
fn release_erased(core: &LogCore, tasks: &[(Option<u64>, WriteTask)]) {
    let erased = tasks.iter().filter(|(_, task)| task.erase);
    for region in erased.filter_map(|(region, _)| *region) {
        core.regions.lock().release(region);
    }
}

/// Records changed members outside of the log, too, before a state machine gets past the change.
fn record_members(core: &LogCore, tasks: &[(Option<u64>, WriteTask)]) {
    let changed = tasks.iter().filter(|(_, task)| matches!(task.done, Done::Members { .. }));
    let groups = changed.filter_map(|(_, task)| PersistedGroup::decode(task.meta.as_ref()?));
    let mut any = false;
    for group in groups {
        core.identity.manifest.set_members(group.id, &group.membership);
        any = true;
    }
    if any {
        core.identity.persist();
    }
}

/// Notifies the waiting callers, and each loop once.
fn notify(tasks: &mut [(Option<u64>, WriteTask)]) {
    let mut loops: Vec<(Arc<Inbox<Event>>, Readies)> = Vec::new();
    for (_, task) in tasks {
        match std::mem::take(&mut task.done) {
            Done::Unawaited => {}
            Done::Waiter(sender) => {
                let _ = sender.send(());
            }
            Done::Thread(sender) => {
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

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;
    use std::time::Duration;

    use bytes::Bytes;
    use tokio::sync::oneshot;

    use super::*;
    use crate::consensus::Entry;
    use crate::log::{LogHandle, power_loss};
    use crate::machine::LogPosition;
    use crate::options::LogOptions;

    const GROUPS: u64 = 40;

    pub(in crate::log) fn entry_of(group: u64, index: u64) -> WriteTask {
        let data = Bytes::from(vec![7; 3000]);
        let entries = vec![Entry { index, term: 1, data, ..Default::default() }];
        WriteTask { region: group, entries, ..Default::default() }
    }

    /// Writes tasks as one batch and waits until they are on disk.
    pub(in crate::log) fn write(log: &LogHandle, mut tasks: Vec<WriteTask>) {
        let (sender, written) = oneshot::channel();
        if let Some(last) = tasks.last_mut() {
            last.done = Done::Waiter(sender);
        }
        log.write(tasks);
        written.blocking_recv().unwrap();
    }

    pub(in crate::log) fn newest(dir: &Path) -> std::path::PathBuf {
        let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        files.filter(|p| p.extension().is_some_and(|e| e == "raftlog")).max().unwrap()
    }

    #[test]
    fn a_loss_of_power_between_a_trim_and_the_next_write_leaves_a_log_that_opens() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("log");
        power_loss::watch(&dir);
        let log = LogHandle::open(&dir, LogOptions::default()).unwrap();
        write(&log, (0..GROUPS).flat_map(|g| [entry_of(g, 1), entry_of(g, 2)]).collect());
        // No caller waits for a trim. This one is longer than a sector.
        let at = LogPosition { term: 1, index: 1 };
        let trim = |g| WriteTask { region: g, truncate: Some(at), ..Default::default() };
        log.write((0..GROUPS).map(trim));
        while log.metrics().writes.load(std::sync::atomic::Ordering::Relaxed) < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Power fails during the next write.
        let copy = tempfile::tempdir().unwrap();
        power_loss::copy(root.path(), copy.path());
        let path = newest(&dir);
        let synced = power_loss::synced(&path);
        write(&log, vec![entry_of(1, 3)]);
        let after = power_loss::without_first_sector(std::fs::read(&path).unwrap(), &synced);
        let copied = copy.path().join("log");
        std::fs::write(newest(&copied), after).unwrap();
        log.close();
        let log = LogHandle::open(&copied, LogOptions::default()).unwrap();
        // The engine numbers groups from 1 on.
        for number in 1..=GROUPS {
            let last = log.core.engine.last_index(number);
            assert!(last.is_some_and(|last| last >= 2), "{last:?} in group {number}");
        }
        log.close();
    }
}
