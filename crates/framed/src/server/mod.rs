//! Taking calls.

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
    /// The caller.
    pub peer: SocketAddr,
    /// When the caller gives up.
    pub deadline: Option<Instant>,
    /// When the frame was complete.
    pub received: Instant,
    /// Whether the caller's connection is still there.
    pub caller: Caller,
}

/// A caller's connection, to be watched by work that is in vain without it.
#[derive(Debug, Clone)]
pub struct Caller(signal::Receiver<()>);

impl Caller {
    /// Waits until the connection is closed: nobody will take the answer.
    pub async fn gone(&mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// What a handler returns.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Reply, Status>> + Send>>;

/// Takes calls.
pub trait Handler: Send + Sync + 'static {
    /// Answers one call. The future is polled once on the connection's own task, so work that is
    /// ready at once costs no task; what waits is moved to a task of its own. It must not block.
    /// A panic is answered with [`crate::Code::Internal`] and ends nothing but the call.
    ///
    /// `call` itself must begin nothing, only the future: when the server stops, it drops a future
    /// that was not polled yet.
    fn call(&self, call: Call) -> HandlerFuture;
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Largest frame, header and payload together, in bytes.
    pub max_frame: usize,
    /// Calls being worked on, over all connections. Beyond it nothing more is read, and a
    /// connection that has the fewest goes on first. One peer has three quarters of them at most,
    /// and one connection a quarter.
    pub max_in_flight: usize,
    /// How long a shutdown waits for calls being worked on.
    pub drain: Duration,
    /// How many connections there may be, and how long they may be silent.
    pub connections: ConnectionOptions,
    /// Memory for the payloads of large frames; without a budget it is bounded by the number of
    /// calls only.
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

/// What a server does, for metrics.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// Calls being worked on, those answered at once left out.
    pub in_flight: AtomicU64,
    /// Frames received.
    pub calls: AtomicU64,
    /// One-way frames for whose bytes there was no memory.
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
    /// Answer bytes of all connections that their peers have yet to take.
    unsent: AtomicUsize,
    stop: signal::Receiver<bool>,
}

impl Shared {
    /// Does something that is not to be done once the server stops, and must not block: a shutdown
    /// that begins meanwhile waits for it.
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
        Self::serve_with_foreign(listener, handler, None, options)
    }

    /// Serves a bound listener that another protocol has its connections on, too.
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

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// What it does.
    pub fn stats(&self) -> &Arc<ServerStats> {
        &self.stats
    }

    /// Its connections.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Takes no more calls, lets those being worked on finish within the drain time, and closes
    /// the connections. The address can be bound anew then. No call is begun after it returns: one
    /// that was read and not begun, or waits for others to end, is answered with
    /// [`crate::Code::Unavailable`].
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        self.accepting.abort();
        // It ends by having been aborted; only then is the listener gone.
        let _ = (&mut self.accepting).await;
        // Elapsed drain time only means that some callers see a closed connection.
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
                    tracing::debug!(%peer, "too many connections");
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
                // Out of file descriptors, most likely: serving the others frees some.
                tracing::warn!(error = %e, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Counts a call while it is worked on.
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
