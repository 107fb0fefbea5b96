//! Clients.

mod connection;
mod error;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use self::connection::{Begun, Connection};
pub use self::error::CallError;

/// A call in progress, with its encoded response.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<Bytes, CallError>> + Send + 'a>>;

/// Limits of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Timeout of connecting.
    pub connect_timeout: Duration,
    /// Maximum frame of the server, in bytes (`ipc.maximum.response.length`).
    pub max_frame: usize,
    /// Interval of pings while a client waits for responses.
    pub ping_interval: Duration,
    /// Idle timeout of a connection.
    pub idle_timeout: Duration,
    /// Negotiate the authentication, as Java's clients do if security is configured.
    pub negotiate: bool,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(3),
            max_frame: 128 << 20,
            ping_interval: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(10),
            negotiate: false,
        }
    }
}

/// Identifies a client's retried calls to servers: to be shared by the [`Client`]s of redundant
/// servers. Clones are the same.
#[derive(Debug, Clone)]
pub struct Identity {
    id: Bytes,
    next: Arc<AtomicI32>,
}

impl Identity {
    /// A new identity.
    pub fn random() -> Self {
        let id = Bytes::copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        Self { id, next: Arc::default() }
    }

    /// The first attempt of a new call.
    pub fn attempt(&self) -> Attempt {
        // Numbers below 0 are reserved.
        let call = self.next.fetch_add(1, Ordering::Relaxed) & i32::MAX;
        Attempt { call, retry: 0 }
    }
}

/// One sending of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    call: i32,
    retry: i32,
}

impl Attempt {
    /// A retry of the same call.
    #[must_use]
    pub fn again(self) -> Self {
        Self { retry: self.retry.saturating_add(1), ..self }
    }
}

/// State of a client.
struct Inner {
    address: Arc<str>,
    protocol: String,
    version: u64,
    user: String,
    identity: Identity,
    options: ClientOptions,
    current: Mutex<Option<Arc<Connection>>>,
    connecting: tokio::sync::Mutex<()>,
}

/// Calls one protocol of one server over one connection, opened on demand and reopened when lost.
/// Clones share it.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

impl Client {
    /// A client of `address` (`host:port`) for a protocol and its version, on behalf of `user`. It
    /// does not connect yet.
    pub fn new(
        address: impl Into<Arc<str>>,
        (protocol, version): (&str, u64),
        user: &str,
        identity: Identity,
        options: ClientOptions,
    ) -> Self {
        let inner = Inner {
            address: address.into(),
            protocol: protocol.to_owned(),
            version,
            user: user.to_owned(),
            identity,
            options,
            current: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The server's address.
    pub fn address(&self) -> &Arc<str> {
        &self.inner.address
    }

    /// Calls `method` with an encoded request and waits up to `timeout` for the encoded response.
    ///
    /// # Errors
    /// If the server refuses, the connection fails, or the call times out.
    pub fn call<'a>(
        &'a self,
        method: &'a str,
        request: Bytes,
        timeout: Duration,
    ) -> CallFuture<'a> {
        self.send(self.inner.identity.attempt(), method, request, timeout)
    }

    /// Sends a call that may be a retry ([`Attempt::again`]), by this client or another one of the
    /// same identity.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn send<'a>(
        &'a self,
        attempt: Attempt,
        method: &'a str,
        request: Bytes,
        timeout: Duration,
    ) -> CallFuture<'a> {
        Box::pin(async move {
            let exchange = self.exchange(attempt, method, request);
            tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| {
                let millis = timeout.as_millis() as u64;
                Err(CallError::Timeout { address: Arc::clone(&self.inner.address), millis })
            })
        })
    }

    async fn exchange(
        &self,
        attempt: Attempt,
        method: &str,
        request: Bytes,
    ) -> Result<Bytes, CallError> {
        let inner = &*self.inner;
        let frame = connection::call_frame(inner, attempt, method, request);
        // A connection may have reached its idle timeout between being found and being used.
        loop {
            let connection = self.connection().await?;
            if let Begun::Sent(waiting) = connection.begin(attempt.call, frame.clone()) {
                return waiting.answer(&inner.address).await;
            }
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, CallError> {
        let inner = &*self.inner;
        let alive = || inner.current.lock().as_ref().filter(|c| c.is_alive()).cloned();
        if let Some(connection) = alive() {
            return Ok(connection);
        }
        let _one_at_a_time = inner.connecting.lock().await;
        if let Some(connection) = alive() {
            return Ok(connection);
        }
        let connection = connection::open(inner).await?;
        *inner.current.lock() = Some(Arc::clone(&connection));
        Ok(connection)
    }
}
