//! One connection: its preface, then its calls.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::FutureExt;
use limits::{MemoryBudget, MemoryPermit, Open, PeerKey};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::answers::{Answers, Due};
use super::watch::{Ended, watch};
use super::{Call, Caller, InFlight, Shared, signal};
use crate::activity::Activity;
use crate::connection::{Frame, FrameMemory, FrameReader, Received};
use crate::frame::{Kind, PREFACE};
use crate::write::write_frames;
use crate::{Code, Status};

/// Reason for refusing a call during a shutdown.
const NOT_BEGUN: &str = "the server is stopping and has not begun the call";

/// Serves a connection until its peer closes it, violates the protocol, or the server stops.
pub(super) async fn serve(
    mut socket: TcpStream,
    peer: SocketAddr,
    mut open: Open,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let limit = shared.options.connections.handshake_timeout;
    let mut preface = [0; PREFACE.len()];
    handshake(&mut open, limit, socket.read_exact(&mut preface)).await?;
    let mut stop = shared.stop.clone();
    if let Some(foreign) = shared.foreign.as_ref().filter(|g| g.preface() == preface) {
        return tokio::select! {
            served = foreign.serve(socket, peer, open) => served,
            _ = stop.wait_for(|s| *s) => Ok(()),
        };
    }
    if preface != PREFACE {
        let reason = format!("unknown protocol: connection opens with {preface:02x?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let (read, write) = socket.into_split();
    let key = PeerKey::of(peer.ip());
    let memory = shared.options.memory.clone();
    let memory = memory.map(|budget| FrameMemory { budget, key: MemoryBudget::key(&key) });
    let reader = FrameReader::new(read, shared.options.max_frame).with_memory(memory);
    let activity = reader.activity().clone();
    let (answers, frames) = Answers::new(shared);
    let weak = Arc::downgrade(&answers);
    let writer = tokio::spawn({
        let (weak, activity, stats) = (weak.clone(), activity.clone(), shared.stats.clone());
        let sent = move |bytes| {
            stats.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
            activity.add_written(bytes);
            if let Some(answers) = weak.upgrade() {
                answers.note_sent(bytes);
            }
        };
        write_frames(write, frames, sent)
    });
    let (open_until, caller) = signal::channel(());
    let connection = Connection { shared, answers: &answers, peer, key, caller: Caller(caller) };
    let (read, is_stalled) = tokio::select! {
        read = connection.run(reader, &mut open) => (read, false),
        ended = watch(&activity, &answers, &shared.options.connections) => match ended {
            Ended::Idle => (Ok(()), false),
            Ended::Stalled(error) => (Err(error), true),
        },
        _ = stop.wait_for(|s| *s) => (Ok(()), false),
    };
    drop((answers, open_until));
    if is_stalled {
        // It would wait for a peer that does not receive.
        open.timed_out();
        writer.abort();
        return read;
    }
    // Calls in progress hold senders: the writer ends after their responses, and the connection
    // counts until then. The watcher checks that the peer receives them.
    let stall = shared.options.connections.stall_timeout;
    let written = finish(writer, &weak, &activity, stall).await;
    read.and(written)
}

/// Waits for a writer until the last responses are sent, as long as the peer receives them.
async fn finish(
    mut writer: tokio::task::JoinHandle<io::Result<()>>,
    answers: &Weak<Answers>,
    activity: &Activity,
    stall: Duration,
) -> io::Result<()> {
    loop {
        let before = activity.written();
        if let Ok(written) = timeout(stall, &mut writer).await {
            return written.unwrap_or_else(|e| Err(io::Error::other(e)));
        }
        let is_taken = activity.written() != before;
        let is_waited_for = answers.upgrade().is_some_and(|answers| answers.unsent() == 0);
        if !is_taken && !is_waited_for {
            writer.abort();
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the peer receives no responses"));
        }
    }
}

/// Waits for a message that a new connection must send soon, unless the connection is evicted.
async fn handshake<T>(
    open: &mut Open,
    limit: Duration,
    said: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let said = tokio::select! {
        said = timeout(limit, said) => said,
        () = open.evicted() => {
            let reason = "connection evicted in favour of a new one";
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason));
        }
    };
    said.unwrap_or_else(|_| {
        open.timed_out();
        Err(io::Error::new(io::ErrorKind::TimedOut, "the peer sends nothing"))
    })
}

struct Connection<'a> {
    shared: &'a Arc<Shared>,
    answers: &'a Arc<Answers>,
    peer: SocketAddr,
    key: PeerKey,
    caller: Caller,
}

impl Connection<'_> {
    async fn run(&self, mut reader: FrameReader<OwnedReadHalf>, open: &mut Open) -> io::Result<()> {
        let limit = self.shared.options.connections.handshake_timeout;
        let first = async {
            match reader.begin().await? {
                true => reader.fill_head().await.map(|()| true),
                false => Ok(false),
            }
        };
        if !handshake(open, limit, first).await? {
            return Ok(());
        }
        let permits = (self.shared.options.max_in_flight / 4).max(1);
        let own = Arc::new(Semaphore::new(permits));
        let mut is_first = true;
        loop {
            let received = match is_first {
                // Damage in the first frame means that it is another protocol after all.
                true => tokio::select! {
                    received = reader.next() => received?,
                    () = open.evicted() => return Ok(()),
                },
                false => reader.next().await?,
            };
            if std::mem::take(&mut is_first) {
                open.speaks();
            }
            match received {
                Some(Received::Frame(frame)) => self.handle(frame, &own).await?,
                Some(Received::Dropped) => {
                    self.shared.stats.dropped.fetch_add(1, Ordering::Relaxed);
                }
                None => return Ok(()),
            }
        }
    }

    /// Processes a call. Returns when the next one may be read.
    async fn handle(&self, frame: Frame, own: &Arc<Semaphore>) -> io::Result<()> {
        let Frame { head, header, payload, memory } = frame;
        self.answers.wait_for_room().await;
        let received = Instant::now();
        let stats = &self.shared.stats;
        stats.calls.fetch_add(1, Ordering::Relaxed);
        stats.bytes_in.fetch_add((header.len() + payload.len()) as u64, Ordering::Relaxed);
        let answer = match head.kind {
            Kind::Request => Some(head.call),
            Kind::OneWay => None,
            Kind::Response => {
                let reason = "a client sent a response frame";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        };
        let wait = (head.timeout_ms > 0).then(|| Duration::from_millis(head.timeout_ms.into()));
        let call = Call {
            method: head.method,
            header,
            payload,
            peer: self.peer,
            deadline: wait.and_then(|w| received.checked_add(w)),
            received,
            caller: self.caller.clone(),
        };
        let due = Due::new(self.answers, answer);
        if *self.shared.stop.borrow() {
            due.send(Err(Status::unavailable(NOT_BEGUN)));
            return Ok(());
        }
        // A panic drops the due response, which sends an error, and ends this call only.
        let begun = catch_unwind(AssertUnwindSafe(|| self.shared.handler.call(call)));
        let Ok(work) = begun else { return Ok(()) };
        let mut work = AssertUnwindSafe(work).catch_unwind();
        let mut poll = |cx: &mut Context<'_>| self.shared.unless_stopped(|| work.poll_unpin(cx));
        match std::future::poll_fn(|cx| Poll::Ready(poll(cx))).await {
            Some(Poll::Ready(Ok(result))) => due.send(result),
            Some(Poll::Ready(Err(_))) => {}
            Some(Poll::Pending) => self.wait_for(work, due, wait, memory, own).await,
            None => due.send(Err(Status::unavailable(NOT_BEGUN))),
        }
        Ok(())
    }

    /// Spawns a task that waits for a call's work, as soon as the limit allows one more.
    async fn wait_for<F>(
        &self,
        work: F,
        mut due: Due,
        wait: Option<Duration>,
        memory: Option<MemoryPermit>,
        own: &Arc<Semaphore>,
    ) where
        F: Future<Output = std::thread::Result<Result<super::Reply, Status>>> + Send + 'static,
    {
        due.set_waits(true);
        // Waiting here stops reading from this connection: others have their own share.
        let Ok(own) = own.clone().acquire_owned().await else { return };
        let permit = self.shared.in_flight.acquire(&self.key, 1).await;
        // A shutdown that has begun in the meantime may have waited for all permits already.
        let Some(permit) = self.shared.unless_stopped(|| permit) else { return };
        due.set_waits(false);
        let counted = InFlight::count(&self.shared.stats);
        tokio::spawn(async move {
            let result = match wait {
                Some(wait) => timeout(wait, work).await,
                None => Ok(work.await),
            };
            match result {
                Ok(Ok(result)) => due.send(result),
                // A panic: the due response sends an error when it is dropped.
                Ok(Err(_)) => drop(due),
                Err(_) => {
                    due.send(Err(Status::new(Code::DeadlineExceeded, "the caller gave up")));
                }
            }
            drop((counted, memory, permit, own));
        });
    }
}
