//! What a connection is doing, for the task that watches that it does not stall.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What the reading side of a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// The peer may send something, or nothing.
    Between = 0,
    /// The peer owes the rest of a frame.
    InFrame = 1,
    /// This process is at work: the peer has nothing to do.
    Ours = 2,
}

/// What a connection is doing.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    phase: AtomicU8,
    /// Bytes read from the socket.
    read: AtomicU64,
    /// Bytes written to the socket.
    written: AtomicU64,
    /// Frames that were complete.
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
