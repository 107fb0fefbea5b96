//! Activity of a connection, for the task that detects stalls.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The state of a connection's reading side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Between frames: the peer need not send anything.
    Between = 0,
    /// Within a frame: the peer must send the rest.
    InFrame = 1,
    /// This process is working: the peer has nothing to send.
    Ours = 2,
}

/// Activity of a connection.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    phase: AtomicU8,
    /// Bytes read from the socket.
    read: AtomicU64,
    /// Bytes written to the socket.
    written: AtomicU64,
    /// Completed frames.
    frames: AtomicU64,
    /// Length of the frame that is being read.
    frame_len: AtomicU64,
}

impl Activity {
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Between,
            1 => Phase::InFrame,
            _ => Phase::Ours,
        }
    }

    pub(crate) fn begin_frame(&self, len: usize) {
        self.frame_len.store(len as u64, Ordering::Relaxed);
    }

    pub(crate) fn end_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.frame_len.store(0, Ordering::Relaxed);
        self.enter(Phase::Ours);
    }

    pub(crate) fn add_read(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    pub(crate) fn frame_len(&self) -> u64 {
        self.frame_len.load(Ordering::Relaxed)
    }
}
