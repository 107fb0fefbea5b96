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
    /// Bytes queued; what comes on top is refused.
    pub max_queued: usize,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// As [`crate::ClientOptions::user_timeout`]. Short, for what is queued meanwhile is stale.
    pub user_timeout: Duration,
    /// Wait after the first attempt to connect that failed; it doubles with each further one.
    pub first_reconnect: Duration,
    /// The longest wait between attempts.
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

/// Why a frame was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too much is queued already.
    #[error("too many bytes wait to be sent")]
    Full,
    /// The sender's task is gone: the runtime is shutting down.
    #[error("the sender is closed")]
    Closed,
}

/// Sends one-way frames to one address over one connection, in order. A lost connection loses
/// what was queued; the receiver must cope, as Raft does.
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
    /// When too much is queued or the sender is closed; the frame is dropped.
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

    /// Bytes that wait to be sent.
    pub fn queued_bytes(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

/// Hands frames to one connection at a time; drops what comes while there is none.
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
        // What waited for the lost connection is stale by now.
        while let Ok(frame) = frames.try_recv() {
            taken(frame.wire_len());
        }
    }
}
