//! The engine under a log: how it is opened, what its errors mean, how it is dropped. The rest of
//! the crate names raft-engine by this file, but for its own files (`engine_files.rs`).

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

pub(super) use raft_engine::{Command, Error as EngineError, LogBatch};
use raft_engine::{Config, Engine, MessageExt, ReadableSize, RecoveryMode};

use super::engine_files::Written;
use super::format::{self, PersistedGroup};
use crate::consensus::Entry;
use crate::error::LogError;
use crate::options::LogOptions;

/// Lets the engine number Raft's entries.
pub(crate) struct EntryExt;

impl MessageExt for EntryExt {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

/// The engine. It syncs once more when it is dropped, and panics when that fails: a log that has
/// failed must not take its process along.
pub(crate) struct Guarded(ManuallyDrop<Engine>);

impl Guarded {
    /// Opens the engine in `dir`; `written` hears of what it writes.
    ///
    /// # Errors
    /// When another process has the directory, or its files cannot be read or are damaged.
    pub(super) fn open(
        dir: &Path,
        options: &LogOptions,
        written: Arc<Written>,
    ) -> Result<Self, LogError> {
        let engine = Engine::open_with_listeners(config(dir, options), vec![written]);
        Ok(Self(ManuallyDrop::new(engine.map_err(|error| log_error(dir, error))?)))
    }
}

impl Deref for Guarded {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        let engine = unsafe { ManuallyDrop::take(&mut self.0) };
        if catch_unwind(AssertUnwindSafe(|| drop(engine))).is_err() {
            tracing::error!("the last fsync of a raft log failed");
        }
    }
}

fn config(dir: &Path, options: &LogOptions) -> Config {
    Config {
        dir: dir.to_string_lossy().into_owned(),
        // `check.rs` has cut what may be cut. In any other mode the engine cuts where a read fails,
        // too.
        recovery_mode: RecoveryMode::AbsoluteConsistency,
        recovery_threads: 2,
        // Payloads are outside and commands are small: compressing costs more than it saves.
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize(options.file_size),
        purge_threshold: ReadableSize(options.purge_threshold.max(options.file_size)),
        enable_log_recycle: true,
        ..Config::default()
    }
}

/// What an error of the engine in `dir` means.
pub(super) fn log_error(dir: &Path, error: EngineError) -> LogError {
    let path = dir.to_owned();
    let detail = error.to_string();
    match error {
        EngineError::Corruption(_) | EngineError::Codec(_) | EngineError::Protobuf(_) => {
            LogError::Corrupt { path, detail }
        }
        // The engine wraps the failed lock in its catch-all error.
        EngineError::Other(_) if detail.contains("lock") => LogError::InUse { path },
        _ => LogError::Io { path, detail },
    }
}

/// What the engine has of a group, by the number that the group has in it.
pub(super) fn meta(engine: &Engine, region: u64) -> Option<PersistedGroup> {
    engine.get(region, format::META).and_then(|m| PersistedGroup::decode(&m))
}
