//! Pending responses to one peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use super::{Reply, Shared};
use crate::frame::Kind;
use crate::write::{OutFrame, Payload};
use crate::{Code, Status};

/// Maximum response bytes queued for one connection's peer; beyond it no more of its calls are
/// read.
const MAX_UNSENT: usize = 64 << 20;
/// Maximum response bytes queued for all peers of a server; beyond it only connections with few
/// queued bytes are read.
const MAX_UNSENT_BY_ALL: usize = 256 << 20;
/// Queued bytes that count as few.
const FEW: usize = 1 << 20;

/// Response queue of one connection.
pub(super) struct Answers {
    out: mpsc::UnboundedSender<OutFrame>,
    unsent: AtomicUsize,
    sent: Notify,
    shared: Arc<Shared>,
}

impl Answers {
    pub(super) fn new(shared: &Arc<Shared>) -> (Arc<Self>, mpsc::UnboundedReceiver<OutFrame>) {
        let (out, frames) = mpsc::unbounded_channel();
        let answers =
            Self { out, unsent: AtomicUsize::new(0), sent: Notify::new(), shared: shared.clone() };
        (Arc::new(answers), frames)
    }

    /// Waits until the peer has received enough of its responses, or has disconnected.
    pub(super) async fn wait_for_room(&self) {
        while !self.has_room() {
            tokio::select! {
                () = self.sent.notified() => {}
                () = self.out.closed() => return,
            }
        }
    }

    fn has_room(&self) -> bool {
        let own = self.unsent.load(Ordering::Relaxed);
        let all = self.shared.unsent.load(Ordering::Relaxed);
        own <= FEW || (own <= MAX_UNSENT && all <= MAX_UNSENT_BY_ALL)
    }

    /// Bytes that the peer has not received yet.
    pub(super) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Records bytes written to the socket.
    pub(super) fn note_sent(&self, bytes: usize) {
        self.shared.unsent.fetch_sub(bytes, Ordering::Relaxed);
        self.unsent.fetch_sub(bytes, Ordering::Relaxed);
        self.sent.notify_one();
    }

    fn send(&self, call: u64, result: Result<Reply, Status>) {
        let (code, header, payload) = match result {
            Ok(reply) => (Code::Ok, reply.header, reply.payload),
            Err(status) => (status.code, status.encode(), Bytes::new()),
        };
        let frame = OutFrame {
            kind: Kind::Response,
            method: code as u16,
            call,
            timeout_ms: 0,
            header,
            payload: Payload::One(payload),
        };
        let bytes = frame.wire_len();
        self.shared.unsent.fetch_add(bytes, Ordering::Relaxed);
        self.unsent.fetch_add(bytes, Ordering::Relaxed);
        // A closed channel means that the connection, and so the caller, has ended.
        let _ = self.out.send(frame);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // Unsent responses are dropped with the queue.
        self.shared.unsent.fetch_sub(*self.unsent.get_mut(), Ordering::Relaxed);
    }
}

/// A due response. A call that ends without one, by a panic, gets an error response.
pub(super) struct Due {
    answers: Arc<Answers>,
    /// `None` for a one-way frame.
    call: Option<u64>,
    /// The call waits for its turn: only a server that stops drops it then.
    waits: bool,
}

impl Due {
    pub(super) fn new(answers: &Arc<Answers>, call: Option<u64>) -> Self {
        Self { answers: answers.clone(), call, waits: false }
    }

    /// Marks the call as waiting for its turn or not.
    pub(super) fn set_waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    pub(super) fn send(mut self, result: Result<Reply, Status>) {
        if let Some(call) = self.call.take() {
            self.answers.send(call, result);
        }
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        let status = if self.waits {
            Status::unavailable("the server is stopping and does not wait for the call")
        } else {
            self.answers.shared.stats.crashed.fetch_add(1, Ordering::Relaxed);
            Status::new(Code::Internal, "the call's handler failed")
        };
        self.answers.send(call, Err(status));
    }
}
