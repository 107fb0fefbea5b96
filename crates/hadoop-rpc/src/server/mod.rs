//! Servers.

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

/// An encoded response, or a fault.
pub type Answer = Result<Bytes, Fault>;

/// A future response.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// The future that serves a connection, until it ends.
pub type ConnectionFuture<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

/// The work of a call. It has no effects before the future within is polled.
pub enum Work {
    /// May be repeated. Polled once on the connection's own task, so that work that is ready at
    /// once needs no task; it must not block.
    Repeatable(AnswerFuture),
    /// Executed once for its client id and call id, and to its end, even if the connection is lost.
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
    /// The user on whose behalf it is made, empty if the client sends none.
    pub user: Arc<str>,
    /// The client's id, a UUID, and the call's number: the same for a retry.
    pub id: Option<([u8; 16], i32)>,
    /// The client's caller context, for audit.
    pub context: Option<String>,
    /// The caller's address.
    pub peer: SocketAddr,
    /// Time at which the frame was complete.
    pub received: Instant,
    /// The server's deadline for the response ([`ServerOptions::call_timeout`]): the protocol does
    /// not contain the client's timeout.
    pub deadline: Instant,
}

/// Serves the calls of one or more protocols.
pub trait Service: Send + Sync + 'static {
    /// The version of `protocol`; `None` if it is not supported.
    fn version(&self, protocol: &str) -> Option<u64>;

    /// Returns the work for a call of a supported protocol.
    fn call(&self, call: Call) -> Work;
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Maximum frame of a client, in bytes (`ipc.maximum.data.length`).
    pub max_frame: usize,
    /// Maximum number of calls in progress, over all connections; beyond it nothing more is read,
    /// and users with the fewest calls are served first. One user has at most three quarters of
    /// them.
    pub max_in_flight: usize,
    /// Maximum wait of a call for its turn before the client must retry.
    pub queue_timeout: Duration,
    /// Maximum duration of a call before its client must retry.
    pub call_timeout: Duration,
    /// Timeout for the connection context.
    pub handshake_timeout: Duration,
    /// Idle timeout of a connection.
    pub idle_timeout: Duration,
    /// Limits of connections for [`Server::listen`]. Those of a [`framed::ForeignProtocol`] are
    /// limited by its server.
    pub connections: ConnectionOptions,
    /// Time for calls in progress to finish on shutdown.
    pub drain: Duration,
    /// Limits of the retry cache.
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

/// Statistics of a server, for metrics.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Open connections.
    pub connections: AtomicU64,
    /// Calls received.
    pub calls: AtomicU64,
    /// Calls refused because too many were in progress.
    pub refused: AtomicU64,
    /// Retries that were answered without executing the call again.
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
    /// Runs `work`, which must not block, unless the server is stopping: a shutdown that begins in
    /// the meantime waits for it.
    fn unless_stopped<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_stopped = self.stop.borrow();
        (!*is_stopped).then(work)
    }
}

/// A server: connections are passed to it ([`Server::connection`]), as to a
/// [`framed::ForeignProtocol`] on the port of another server, or it accepts its own
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

    /// Its statistics.
    pub fn stats(&self) -> &ServerStats {
        &self.shared.stats
    }

    /// Calls in progress, except those completed on the first poll.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.taken() as usize
    }

    /// Serves a connection whose first four bytes, [`PREFACE`], have been read, until it ends.
    ///
    /// # Errors
    /// If the connection fails, or its client violates the protocol.
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

    /// Serves connections of `listener`, until [`Server::shutdown`].
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
                        // Most likely out of file descriptors: serving the others frees some.
                        tracing::warn!(error = %e, "cannot accept connection");
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

    /// Accepts no more calls, waits up to the drain time for those in progress, and closes the
    /// connections. No call begins after it returns: for one that was read but not begun the client
    /// must retry.
    pub async fn shutdown(&self) {
        self.shared.stop.send_replace(true);
        // An elapsed drain time only means that some callers see a closed connection.
        let _ = tokio::time::timeout(self.shared.options.drain, self.shared.in_flight.idle()).await;
    }
}
