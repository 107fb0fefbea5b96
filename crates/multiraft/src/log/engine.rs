//! The engine below a log: opening, error conversion, dropping. Apart from its own files
//! (`engine_files.rs`), the rest of the crate uses raft-engine only through this file.

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

/// Gives the engine the indexes of Raft's entries.
pub(crate) struct EntryExt;

impl MessageExt for EntryExt {
    type Entry = Entry;

    fn index(entry: &Entry) -> u64 {
        entry.index
    }
}

/// The engine. On drop it syncs once more, and panics if that fails: a failed log must not abort
/// the process.
pub(crate) struct Guarded(ManuallyDrop<Engine>);

impl Guarded {
    /// Opens the engine in `dir`; `written` records its writes.
    ///
    /// # Errors
    /// If another process uses the directory, or its files cannot be read or are damaged.
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
        // SAFETY: it is not used afterwards.
        let engine = unsafe { ManuallyDrop::take(&mut self.0) };
        if catch_unwind(AssertUnwindSafe(|| drop(engine))).is_err() {
            tracing::error!("the last fsync of a raft log failed");
        }
    }
}

fn config(dir: &Path, options: &LogOptions) -> Config {
    Config {
        dir: dir.to_string_lossy().into_owned(),
        // `check.rs` has truncated a torn tail. Any other mode truncates at a failed read, too.
        recovery_mode: RecoveryMode::AbsoluteConsistency,
        recovery_threads: 2,
        // Payloads are outside and commands are small: compression would cost more than it saves.
        batch_compression_threshold: ReadableSize(0),
        target_file_size: ReadableSize(options.file_size),
        purge_threshold: ReadableSize(options.purge_threshold.max(options.file_size)),
        enable_log_recycle: true,
        ..Config::default()
    }
}

/// Converts an error of the engine in `dir`.
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

/// The engine's record of a group, by the group's engine number.
pub(super) fn meta(engine: &Engine, region: u64) -> Option<PersistedGroup> {
    engine.get(region, format::META).and_then(|m| PersistedGroup::decode(&m))
}
