//! Pending responses to one peer.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

use super::{Answer, Shared};
use crate::fault::Fault;
use crate::incoming::CallId;
use crate::response;
use crate::write::{BatchWriter, OutFrame};

/// Maximum response bytes queued for one connection's peer; beyond it no more of its calls are
/// read. This, and the limit of calls in progress, bounds the queue of frames.
const MAX_UNSENT: usize = 64 << 20;

/// Response queue of one connection.
pub(super) struct Answers {
    out: mpsc::UnboundedSender<OutFrame>,
    unsent: AtomicUsize,
    sent: Notify,
    ipc_package: &'static str,
}

/// The other end of [`Answers`].
pub(super) struct Outgoing {
    frames: mpsc::UnboundedReceiver<OutFrame>,
    answers: Weak<Answers>,
}

impl Answers {
    pub(super) fn new(ipc_package: &'static str) -> (Arc<Self>, Outgoing) {
        let (out, frames) = mpsc::unbounded_channel();
        let sent = Notify::new();
        let answers = Arc::new(Self { out, unsent: AtomicUsize::new(0), sent, ipc_package });
        let outgoing = Outgoing { frames, answers: Arc::downgrade(&answers) };
        (answers, outgoing)
    }

    pub(super) fn send(&self, frame: OutFrame) {
        self.unsent.fetch_add(frame.len(), Ordering::Relaxed);
        // A closed channel means that the connection, and so the caller, has ended.
        let _ = self.out.send(frame);
    }

    pub(super) fn refuse(&self, id: &CallId, fault: &Fault) {
        self.send(response::failure(id, fault, self.ipc_package));
    }

    /// Waits until the peer has received enough of its responses, or has disconnected.
    pub(super) async fn wait_for_room(&self) {
        while self.unsent.load(Ordering::Relaxed) > MAX_UNSENT {
            tokio::select! {
                () = self.sent.notified() => {}
                () = self.out.closed() => return,
            }
        }
    }

    /// Returns `true` if calls of this connection are in progress: each has a reference.
    pub(super) fn are_due(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }
}

impl Outgoing {
    /// Writes responses until no task can send any more.
    pub(super) async fn write(
        mut self,
        mut socket: impl AsyncWrite + Unpin,
        shared: Arc<Shared>,
    ) -> io::Result<()> {
        let mut batch = BatchWriter::default();
        while let Some(frame) = self.frames.recv().await {
            let mut bytes = frame.len();
            batch.add(frame, &mut socket).await?;
            while !batch.is_full() {
                let Ok(frame) = self.frames.try_recv() else { break };
                bytes += frame.len();
                batch.add(frame, &mut socket).await?;
            }
            batch.flush(&mut socket).await?;
            shared.stats.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
            if let Some(answers) = self.answers.upgrade() {
                answers.unsent.fetch_sub(bytes, Ordering::Relaxed);
                answers.sent.notify_one();
            }
        }
        socket.shutdown().await
    }
}

/// A due response. A call that ends without one, by a panic, gets an error response.
pub(super) struct Due {
    answers: Arc<Answers>,
    id: CallId,
    given: bool,
}

impl Due {
    pub(super) fn new(answers: &Arc<Answers>, id: CallId) -> Self {
        Self { answers: Arc::clone(answers), id, given: false }
    }

    pub(super) fn id(&self) -> &CallId {
        &self.id
    }

    pub(super) fn send(mut self, answer: Answer) {
        self.given = true;
        match answer {
            Ok(body) => self.answers.send(response::success(&self.id, body)),
            Err(fault) => self.answers.refuse(&self.id, &fault),
        }
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        if !self.given {
            self.answers.refuse(&self.id, &Fault::crashed());
        }
    }
}
