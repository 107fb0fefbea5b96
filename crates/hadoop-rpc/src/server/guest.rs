//! On the port of the framed transport.

use std::net::SocketAddr;

use framed::{Guest, GuestFuture};
use tokio::net::TcpStream;

use super::Server;
use crate::PREFACE;

impl Guest for Server {
    fn preface(&self) -> [u8; 4] {
        PREFACE
    }

    fn serve(&self, socket: TcpStream, peer: SocketAddr) -> GuestFuture {
        let server = self.clone();
        Box::pin(async move { server.connection(socket, peer).await })
    }
}
