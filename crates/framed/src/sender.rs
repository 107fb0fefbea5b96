//! One-way frames, in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::client::open;
use crate::frame::Kind;
use crate::write::{OutFrame, Payload, write_queue};

/// Limits of a [`Sender`].
#[derive(Debug, Clone)]
pub struct SenderOptions {
    /// Maximum bytes in the queue; further frames are refused.
    pub max_queued: usize,
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// As [`crate::ClientOptions::user_timeout`]. Short, because frames queued in the meantime
    /// become stale.
    pub user_timeout: Duration,
    /// Delay after the first failed attempt to connect; it doubles with each further one.
    pub first_reconnect: Duration,
    /// Maximum delay between attempts.
    pub max_reconnect: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self {
            max_queued: 64 << 20,
            connect_timeout: Duration::from_secs(3),
            user_timeout: Duration::from_secs(5),
            first_reconnect: Duration::from_millis(5),
            max_reconnect: Duration::from_millis(100),
        }
    }
}

/// Reasons why a frame was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The queue is full.
    #[error("the send queue is full")]
    Full,
    /// The sender's task has ended: the runtime is shutting down.
    #[error("the sender is closed")]
    Closed,
}

/// Sends one-way frames to one address over one connection, in order. A lost connection loses its
/// queue; the receiver must tolerate that, as Raft does.
#[derive(Clone)]
pub struct Sender {
    queue: mpsc::UnboundedSender<OutFrame>,
    queued: Arc<AtomicUsize>,
    max_queued: usize,
}

impl Sender {
    /// A sender to `address`, served by a task on the current runtime.
    pub fn new(address: impl Into<Arc<str>>, options: SenderOptions) -> Self {
        let (queue, frames) = mpsc::unbounded_channel();
        let queued = Arc::new(AtomicUsize::new(0));
        tokio::spawn(run(address.into(), options.clone(), frames, queued.clone()));
        Self { queue, queued, max_queued: options.max_queued }
    }

    /// Queues a frame.
    ///
    /// # Errors
    /// If the queue is full or the sender is closed; the frame is dropped.
    pub fn send(&self, method: u16, header: Bytes, payload: Vec<Bytes>) -> Result<(), SendError> {
        let frame = OutFrame {
            kind: Kind::OneWay,
            method,
            call: 0,
            timeout_ms: 0,
            header,
            payload: Payload::Parts(payload),
        };
        let bytes = frame.wire_len();
        if self.queued.fetch_add(bytes, Ordering::Relaxed) > self.max_queued {
            self.queued.fetch_sub(bytes, Ordering::Relaxed);
            return Err(SendError::Full);
        }
        self.queue.send(frame).map_err(|_| SendError::Closed)
    }

    /// Number of queued bytes.
    pub fn queued_bytes(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

/// Passes frames to one connection at a time; drops those that arrive while there is none.
async fn run(
    address: Arc<str>,
    options: SenderOptions,
    mut frames: mpsc::UnboundedReceiver<OutFrame>,
    queued: Arc<AtomicUsize>,
) {
    let mut wait = options.first_reconnect;
    while let Some(first) = frames.recv().await {
        let taken = |bytes: usize| {
            queued.fetch_sub(bytes, Ordering::Relaxed);
        };
        match open(&address, options.connect_timeout, options.user_timeout).await {
            Ok(socket) => {
                wait = options.first_reconnect;
                match write_queue(socket, first, &mut frames, taken).await {
                    Ok(()) => return,
                    Err(error) => tracing::debug!(%address, %error, "connection lost"),
                }
            }
            Err(e) => {
                tracing::debug!(%address, error = %e, "cannot connect");
                taken(first.wire_len());
                tokio::time::sleep(wait).await;
                wait = options.max_reconnect.min(wait * 2);
            }
        }
        // Frames queued for the lost connection are stale by now.
        while let Ok(frame) = frames.try_recv() {
            taken(frame.wire_len());
        }
    }
}
