//! Statistics of all compactions, including RocksDB's own, and handling of their errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rust_rocksdb::ErrorKind;
use rust_rocksdb::event_listener::{
    CompactionJobInfo, DBBackgroundErrorReason, EventListener, MutableStatus,
};

/// Statistics of compactions since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    read: AtomicU64,
    written: AtomicU64,
    failures: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

impl Jobs {
    /// Bytes read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes written.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Number of failed compactions.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The reason of the last failure.
    pub(crate) fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().clone()
    }
}

/// Receives events of compactions.
pub(crate) struct Listener(Arc<Jobs>);

impl Listener {
    pub(crate) fn of(jobs: &Arc<Jobs>) -> Self {
        Self(Arc::clone(jobs))
    }
}

impl EventListener for Listener {
    fn on_compaction_completed(&self, job: &CompactionJobInfo) {
        let Jobs { read, written, .. } = &*self.0;
        read.fetch_add(job.total_input_bytes(), Ordering::Relaxed);
        written.fetch_add(job.total_output_bytes(), Ordering::Relaxed);
    }

    /// RocksDB rejects writes after a compaction that could not write its files. Such a compaction
    /// loses nothing: its input files stay, and it is retried. Damage found in its input remains an
    /// error.
    fn on_background_error(&self, reason: DBBackgroundErrorReason, status: MutableStatus) {
        if reason != DBBackgroundErrorReason::KCompaction {
            return;
        }
        let Err(error) = status.result() else { return };
        self.0.failures.fetch_add(1, Ordering::Relaxed);
        *self.0.last_failure.lock() = Some(error.to_string());
        if error.kind() != ErrorKind::Corruption {
            tracing::warn!(%error, "compaction failed, its input files stay unchanged");
            status.reset();
        }
    }
}
