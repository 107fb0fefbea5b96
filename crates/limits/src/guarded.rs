//! A connection that fails if its peer is silent or stalls.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::{ConnectionOptions, Open};

/// Number of bytes that prove the use of the port's protocol: no HTTP request is shorter.
const HANDSHAKE: u64 = 24;

/// The socket of a connection whose protocol is implemented by a library. Reading and writing fail
/// if
///
/// * the peer sends nothing within the handshake timeout, or the connection is evicted before that;
/// * the peer receives none of the written data for the stall timeout;
/// * nothing is read or written for the idle timeout.
///
/// The library's user must detect stalls within a message.
pub struct Guarded<S> {
    socket: S,
    open: Open,
    /// `None` once the connection can no longer be evicted.
    evicted: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    received: u64,
    stall_timeout: Duration,
    idle_timeout: Duration,
    /// Runs while there is nothing to read.
    silence: Pin<Box<Sleep>>,
    /// Start of the time of [`Guarded::silence`].
    last: Instant,
    /// Runs while the peer receives nothing.
    stall: Option<Pin<Box<Sleep>>>,
}

impl<S> Guarded<S> {
    /// Guards a connection counted by `open`.
    pub fn new(socket: S, mut open: Open, options: &ConnectionOptions) -> Self {
        let evicted = open.detach_eviction();
        let silence = Box::pin(tokio::time::sleep(options.handshake_timeout));
        Self {
            socket,
            open,
            evicted,
            received: 0,
            stall_timeout: options.stall_timeout,
            idle_timeout: options.idle_timeout,
            silence,
            last: Instant::now(),
            stall: None,
        }
    }

    /// The socket.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    fn timed_out(&self, what: &'static str) -> io::Error {
        self.open.timed_out();
        io::Error::new(io::ErrorKind::TimedOut, what)
    }

    /// Records received bytes.
    fn note_received(&mut self, bytes: usize) {
        self.last = Instant::now();
        self.received += bytes as u64;
        if self.evicted.is_some() && self.received >= HANDSHAKE {
            self.evicted = None;
            self.open.speaks();
            let idle = self.last + self.idle_timeout;
            self.silence.as_mut().reset(idle);
        }
    }

    /// Fails if the peer has been silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if let Some(evicted) = &mut self.evicted {
            if evicted.as_mut().poll(cx).is_ready() {
                let reason = "connection evicted in favour of a new one";
                return Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, reason));
            }
            ready!(self.silence.as_mut().poll(cx));
            return Poll::Ready(self.timed_out("the peer sends nothing"));
        }
        loop {
            ready!(self.silence.as_mut().poll(cx));
            let idle = self.last + self.idle_timeout;
            if Instant::now() >= idle {
                return Poll::Ready(self.timed_out("the connection is idle"));
            }
            // Data was received or sent since the timer was set.
            self.silence.as_mut().reset(idle);
        }
    }

    /// The result of a write; fails if the peer has received nothing for too long.
    fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.last = Instant::now();
            self.stall = None;
            return written;
        }
        let limit = self.stall_timeout;
        let stall = self.stall.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(self.timed_out("the peer receives no responses")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        match Pin::new(&mut self.socket).poll_read(cx, into) {
            Poll::Ready(read) => {
                let count = into.filled().len() - before;
                self.note_received(count);
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_silence(cx).map(Err),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.after_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.after_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::Connections;

    const TIMEOUT: Duration = Duration::from_millis(20);

    fn guarded(
        options: &ConnectionOptions,
    ) -> (Guarded<DuplexStream>, DuplexStream, Arc<Connections>) {
        let connections = Connections::new(options);
        let (ours, theirs) = duplex(64);
        let open = connections.open([127, 0, 0, 1].into()).unwrap();
        (Guarded::new(ours, open, options), theirs, connections)
    }

    async fn fails(guarded: &mut Guarded<DuplexStream>) -> io::ErrorKind {
        let mut rest = Vec::new();
        guarded.read_to_end(&mut rest).await.unwrap_err().kind()
    }

    #[tokio::test]
    async fn a_peer_that_says_nothing_or_too_little_is_left() {
        let options = ConnectionOptions { handshake_timeout: TIMEOUT, ..Default::default() };
        let (mut ours, mut theirs, connections) = guarded(&options);
        theirs.write_all(b"GET /").await.unwrap();
        assert_eq!(fails(&mut ours).await, io::ErrorKind::TimedOut);
        assert_eq!(connections.stats().timed_out.load(Ordering::Relaxed), 1);
        drop(ours);
        assert_eq!(connections.stats().open.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_connection_that_says_nothing_gives_way() {
        let options = ConnectionOptions { max_per_peer: 1, ..Default::default() };
        let (mut ours, _theirs, connections) = guarded(&options);
        let _new = connections.open([127, 0, 0, 1].into()).unwrap();
        assert_eq!(fails(&mut ours).await, io::ErrorKind::ConnectionAborted);
    }

    #[tokio::test]
    async fn a_connection_that_speaks_is_left_when_idle_or_stalled_only() {
        let options = ConnectionOptions {
            handshake_timeout: TIMEOUT,
            idle_timeout: 10 * TIMEOUT,
            stall_timeout: 2 * TIMEOUT,
            ..Default::default()
        };
        let (mut ours, mut theirs, connections) = guarded(&options);
        theirs.write_all(&[1; HANDSHAKE as usize]).await.unwrap();
        ours.read_exact(&mut [0; HANDSHAKE as usize]).await.unwrap();
        let began = Instant::now();
        assert_eq!(fails(&mut ours).await, io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= 10 * TIMEOUT - Duration::from_millis(1));
        let stalled = ours.write_all(&[1; 100]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
        assert_eq!(connections.stats().timed_out.load(Ordering::Relaxed), 2);
    }
}
