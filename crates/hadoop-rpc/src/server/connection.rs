//! One connection: its user, then its calls.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use limits::Open;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::timeout;

use super::answers::Answers;
use super::dispatch::{self, Request};
use super::{Call, Shared};
use crate::fault::Fault;
use crate::frame::FrameReader;
use crate::incoming::{Broken, CallId, Incoming, parse};
use crate::message::{ConnectionContext, NO_RETRY, SASL, SIMPLE, SaslMessage, SaslState};
use crate::{VERSION, response};

/// Maximum frame of a client that has not sent its user.
const MAX_HANDSHAKE: usize = 64 << 10;
/// The client uses no authentication.
const AUTH_NONE: u8 = 0;
/// The client uses SASL.
const AUTH_SASL: u8 = 0xdf;
/// The oldest version whose clients understand the old form of an error.
const OLDEST_VERSION: u8 = 3;

/// Serves a connection until its client closes it, violates the protocol, or the server stops.
pub(super) async fn serve(
    socket: TcpStream,
    peer: SocketAddr,
    mut open: Open,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let (read, write) = socket.into_split();
    let (answers, outgoing) = Answers::new(shared.options.ipc_package);
    let writer = tokio::spawn(outgoing.write(write, Arc::clone(shared)));
    let mut stop = shared.stop.subscribe();
    let connection = Connection {
        shared,
        answers: &answers,
        reader: FrameReader::new(read),
        peer,
        authenticated: false,
    };
    let read = tokio::select! {
        // A call that waits for its turn is refused before the connection ends.
        biased;
        read = connection.run(&mut open) => read,
        _ = stop.wait_for(|s| *s) => Ok(()),
    };
    drop(answers);
    // Calls in progress have due responses: the writer ends after them.
    let written = writer.await.unwrap_or_else(|e| Err(io::Error::other(e)));
    read.and(written)
}

struct Connection<'a> {
    shared: &'a Arc<Shared>,
    answers: &'a Arc<Answers>,
    reader: FrameReader<OwnedReadHalf>,
    peer: SocketAddr,
    authenticated: bool,
}

impl Connection<'_> {
    async fn run(mut self, open: &mut Open) -> io::Result<()> {
        let limit = self.shared.options.handshake_timeout;
        let user = tokio::select! {
            user = timeout(limit, self.handshake()) => user,
            () = open.evicted() => {
                let reason = "connection evicted in favour of a new one";
                return Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason));
            }
        };
        let Ok(user) = user else {
            open.timed_out();
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no connection context in time"));
        };
        match user? {
            Some(user) => {
                open.speaks();
                self.calls(user).await
            }
            None => Ok(()),
        }
    }

    /// Reads up to the connection context; `None` if the client closed, or is refused.
    async fn handshake(&mut self) -> io::Result<Option<Arc<str>>> {
        if !self.header().await? {
            return Ok(None);
        }
        while let Some(frame) = self.reader.next(MAX_HANDSHAKE).await? {
            match parse(frame) {
                Ok(Incoming::Sasl(message)) if !self.authenticated => {
                    self.authenticate(&message)?
                }
                Ok(Incoming::Context(context)) if self.authenticated => {
                    return Ok(Some(user(context)));
                }
                Ok(Incoming::Ping) => {}
                Ok(Incoming::Context(_)) => {
                    let fault = Fault::unauthorized("authentication has not been negotiated");
                    return Err(self.broken(&CallId::none(), &fault));
                }
                Ok(Incoming::Call { id, .. }) => {
                    // The client id is omitted: its user is unknown.
                    let id = CallId { number: id.number, ..CallId::none() };
                    let fault = Fault::invalid_header("a call before the connection context");
                    return Err(self.broken(&id, &fault));
                }
                Ok(Incoming::Sasl(_)) => {
                    let fault = Fault::invalid_header("authentication was not asked for");
                    return Err(self.broken(&CallId::none(), &fault));
                }
                Err(Broken { id, fault }) => return Err(self.broken(&id, &fault)),
            }
        }
        Ok(None)
    }

    /// Reads the bytes after the preface; `false` if the client cannot be served.
    async fn header(&mut self) -> io::Result<bool> {
        let header = self.reader.read_exact(3).await?;
        let (version, authentication) = (header[0], header[2]);
        if version != VERSION {
            match version {
                OLDEST_VERSION..VERSION => {
                    let package = self.shared.options.ipc_package;
                    self.answers.send(response::old_version_mismatch(version, package));
                }
                _ => self.answers.refuse(&CallId::none(), &Fault::ipc_version(version)),
            }
            return Ok(false);
        }
        match authentication {
            AUTH_NONE => self.authenticated = true,
            AUTH_SASL => {}
            other => {
                let fault = Fault::unauthorized(format!("unknown authentication {other:#04x}"));
                return Err(self.broken(&CallId::none(), &fault));
            }
        }
        Ok(true)
    }

    /// Handles a step of negotiation: nothing more is required.
    fn authenticate(&mut self, message: &SaslMessage) -> io::Result<()> {
        match SaslState::try_from(message.state) {
            Ok(SaslState::Negotiate) => {
                let state = SaslState::Success as i32;
                let id = CallId { number: SASL, retry: NO_RETRY, ..CallId::none() };
                let done = SaslMessage { state, ..SaslMessage::default() };
                self.answers.send(response::sasl(&id, &done));
                self.authenticated = true;
                Ok(())
            }
            // A client that starts with SIMPLE does not wait for a response.
            Ok(SaslState::Initiate) if message.auths.iter().any(|a| a.method == SIMPLE) => {
                self.authenticated = true;
                Ok(())
            }
            _ => {
                let offered: Vec<_> = message.auths.iter().map(|a| a.method.as_str()).collect();
                let fault = Fault::unauthorized(format!(
                    "{} authentication is not available, only {SIMPLE} is",
                    offered.join(", ")
                ));
                Err(self.broken(&CallId::none(), &fault))
            }
        }
    }

    async fn calls(mut self, user: Arc<str>) -> io::Result<()> {
        let options = &self.shared.options;
        loop {
            let next = self.reader.next(options.max_frame);
            let frame = match timeout(options.idle_timeout, next).await {
                Ok(frame) => frame?,
                Err(_) if self.answers.are_due() => continue,
                Err(_) => return Ok(()),
            };
            let Some(frame) = frame else { return Ok(()) };
            let received = Instant::now();
            let stats = &self.shared.stats;
            stats.bytes_in.fetch_add(frame.len() as u64, Ordering::Relaxed);
            let (id, request, body, context) = match parse(frame) {
                Ok(Incoming::Call { id, request, body, context }) => (id, request, body, context),
                Ok(Incoming::Ping) => continue,
                Ok(Incoming::Context(_) | Incoming::Sasl(_)) => {
                    let fault = Fault::invalid_header("the connection is set up already");
                    return Err(self.broken(&CallId::none(), &fault));
                }
                Err(Broken { id, fault }) => return Err(self.broken(&id, &fault)),
            };
            stats.calls.fetch_add(1, Ordering::Relaxed);
            self.answers.wait_for_room().await;
            let call = Call {
                protocol: request.protocol,
                method: request.method,
                body,
                user: Arc::clone(&user),
                id: id.client.as_ref().try_into().ok().map(|client| (client, id.number)),
                context,
                peer: self.peer,
                received,
                deadline: received + options.call_timeout,
            };
            let request = Request { id, version: request.version, call };
            dispatch::dispatch(request, self.shared, self.answers).await;
            if *self.shared.stop.borrow() {
                return Ok(());
            }
        }
    }

    /// Sends the client the reason for the connection's end, and returns it for the log.
    fn broken(&self, id: &CallId, fault: &Fault) -> io::Error {
        self.answers.refuse(id, fault);
        io::Error::new(io::ErrorKind::InvalidData, fault.message.clone())
    }
}

/// The user of a connection: the effective one, for a proxy user.
fn user(context: ConnectionContext) -> Arc<str> {
    let user = context.user.unwrap_or_default();
    Arc::from(user.effective.or(user.real).unwrap_or_default())
}
