//! Clients.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use crate::connection::{FrameReader, Received};
use crate::frame::{Kind, PREFACE};
use crate::write::{OutFrame, Payload, write_frames};
use crate::{CallError, Code, Reply, Status};

/// Limits of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Number of connections to the server, used in turn.
    pub connections: usize,
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// Time without acknowledgements from the server's host after which the connection counts as
    /// lost (`TCP_USER_TIMEOUT`). The kernel's default is up to 15 minutes; after a network
    /// partition recovery takes as long again as the partition lasted, up to 2 minutes.
    pub user_timeout: Duration,
    /// Maximum response size, header and payload together, in bytes.
    pub max_frame: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connections: 2,
            connect_timeout: Duration::from_secs(3),
            user_timeout: Duration::from_secs(30),
            max_frame: 256 << 20,
        }
    }
}

type Answer = Result<Reply, Status>;
/// The reason of a connection's end.
#[derive(Debug, Clone, thiserror::Error)]
enum Lost {
    #[error("the connection was lost")]
    Dropped,
    #[error("the server closed the connection")]
    Closed,
    #[error(transparent)]
    Io(Arc<io::Error>),
}

type Waiting = FxHashMap<u64, oneshot::Sender<Result<Answer, Lost>>>;

struct Connection {
    out: mpsc::UnboundedSender<OutFrame>,
    /// `None` once the connection is lost.
    waiting: Mutex<Option<Waiting>>,
    next: AtomicU64,
}

impl Connection {
    fn alive(&self) -> bool {
        !self.out.is_closed() && self.waiting.lock().is_some()
    }

    fn fail(&self, lost: &Lost) {
        let Some(waiting) = self.waiting.lock().take() else { return };
        for (_, answer) in waiting {
            let _ = answer.send(Err(lost.clone()));
        }
    }
}

struct Slot {
    current: Mutex<Option<Arc<Connection>>>,
    connecting: tokio::sync::Mutex<()>,
}

struct Inner {
    address: Arc<str>,
    options: ClientOptions,
    slots: Vec<Slot>,
    next: AtomicUsize,
}

/// Calls one server over a few connections, opened on demand and reopened when lost. Clones share
/// them.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

/// Removes a call from the waiting list when its caller stops waiting.
struct Forget<'a> {
    connection: &'a Connection,
    call: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.connection.waiting.lock().as_mut() {
            waiting.remove(&self.call);
        }
    }
}

impl Client {
    /// A client of `address` (`host:port`). It does not connect yet.
    pub fn new(address: impl Into<Arc<str>>, options: ClientOptions) -> Self {
        let slots = (0..options.connections.max(1))
            .map(|_| Slot { current: Mutex::new(None), connecting: tokio::sync::Mutex::new(()) })
            .collect();
        let inner = Inner { address: address.into(), options, slots, next: AtomicUsize::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// The server's address.
    pub fn address(&self) -> &Arc<str> {
        &self.inner.address
    }

    /// Calls `method` and waits up to `timeout` for the response.
    ///
    /// # Errors
    /// If the server refuses, the connection fails, or the call times out.
    pub async fn call(
        &self,
        method: u16,
        header: Bytes,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        self.call_payload(method, header, Payload::One(payload), timeout).await
    }

    /// As [`Client::call`], with a payload in several pieces, which are sent one after the other
    /// without copying.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn call_parts(
        &self,
        method: u16,
        header: Bytes,
        payload: Vec<Bytes>,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        self.call_payload(method, header, Payload::Parts(payload), timeout).await
    }

    async fn call_payload(
        &self,
        method: u16,
        header: Bytes,
        payload: Payload,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        match tokio::time::timeout(timeout, self.exchange(method, header, payload, timeout)).await {
            Ok(answer) => answer,
            Err(_) => Err(CallError::Timeout {
                address: self.inner.address.clone(),
                millis: timeout.as_millis() as u64,
            }),
        }
    }

    async fn exchange(
        &self,
        method: u16,
        header: Bytes,
        payload: Payload,
        timeout: Duration,
    ) -> Result<Reply, CallError> {
        let next = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let slot = &self.inner.slots[next % self.inner.slots.len()];
        let connection = self.connection(slot).await?;
        let call = connection.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        match connection.waiting.lock().as_mut() {
            Some(waiting) => waiting.insert(call, answer),
            None => return Err(self.lost(false, &Lost::Dropped)),
        };
        let _forget = Forget { connection: &connection, call };
        let frame = OutFrame {
            kind: Kind::Request,
            method,
            call,
            timeout_ms: u32::try_from(timeout.as_millis()).unwrap_or(0),
            header,
            payload,
        };
        if connection.out.send(frame).is_err() {
            return Err(self.lost(false, &Lost::Dropped));
        }
        match answered.await {
            Ok(Ok(Ok(reply))) => Ok(reply),
            Ok(Ok(Err(status))) => {
                Err(CallError::Status { address: self.inner.address.clone(), status })
            }
            Ok(Err(lost)) => Err(self.lost(true, &lost)),
            Err(_) => Err(self.lost(true, &Lost::Dropped)),
        }
    }

    fn lost(&self, sent: bool, lost: &Lost) -> CallError {
        CallError::Transport {
            address: self.inner.address.clone(),
            kind: io::ErrorKind::ConnectionReset,
            reason: lost.to_string(),
            sent,
        }
    }

    async fn connection(&self, slot: &Slot) -> Result<Arc<Connection>, CallError> {
        if let Some(connection) = slot.current.lock().as_ref().filter(|c| c.alive()) {
            return Ok(connection.clone());
        }
        let _one_at_a_time = slot.connecting.lock().await;
        if let Some(connection) = slot.current.lock().as_ref().filter(|c| c.alive()) {
            return Ok(connection.clone());
        }
        let connection = connect(&self.inner.address, &self.inner.options).await.map_err(|e| {
            CallError::Transport {
                address: self.inner.address.clone(),
                kind: e.kind(),
                reason: format!("cannot connect: {e}"),
                sent: false,
            }
        })?;
        *slot.current.lock() = Some(connection.clone());
        Ok(connection)
    }
}

pub(crate) async fn open(
    address: &str,
    connect_timeout: Duration,
    user_timeout: Duration,
) -> io::Result<TcpStream> {
    let connecting = TcpStream::connect(address);
    let mut socket = tokio::time::timeout(connect_timeout, connecting)
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "connecting timed out"))??;
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_user_timeout(Some(user_timeout))?;
    socket.write_all(&PREFACE).await?;
    Ok(socket)
}

async fn connect(address: &str, options: &ClientOptions) -> io::Result<Arc<Connection>> {
    let socket = open(address, options.connect_timeout, options.user_timeout).await?;
    let (read, write) = socket.into_split();
    let (out, frames) = mpsc::unbounded_channel();
    let connection = Arc::new(Connection {
        out,
        waiting: Mutex::new(Some(FxHashMap::default())),
        next: AtomicU64::new(1),
    });
    // The tasks hold the connection weakly: it ends when the client drops it.
    let weak = Arc::downgrade(&connection);
    let reader = FrameReader::new(read, options.max_frame);
    let reading = tokio::spawn(async move {
        let lost = match read_answers(reader, &weak).await {
            Ok(()) => Lost::Closed,
            Err(e) => Lost::Io(Arc::new(e)),
        };
        if let Some(connection) = weak.upgrade() {
            connection.fail(&lost);
        }
    });
    let weak = Arc::downgrade(&connection);
    tokio::spawn(async move {
        if let Err(e) = write_frames(write, frames, |_| {}).await
            && let Some(connection) = weak.upgrade()
        {
            connection.fail(&Lost::Io(Arc::new(e)));
        }
        reading.abort();
    });
    Ok(connection)
}

async fn read_answers(
    mut reader: FrameReader<tokio::net::tcp::OwnedReadHalf>,
    connection: &std::sync::Weak<Connection>,
) -> io::Result<()> {
    while let Some(received) = reader.next().await? {
        let Received::Frame(frame) = received else { continue };
        let Some(connection) = connection.upgrade() else { return Ok(()) };
        let waiting = connection.waiting.lock().as_mut().and_then(|w| w.remove(&frame.head.call));
        // The caller timed out.
        let Some(waiting) = waiting else { continue };
        let answer = if frame.head.method == Code::Ok as u16 {
            Ok(Reply { header: frame.header, payload: frame.payload })
        } else {
            Err(Status::decode(frame.head.method, &frame.header))
        };
        let _ = waiting.send(Ok(answer));
    }
    Ok(())
}
