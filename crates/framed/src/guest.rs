//! Another protocol on the same port.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::TcpStream;

use crate::frame::PREFACE;

/// A connection of a guest, being served.
pub type GuestFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Another protocol on the same port, told from ours by the bytes its connections open with.
pub trait Guest: Send + Sync + 'static {
    /// What its connections open with.
    fn preface(&self) -> [u8; PREFACE.len()];

    /// Serves a connection whose preface has been read, until it ends. Dropped when the server
    /// stops: what must be finished, the guest finishes itself.
    fn serve(&self, socket: TcpStream, peer: SocketAddr) -> GuestFuture;
}
