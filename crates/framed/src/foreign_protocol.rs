//! Another protocol on the same port.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use limits::Open;
use tokio::net::TcpStream;

use crate::frame::PREFACE;

/// A connection of another protocol, being served.
pub type ForeignConnection = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Another protocol on the same port, told from ours by the bytes its connections open with.
pub trait ForeignProtocol: Send + Sync + 'static {
    /// What its connections open with.
    fn preface(&self) -> [u8; PREFACE.len()];

    /// Serves a connection whose preface has been read, until it ends. Dropped when the server
    /// stops: what must be finished, the protocol finishes itself. The protocol says when the
    /// connection is known to speak its protocol, and ends it when it has to give way before that.
    fn serve(&self, socket: TcpStream, peer: SocketAddr, open: Open) -> ForeignConnection;
}
