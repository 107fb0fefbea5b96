//! Hadoop RPC on the port of the framed transport.

use std::net::SocketAddr;

use framed::{ForeignConnection, ForeignProtocol};
use limits::Open;
use tokio::net::TcpStream;

use super::Server;
use crate::PREFACE;

impl ForeignProtocol for Server {
    fn preface(&self) -> [u8; 4] {
        PREFACE
    }

    fn serve(&self, socket: TcpStream, peer: SocketAddr, open: Open) -> ForeignConnection {
        let server = self.clone();
        Box::pin(async move { server.connection(socket, peer, open).await })
    }
}
