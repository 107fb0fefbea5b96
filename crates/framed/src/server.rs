//! Taking calls.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use crate::connection::FrameReader;
use crate::frame::{Kind, PREFACE};
use crate::write::{OutFrame, Payload, write_frames};
use crate::{Code, Guest, Status};

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Encoded message.
    pub header: Bytes,
    /// Raw bytes beside it.
    pub payload: Bytes,
}

/// A request, or a one-way frame (whose answer is dropped).
#[derive(Debug)]
pub struct Call {
    /// Which pair of messages.
    pub method: u16,
    /// Encoded message.
    pub header: Bytes,
    /// Raw bytes beside it.
    pub payload: Bytes,
    /// Who calls.
    pub peer: SocketAddr,
    /// When the caller gives up.
    pub deadline: Option<Instant>,
    /// When the frame was complete.
    pub received: Instant,
}

/// What a handler returns.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Reply, Status>> + Send>>;

/// Takes calls.
pub trait Handler: Send + Sync + 'static {
    /// Answers one call. The future is polled once on the connection's own task, so work that is
    /// ready at once costs no task; what waits is moved to a task of its own. It must not block.
    fn call(&self, call: Call) -> HandlerFuture;
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Largest frame, header and payload together, in bytes.
    pub max_frame: usize,
    /// Calls being worked on, over all connections; beyond it nothing more is read.
    pub max_in_flight: usize,
    /// How long a shutdown waits for calls being worked on.
    pub drain: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { max_frame: 64 << 20, max_in_flight: 16_384, drain: Duration::from_secs(5) }
    }
}

/// What a server does, for metrics.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Open connections.
    pub connections: AtomicU64,
    /// Calls being worked on, those answered at once left out.
    pub in_flight: AtomicU64,
    /// Frames received.
    pub calls: AtomicU64,
    /// Header and payload bytes received.
    pub bytes_in: AtomicU64,
    /// Bytes sent, frame heads included.
    pub bytes_out: AtomicU64,
}

/// Answer bytes that may wait for one connection's peer to take them; beyond it no more of its
/// calls are read.
const MAX_UNSENT: usize = 64 << 20;

/// Answers on their way to one peer.
struct Answers {
    out: mpsc::UnboundedSender<OutFrame>,
    unsent: AtomicUsize,
    sent: Notify,
}

impl Answers {
    async fn wait_for_room(&self) {
        while self.unsent.load(Ordering::Relaxed) > MAX_UNSENT {
            self.sent.notified().await;
        }
    }
}

struct Shared {
    handler: Arc<dyn Handler>,
    guest: Option<Arc<dyn Guest>>,
    options: ServerOptions,
    stats: Arc<ServerStats>,
    permits: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

/// A listening server. It stops when [`Server::shutdown`] is called or it is dropped.
pub struct Server {
    address: SocketAddr,
    stats: Arc<ServerStats>,
    permits: Arc<Semaphore>,
    options: ServerOptions,
    stop: watch::Sender<bool>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Listens on `address` (`host:port`, port 0 for any) and serves it on the current runtime.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(
        address: &str,
        handler: Arc<dyn Handler>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Self::serve(listener, handler, options)
    }

    /// Serves a bound listener.
    ///
    /// # Errors
    /// When the listener has no local address.
    pub fn serve(
        listener: TcpListener,
        handler: Arc<dyn Handler>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        Self::serve_with_guest(listener, handler, None, options)
    }

    /// Serves a bound listener that a guest has its connections on, too.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub fn serve_with_guest(
        listener: TcpListener,
        handler: Arc<dyn Handler>,
        guest: Option<Arc<dyn Guest>>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stats = Arc::new(ServerStats::default());
        let permits = Arc::new(Semaphore::new(options.max_in_flight));
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared {
            handler,
            guest,
            options: options.clone(),
            stats: stats.clone(),
            permits: permits.clone(),
            stop: stopped,
        });
        let accepting = tokio::spawn(accept(listener, shared));
        Ok(Self { address, stats, permits, options, stop, accepting })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// What it does.
    pub fn stats(&self) -> &Arc<ServerStats> {
        &self.stats
    }

    /// Takes no more calls, lets those being worked on finish within the drain time, and closes
    /// the connections.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        self.accepting.abort();
        let all = u32::try_from(self.options.max_in_flight).unwrap_or(u32::MAX);
        // Elapsed drain time only means that some callers see a closed connection.
        let _ = tokio::time::timeout(self.options.drain, self.permits.acquire_many(all)).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                let shared = shared.clone();
                tokio::spawn(async move {
                    shared.stats.connections.fetch_add(1, Ordering::Relaxed);
                    if let Err(e) = serve_connection(socket, peer, &shared).await {
                        tracing::debug!(%peer, error = %e, "connection ended");
                    }
                    shared.stats.connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Err(e) => {
                // Out of file descriptors, most likely: serving the others frees some.
                tracing::warn!(error = %e, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve_connection(
    mut socket: TcpStream,
    peer: SocketAddr,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut preface = [0; PREFACE.len()];
    socket.read_exact(&mut preface).await?;
    let mut stop = shared.stop.clone();
    if let Some(guest) = shared.guest.as_ref().filter(|g| g.preface() == preface) {
        return tokio::select! {
            served = guest.serve(socket, peer) => served,
            _ = stop.wait_for(|s| *s) => Ok(()),
        };
    }
    if preface != PREFACE {
        let reason = format!("unknown protocol: connection opens with {preface:02x?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let (read, write) = socket.into_split();
    let (out, frames) = mpsc::unbounded_channel();
    let answers = Arc::new(Answers { out, unsent: AtomicUsize::new(0), sent: Notify::new() });
    let stats = shared.stats.clone();
    let weak = Arc::downgrade(&answers);
    let writer = tokio::spawn(async move {
        write_frames(write, frames, |bytes| {
            stats.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
            if let Some(answers) = weak.upgrade() {
                answers.unsent.fetch_sub(bytes, Ordering::Relaxed);
                answers.sent.notify_one();
            }
        })
        .await
    });
    let read = tokio::select! {
        read = read_calls(read, peer, shared, &answers) => read,
        _ = stop.wait_for(|s| *s) => Ok(()),
    };
    drop(answers);
    // Calls still being worked on hold senders: the writer ends after their answers.
    let written = writer.await.unwrap_or_else(|e| Err(io::Error::other(e)));
    read.and(written)
}

async fn read_calls(
    socket: tokio::net::tcp::OwnedReadHalf,
    peer: SocketAddr,
    shared: &Arc<Shared>,
    answers: &Arc<Answers>,
) -> io::Result<()> {
    let mut reader = FrameReader::new(socket, shared.options.max_frame);
    while let Some(frame) = reader.next().await? {
        answers.wait_for_room().await;
        let received = Instant::now();
        let stats = &shared.stats;
        stats.calls.fetch_add(1, Ordering::Relaxed);
        let bytes = frame.header.len() + frame.payload.len();
        stats.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
        let answer = match frame.head.kind {
            Kind::Request => Some(frame.head.call),
            Kind::OneWay => None,
            Kind::Response => {
                let reason = "a client sent a response frame";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        };
        let wait = (frame.head.timeout_ms > 0)
            .then(|| Duration::from_millis(frame.head.timeout_ms.into()));
        let call = Call {
            method: frame.head.method,
            header: frame.header,
            payload: frame.payload,
            peer,
            deadline: wait.and_then(|w| received.checked_add(w)),
            received,
        };
        let mut work = shared.handler.call(call);
        let at_once = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if let Poll::Ready(result) = at_once {
            send_answer(answers, answer, result);
            continue;
        }
        // Waiting here stops reading: back-pressure on everybody who shares the limit.
        let Ok(permit) = shared.permits.clone().acquire_owned().await else { return Ok(()) };
        let answers = answers.clone();
        let stats = shared.stats.clone();
        stats.in_flight.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let result = match wait {
                Some(wait) => match tokio::time::timeout(wait, work).await {
                    Ok(result) => result,
                    Err(_) => Err(Status::new(Code::DeadlineExceeded, "the caller gave up")),
                },
                None => work.await,
            };
            send_answer(&answers, answer, result);
            stats.in_flight.fetch_sub(1, Ordering::Relaxed);
            drop(permit);
        });
    }
    Ok(())
}

fn send_answer(answers: &Answers, call: Option<u64>, result: Result<Reply, Status>) {
    let Some(call) = call else { return };
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
    answers.unsent.fetch_add(frame.wire_len(), Ordering::Relaxed);
    // A closed channel means that the connection is gone, and the caller with it.
    let _ = answers.out.send(frame);
}
