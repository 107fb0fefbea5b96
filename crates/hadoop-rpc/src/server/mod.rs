//! Taking calls.

mod answers;
mod connection;
mod dispatch;
mod foreign_protocol;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use limits::{ConnectionOptions, Connections, FairSemaphore, Open};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::PREFACE;
use crate::fault::Fault;
use crate::retry::{RetryCache, RetryLimits};

/// An encoded response, or why there is none.
pub type Answer = Result<Bytes, Fault>;

/// An answer in the making.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A connection that is served, until it ends.
pub type ConnectionFuture<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

/// What a call amounts to. Nothing is done before the future within is polled.
pub enum Work {
    /// Does no harm when it is done again. Polled once on the connection's own task, so that what
    /// is ready at once costs no task; it must not block.
    Repeatable(AnswerFuture),
    /// Is done once for its client id and call id, and to its end, even if the connection is lost.
    Once(AnswerFuture),
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The Java interface that declares the method.
    pub protocol: String,
    /// The method.
    pub method: String,
    /// The encoded request.
    pub body: Bytes,
    /// The user on whose behalf it is, empty when the client names none.
    pub user: Arc<str>,
    /// The client's id, a UUID, and the call's number: the same when a call comes again.
    pub id: Option<([u8; 16], i32)>,
    /// What the client says of its purpose, for audit.
    pub context: Option<String>,
    /// The caller.
    pub peer: SocketAddr,
    /// When the frame was complete.
    pub received: Instant,
    /// When the server stops waiting for the answer ([`ServerOptions::call_timeout`]): the
    /// protocol does not say how long a client waits.
    pub deadline: Instant,
}

/// Takes the calls of one or more protocols.
pub trait Service: Send + Sync + 'static {
    /// The version in which `protocol` is served; `None` when it is not.
    fn version(&self, protocol: &str) -> Option<u64>;

    /// Takes one call of a protocol that is served.
    fn call(&self, call: Call) -> Work;
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Largest frame of a client, in bytes (`ipc.maximum.data.length`).
    pub max_frame: usize,
    /// Calls being worked on, over all connections; beyond it nothing more is read, and turns go
    /// to the users who have the fewest. One user has three quarters of them at most.
    pub max_in_flight: usize,
    /// How long a call waits for its turn before it is refused as one to be tried again.
    pub queue_timeout: Duration,
    /// How long a call may take before its client is told to try again.
    pub call_timeout: Duration,
    /// How long a client may take to say its user.
    pub handshake_timeout: Duration,
    /// How long a connection without calls is kept.
    pub idle_timeout: Duration,
    /// How many connections [`Server::listen`] takes. Those of a [`framed::ForeignProtocol`] are
    /// bounded by its server.
    pub connections: ConnectionOptions,
    /// How long a shutdown waits for calls being worked on.
    pub drain: Duration,
    /// Answers kept for calls that come again.
    pub retry: RetryLimits,
    /// Java package of IPC's own exceptions.
    pub ipc_package: &'static str,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            max_frame: 128 << 20,
            max_in_flight: 16_384,
            queue_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(600),
            connections: ConnectionOptions::default(),
            drain: Duration::from_secs(5),
            retry: RetryLimits::default(),
            ipc_package: "org.apache.hadoop.ipc",
        }
    }
}

/// What a server does, for metrics.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Open connections.
    pub connections: AtomicU64,
    /// Calls received.
    pub calls: AtomicU64,
    /// Calls refused because too many were being worked on.
    pub refused: AtomicU64,
    /// Calls that came again and were answered without being done again.
    pub repeated: AtomicU64,
    /// Bytes of frames received.
    pub bytes_in: AtomicU64,
    /// Bytes sent.
    pub bytes_out: AtomicU64,
}

/// Counts a connection while it is open.
struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn count(connections: &'a AtomicU64) -> Self {
        connections.fetch_add(1, Ordering::Relaxed);
        Self(connections)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Shared {
    service: Arc<dyn Service>,
    options: ServerOptions,
    stats: ServerStats,
    in_flight: Arc<FairSemaphore<Arc<str>>>,
    retry: Arc<RetryCache>,
    stop: watch::Sender<bool>,
}

impl Shared {
    /// Does something that is not to be done once the server stops, and must not block: a shutdown
    /// that begins meanwhile waits for it.
    fn unless_stopped<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_stopped = self.stop.borrow();
        (!*is_stopped).then(work)
    }
}

/// A server: connections are brought to it ([`Server::connection`]), as a
/// [`framed::ForeignProtocol`] is brought those on the port of another server, or it listens itself
/// ([`Server::listen`]). Clones are the same server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// A server without connections.
    pub fn new(service: Arc<dyn Service>, options: ServerOptions) -> Self {
        let all = options.max_in_flight.max(1) as u64;
        let shared = Shared {
            service,
            stats: ServerStats::default(),
            in_flight: FairSemaphore::new(all, all - all / 4),
            retry: RetryCache::new(options.retry.clone()),
            stop: watch::Sender::new(false),
            options,
        };
        Self { shared: Arc::new(shared) }
    }

    /// What it does.
    pub fn stats(&self) -> &ServerStats {
        &self.shared.stats
    }

    /// Calls being worked on, those answered at once left out.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.taken() as usize
    }

    /// Serves a connection whose first four bytes, [`PREFACE`], have been read, until it ends.
    ///
    /// # Errors
    /// When the connection fails, or its client breaks the protocol.
    pub fn connection(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        open: Open,
    ) -> ConnectionFuture<'_> {
        Box::pin(async move {
            let _counted = Counted::count(&self.shared.stats.connections);
            connection::serve(socket, peer, open, &self.shared).await
        })
    }

    /// Serves what `listener` accepts, until [`Server::shutdown`].
    pub async fn listen(&self, listener: TcpListener) {
        let mut stop = self.shared.stop.subscribe();
        let connections = Connections::new(&self.shared.options.connections);
        let accepting = async {
            loop {
                match listener.accept().await {
                    Ok((socket, peer)) => {
                        let Some(open) = connections.open(peer.ip()) else { continue };
                        let server = self.clone();
                        tokio::spawn(async move { server.accepted(socket, peer, open).await });
                    }
                    Err(e) => {
                        // Out of file descriptors, most likely: serving the others frees some.
                        tracing::warn!(error = %e, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        };
        tokio::select! {
            () = accepting => {}
            _ = stop.wait_for(|s| *s) => {}
        }
    }

    async fn accepted(&self, mut socket: TcpStream, peer: SocketAddr, mut open: Open) {
        let mut preface = [0; PREFACE.len()];
        let limit = self.shared.options.handshake_timeout;
        let said = tokio::select! {
            said = tokio::time::timeout(limit, socket.read_exact(&mut preface)) => said,
            () = open.evicted() => return,
        };
        let served = match said {
            Ok(Ok(_)) if preface == PREFACE => self.connection(socket, peer, open).await,
            Ok(Ok(_)) => Err(io::Error::new(io::ErrorKind::InvalidData, "unknown protocol")),
            Ok(Err(e)) => Err(e),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        if let Err(e) = served {
            tracing::debug!(%peer, error = %e, "connection ended");
        }
    }

    /// Takes no more calls, lets those being worked on finish within the drain time, and closes
    /// the connections. No call is begun after it returns: one that was read and not begun is
    /// refused as one to be tried again.
    pub async fn shutdown(&self) {
        self.shared.stop.send_replace(true);
        // Elapsed drain time only means that some callers see a closed connection.
        let _ = tokio::time::timeout(self.shared.options.drain, self.shared.in_flight.idle()).await;
    }
}
