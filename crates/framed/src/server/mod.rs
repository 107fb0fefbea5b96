//! Servers.

mod answers;
mod connection;
mod watch;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use limits::{ConnectionOptions, Connections, FairSemaphore, MemoryBudget, PeerKey};
use tokio::net::TcpListener;
use tokio::sync::watch as signal;

use crate::{ForeignProtocol, Status};

/// A response.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Encoded message.
    pub header: Bytes,
    /// Payload.
    pub payload: Bytes,
}

/// A request, or a one-way frame (whose response is dropped).
#[derive(Debug)]
pub struct Call {
    /// The method number.
    pub method: u16,
    /// Encoded message.
    pub header: Bytes,
    /// Payload.
    pub payload: Bytes,
    /// The caller's address.
    pub peer: SocketAddr,
    /// The caller's deadline.
    pub deadline: Option<Instant>,
    /// Time at which the frame was complete.
    pub received: Instant,
    /// Observes the caller's connection.
    pub caller: Caller,
}

/// Observes a caller's connection, for work that is useless without it.
#[derive(Debug, Clone)]
pub struct Caller(signal::Receiver<()>);

impl Caller {
    /// Waits until the connection is closed: the response has no receiver then.
    pub async fn gone(&mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// The result of a handler.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Reply, Status>> + Send>>;

/// Serves calls.
pub trait Handler: Send + Sync + 'static {
    /// Serves one call. The future is polled once on the connection's own task, so work that is
    /// ready at once needs no task; a pending one is moved to a task of its own. It must not block.
    /// A panic is answered with [`crate::Code::Internal`] and ends only the call.
    ///
    /// `call` itself must have no effects, only the future: a stopping server drops futures that
    /// were never polled.
    fn call(&self, call: Call) -> HandlerFuture;
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Maximum frame size, header and payload together, in bytes.
    pub max_frame: usize,
    /// Maximum number of calls in progress, over all connections. Beyond it nothing more is read,
    /// and connections with the fewest calls continue first. One peer has at most three quarters of
    /// them, and one connection a quarter.
    pub max_in_flight: usize,
    /// Time for calls in progress to finish on shutdown.
    pub drain: Duration,
    /// Limits on connections and their idle time.
    pub connections: ConnectionOptions,
    /// Memory for the payloads of large frames; without a budget it is limited only by the number
    /// of calls.
    pub memory: Option<MemoryBudget>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            max_frame: 64 << 20,
            max_in_flight: 16_384,
            drain: Duration::from_secs(5),
            connections: ConnectionOptions::default(),
            memory: None,
        }
    }
}

/// Statistics of a server, for metrics.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Calls in progress, except those completed on the first poll.
    pub in_flight: AtomicU64,
    /// Frames received.
    pub calls: AtomicU64,
    /// One-way frames dropped for lack of memory.
    pub dropped: AtomicU64,
    /// Calls whose handler panicked.
    pub crashed: AtomicU64,
    /// Header and payload bytes received.
    pub bytes_in: AtomicU64,
    /// Bytes sent, frame heads included.
    pub bytes_out: AtomicU64,
}

struct Shared {
    handler: Arc<dyn Handler>,
    foreign: Option<Arc<dyn ForeignProtocol>>,
    options: ServerOptions,
    stats: Arc<ServerStats>,
    connections: Arc<Connections>,
    in_flight: Arc<FairSemaphore<PeerKey>>,
    /// Response bytes of all connections that their peers have not received yet.
    unsent: AtomicUsize,
    stop: signal::Receiver<bool>,
}

impl Shared {
    /// Runs `work`, which must not block, unless the server is stopping: a shutdown that begins in
    /// the meantime waits for it.
    fn unless_stopped<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_stopped = self.stop.borrow();
        (!*is_stopped).then(work)
    }
}

/// A listening server. It stops when [`Server::shutdown`] is called or it is dropped.
pub struct Server {
    address: SocketAddr,
    stats: Arc<ServerStats>,
    connections: Arc<Connections>,
    in_flight: Arc<FairSemaphore<PeerKey>>,
    drain: Duration,
    stop: signal::Sender<bool>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Binds `address` (`host:port`, port 0 for any) and serves it on the current runtime.
    ///
    /// # Errors
    /// If the address cannot be bound.
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
    /// If the listener has no local address.
    pub fn serve(
        listener: TcpListener,
        handler: Arc<dyn Handler>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        Self::serve_with_foreign(listener, handler, None, options)
    }

    /// Serves a bound listener that is shared with another protocol.
    ///
    /// # Errors
    /// As [`Server::serve`].
    pub fn serve_with_foreign(
        listener: TcpListener,
        handler: Arc<dyn Handler>,
        foreign: Option<Arc<dyn ForeignProtocol>>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stats = Arc::new(ServerStats::default());
        let connections = Connections::new(&options.connections);
        let all = options.max_in_flight.max(1) as u64;
        let in_flight = FairSemaphore::new(all, all - all / 4);
        let (stop, stopped) = signal::channel(false);
        let drain = options.drain;
        let shared = Arc::new(Shared {
            handler,
            foreign,
            options,
            stats: stats.clone(),
            connections: connections.clone(),
            in_flight: in_flight.clone(),
            unsent: AtomicUsize::new(0),
            stop: stopped,
        });
        let accepting = tokio::spawn(accept(listener, shared));
        Ok(Self { address, stats, connections, in_flight, drain, stop, accepting })
    }

    /// The bound address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Its statistics.
    pub fn stats(&self) -> &Arc<ServerStats> {
        &self.stats
    }

    /// Its connections.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Accepts no more calls, waits up to the drain time for those in progress, and closes the
    /// connections. The address can be bound again then. No call begins after it returns: one that
    /// was read but not begun, or waits for others to end, is answered with
    /// [`crate::Code::Unavailable`].
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        self.accepting.abort();
        // The task ends by being aborted; only then is the listener closed.
        let _ = (&mut self.accepting).await;
        // An elapsed drain time only means that some callers see a closed connection.
        let _ = tokio::time::timeout(self.drain, self.in_flight.idle()).await;
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
                let Some(open) = shared.connections.open(peer.ip()) else {
                    tracing::debug!(%peer, "connection refused: too many connections");
                    continue;
                };
                let shared = shared.clone();
                tokio::spawn(async move {
                    if let Err(e) = connection::serve(socket, peer, open, &shared).await {
                        tracing::debug!(%peer, error = %e, "connection ended");
                    }
                });
            }
            Err(e) => {
                // Most likely out of file descriptors: serving the others frees some.
                tracing::warn!(error = %e, "cannot accept connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Counts a call in progress.
struct InFlight(Arc<ServerStats>);

impl InFlight {
    fn count(stats: &Arc<ServerStats>) -> Self {
        stats.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(stats.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
