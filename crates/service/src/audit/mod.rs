//! The audit log: one line per operation, in the shape of Ozone's.
//!
//! ```text
//! 2026-01-31 10:00:00,123 | INFO  | OMAudit | user=ann | ip=10.0.0.7 | op=CREATE_VOLUME {volume=vol1} | ret=SUCCESS |
//! ```
//! `AuditLog::log` formats a line into a memory buffer; a separate thread writes the buffer to the
//! file at intervals. If that thread cannot keep up (a full disk), lines are dropped and counted,
//! so that operations are never blocked.

mod file;
mod line;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use file::LogFile;
use line::Clock;

/// Buffered bytes that wake the writer early.
const WAKE_AT: usize = 256 * 1024;
/// Buffered bytes above which lines are dropped: limits memory when the disk does not accept them.
const MAX_BUFFERED: usize = 16 * 1024 * 1024;

/// Options of an audit log.
#[derive(Debug, Clone)]
pub struct AuditOptions {
    /// The logger's name in each line: `OMAudit`.
    pub logger: &'static str,
    /// The file; its directory is created.
    pub path: PathBuf,
    /// Size at which the file is rotated.
    pub rotate_at: u64,
    /// Number of rotated files kept.
    pub keep: usize,
    /// Interval of writes to the file.
    pub flush_interval: Duration,
}

impl AuditOptions {
    /// The defaults: 256 MiB per file, 10 rotated files, five writes per second.
    pub fn new(logger: &'static str, path: impl Into<PathBuf>) -> Self {
        AuditOptions {
            logger,
            path: path.into(),
            rotate_at: 256 << 20,
            keep: 10,
            flush_interval: Duration::from_millis(200),
        }
    }
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct AuditEvent<'a> {
    /// The requesting user.
    pub user: &'a str,
    /// The client's address.
    pub ip: &'a str,
    /// Ozone's name of the operation: `CREATE_KEY`.
    pub op: &'a str,
    /// Its parameters: `("volume", "vol1")`.
    pub params: &'a [(&'a str, &'a str)],
    /// Its result: `Err` with the reason of a failure.
    pub result: Result<(), &'a str>,
}

/// An audit log; cheap to clone. Dropping the last clone writes the remaining lines.
#[derive(Debug, Clone)]
pub struct AuditLog {
    writer: Option<Arc<Writer>>,
}

#[derive(Debug)]
struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    buffer: Mutex<Buffer>,
    wake: Condvar,
    dropped: AtomicU64,
    logger: &'static str,
}

#[derive(Debug)]
struct Buffer {
    bytes: Vec<u8>,
    clock: Clock,
    closed: bool,
}

impl AuditLog {
    /// Opens the file and starts its writer.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(options: AuditOptions) -> io::Result<AuditLog> {
        let file = LogFile::open(&options)?;
        let shared = Arc::new(Shared {
            buffer: Mutex::new(Buffer {
                bytes: Vec::with_capacity(WAKE_AT * 2),
                clock: Clock::default(),
                closed: false,
            }),
            wake: Condvar::new(),
            dropped: AtomicU64::new(0),
            logger: options.logger,
        });
        let thread = std::thread::Builder::new().name("audit".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.write_until_closed(file, options.flush_interval)
        })?;
        Ok(AuditLog { writer: Some(Arc::new(Writer { shared, thread: Some(thread) })) })
    }

    /// A log that discards all lines.
    pub fn disabled() -> AuditLog {
        AuditLog { writer: None }
    }

    /// Returns `true` if lines are kept, so that callers can skip preparing them.
    pub fn is_enabled(&self) -> bool {
        self.writer.is_some()
    }

    /// Logs one operation.
    pub fn log(&self, event: &AuditEvent<'_>) {
        let Some(writer) = &self.writer else { return };
        let shared = &writer.shared;
        let mut buffer = shared.buffer.lock();
        if buffer.bytes.len() > MAX_BUFFERED {
            drop(buffer);
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = buffer.bytes.len();
        let Buffer { bytes, clock, .. } = &mut *buffer;
        line::write(bytes, clock, shared.logger, event);
        if before < WAKE_AT && bytes.len() >= WAKE_AT {
            shared.wake.notify_one();
        }
    }

    /// Number of lines dropped since the start.
    pub fn dropped(&self) -> u64 {
        self.writer.as_ref().map_or(0, |w| w.shared.dropped.load(Ordering::Relaxed))
    }
}

impl Shared {
    fn write_until_closed(&self, mut file: LogFile, interval: Duration) {
        let mut taken: Vec<u8> = Vec::with_capacity(WAKE_AT * 2);
        let mut failing = false;
        loop {
            let closed = {
                let mut buffer = self.buffer.lock();
                if buffer.bytes.len() < WAKE_AT && !buffer.closed {
                    self.wake.wait_for(&mut buffer, interval);
                }
                std::mem::swap(&mut buffer.bytes, &mut taken);
                buffer.closed
            };
            if !taken.is_empty() {
                match file.append(&taken) {
                    Ok(()) => failing = false,
                    Err(error) => {
                        let lines = taken.iter().filter(|b| **b == b'\n').count() as u64;
                        self.dropped.fetch_add(lines, Ordering::Relaxed);
                        // Once per outage, not once per flush.
                        if !std::mem::replace(&mut failing, true) {
                            tracing::error!(path = %file.path().display(), %error, lines, "audit lines lost");
                        }
                    }
                }
                taken.clear();
                taken.shrink_to(WAKE_AT * 2);
            }
            if closed {
                return;
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.buffer.lock().closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
