//! Another protocol on the same port.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use limits::Open;
use tokio::net::TcpStream;

use crate::frame::PREFACE;

/// The future that serves a connection of another protocol.
pub type ForeignConnection = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Another protocol on the same port, identified by the first bytes of its connections.
pub trait ForeignProtocol: Send + Sync + 'static {
    /// The first bytes of its connections.
    fn preface(&self) -> [u8; PREFACE.len()];

    /// Serves a connection whose preface has been read, until it ends. Dropped when the server
    /// stops: the protocol itself must complete unfinished work. It calls `open` once the
    /// connection is known to use its protocol, and ends the connection if it is evicted before
    /// that.
    fn serve(&self, socket: TcpStream, peer: SocketAddr, open: Open) -> ForeignConnection;
}
