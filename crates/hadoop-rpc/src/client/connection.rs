//! One connection of a client, and the callers that wait for responses.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use parking_lot::Mutex;
use prost::Message;
use prost::encoding::encode_varint;
use rustc_hash::FxHashMap;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Attempt, CallError, ClientOptions, Inner};
use crate::fault::Fault;
use crate::frame::{FrameReader, LENGTH, delimited, encode, frame_length, next_message};
use crate::message::{
    CONTEXT, CallHeader, ConnectionContext, FINAL_PACKET, KIND_PROTOBUF, NO_RETRY, PING,
    RequestHeader, ResponseHeader, ResponseStatus, SASL, SIMPLE, SaslAuth, SaslMessage, SaslState,
    UserInformation,
};
use crate::response::{self, Response};
use crate::write::{BatchWriter, OutFrame};
use crate::{PREFACE, VERSION};

/// The outcome delivered to a waiting call.
enum Told {
    Answer(Result<Bytes, Fault>),
    Lost(Arc<str>),
}

type Waiting = FxHashMap<i32, oneshot::Sender<Told>>;

/// A connection. It ends when its client drops it, or after its idle timeout.
pub(super) struct Connection {
    out: mpsc::UnboundedSender<OutFrame>,
    /// `None` once nothing can be sent any more.
    waiting: Mutex<Option<Waiting>>,
}

/// Outcome of an attempt to send a call.
pub(super) enum Begun<'a> {
    Sent(Pending<'a>),
    Closed,
}

/// A call that waits for its response, until it is dropped.
pub(super) struct Pending<'a> {
    connection: &'a Connection,
    call: i32,
    answer: oneshot::Receiver<Told>,
}

impl Connection {
    pub(super) fn is_alive(&self) -> bool {
        self.waiting.lock().is_some()
    }

    pub(super) fn begin(&self, call: i32, frame: OutFrame) -> Begun<'_> {
        let mut waiting = self.waiting.lock();
        let Some(calls) = waiting.as_mut() else { return Begun::Closed };
        // The writer ends only after `waiting` was taken, so this arrives.
        if self.out.send(frame).is_err() {
            return Begun::Closed;
        }
        let (told, answer) = oneshot::channel();
        calls.insert(call, told);
        Begun::Sent(Pending { connection: self, call, answer })
    }

    fn fail(&self, tell: impl Fn() -> Told) {
        let Some(waiting) = self.waiting.lock().take() else { return };
        for (_, call) in waiting {
            // Fails if the caller no longer waits.
            let _ = call.send(tell());
        }
    }

    /// Closes the connection if no call waits; returns `true` if it is closed.
    fn close_if_idle(&self) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.as_ref().is_none_or(|calls| calls.is_empty()) {
            *waiting = None;
        }
        waiting.is_none()
    }
}

impl Pending<'_> {
    pub(super) async fn answer(mut self, address: &Arc<str>) -> Result<Bytes, CallError> {
        let address = Arc::clone(address);
        match (&mut self.answer).await {
            Ok(Told::Answer(Ok(body))) => Ok(body),
            Ok(Told::Answer(Err(fault))) => Err(CallError::Refused { address, fault }),
            Ok(Told::Lost(reason)) => Err(CallError::Lost { address, reason }),
            Err(_) => Err(CallError::Lost { address, reason: "the call was replaced".into() }),
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.answer.close();
        if let Some(waiting) = self.connection.waiting.lock().as_mut() {
            // Another attempt of the same call may have replaced this one.
            if waiting.get(&self.call).is_some_and(oneshot::Sender::is_closed) {
                waiting.remove(&self.call);
            }
        }
    }
}

fn header(call_id: i32, retry: i32, client_id: Bytes) -> CallHeader {
    CallHeader {
        kind: Some(KIND_PROTOBUF),
        operation: Some(FINAL_PACKET),
        call_id,
        client_id,
        retry_count: Some(retry),
        caller_context: None,
    }
}

/// The frame of a call.
pub(super) fn call_frame(inner: &Inner, attempt: Attempt, method: &str, body: Bytes) -> OutFrame {
    let header = header(attempt.call, attempt.retry, inner.identity.id.clone());
    let request = RequestHeader {
        method: method.to_owned(),
        protocol: inner.protocol.clone(),
        version: inner.version,
    };
    let lengths = (header.encoded_len(), request.encoded_len());
    let length = delimited(lengths.0) + delimited(lengths.1) + delimited(body.len());
    let mut head = BytesMut::with_capacity(LENGTH + length - body.len());
    head.put_i32(frame_length(length));
    encode_varint(lengths.0 as u64, &mut head);
    header.encode_raw(&mut head);
    encode_varint(lengths.1 as u64, &mut head);
    request.encode_raw(&mut head);
    encode_varint(body.len() as u64, &mut head);
    OutFrame { head: head.freeze(), body }
}

/// Connects, and sends the caller's user.
pub(super) async fn open(inner: &Inner) -> Result<Arc<Connection>, CallError> {
    let connecting = timeout(inner.options.connect_timeout, greet(inner));
    let connected = match connecting.await {
        Ok(connected) => connected,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "connecting timed out")),
    };
    let address = || Arc::clone(&inner.address);
    let (reader, write) =
        connected.map_err(|source| CallError::Connect { address: address(), source })?;
    let (out, frames) = mpsc::unbounded_channel();
    let connection = Arc::new(Connection { out, waiting: Mutex::new(Some(Waiting::default())) });
    // The tasks hold the connection weakly: it ends when the client drops it.
    let weak = Arc::downgrade(&connection);
    let (id, max_frame) = (inner.identity.id.clone(), inner.options.max_frame);
    let reading = tokio::spawn(async move {
        let reason = match read(reader, &weak, &id, max_frame).await {
            Ok(()) => "the server closed the connection".into(),
            Err(e) => Arc::from(e.to_string()),
        };
        if let Some(connection) = weak.upgrade() {
            connection.fail(|| Told::Lost(Arc::clone(&reason)));
        }
    });
    let weak = Arc::downgrade(&connection);
    let (id, options) = (inner.identity.id.clone(), inner.options.clone());
    tokio::spawn(async move {
        if let Err(e) = write_calls(write, frames, &weak, id, &options).await
            && let Some(connection) = weak.upgrade()
        {
            let reason = Arc::from(e.to_string());
            connection.fail(|| Told::Lost(Arc::clone(&reason)));
        }
        reading.abort();
    });
    Ok(connection)
}

async fn greet(inner: &Inner) -> io::Result<(FrameReader<OwnedReadHalf>, OwnedWriteHalf)> {
    let socket = TcpStream::connect(&*inner.address).await?;
    socket.set_nodelay(true)?;
    let (read, mut write) = socket.into_split();
    let mut reader = FrameReader::new(read);
    let negotiate = inner.options.negotiate;
    let mut hello = BytesMut::from(&PREFACE[..]);
    hello.extend_from_slice(&[VERSION, 0, if negotiate { 0xdf } else { 0 }]);
    if negotiate {
        let state = SaslState::Negotiate as i32;
        let ask = SaslMessage { state, ..SaslMessage::default() };
        hello.extend_from_slice(&encode(&[&header(SASL, NO_RETRY, Bytes::new()), &ask]));
        write.write_all(&hello).await?;
        hello.clear();
        hello.extend_from_slice(&negotiated(&mut reader, inner.options.max_frame).await?);
    }
    let context = ConnectionContext {
        user: Some(UserInformation { effective: Some(inner.user.clone()), real: None }),
        protocol: Some(inner.protocol.clone()),
    };
    let header = header(CONTEXT, NO_RETRY, inner.identity.id.clone());
    hello.extend_from_slice(&encode(&[&header, &context]));
    write.write_all(&hello).await?;
    Ok((reader, write))
}

/// Reads the server's authentication methods; returns the frame to send before the context.
async fn negotiated(
    reader: &mut FrameReader<OwnedReadHalf>,
    max_frame: usize,
) -> io::Result<BytesMut> {
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    let frame = reader.next(max_frame).await?;
    let mut frame = frame.ok_or(io::ErrorKind::UnexpectedEof)?;
    let head: ResponseHeader = next_message(&mut frame).map_err(|e| invalid(e.to_string()))?;
    if head.status != ResponseStatus::Success as i32 {
        let reason = head.message.unwrap_or_else(|| "the server refuses to negotiate".to_owned());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    let answer: SaslMessage = next_message(&mut frame).map_err(|e| invalid(e.to_string()))?;
    match SaslState::try_from(answer.state) {
        Ok(SaslState::Success) => Ok(BytesMut::new()),
        Ok(SaslState::Negotiate) if answer.auths.iter().any(|a| a.method == SIMPLE) => {
            let chosen = SaslAuth { method: SIMPLE.to_owned(), mechanism: String::new() };
            let begin = SaslMessage {
                state: SaslState::Initiate as i32,
                auths: vec![chosen],
                ..SaslMessage::default()
            };
            Ok(encode(&[&header(SASL, NO_RETRY, Bytes::new()), &begin]))
        }
        _ => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the server requires an authentication that this client does not support",
        )),
    }
}

async fn read(
    mut reader: FrameReader<OwnedReadHalf>,
    connection: &Weak<Connection>,
    client: &Bytes,
    max_frame: usize,
) -> io::Result<()> {
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    while let Some(frame) = reader.next(max_frame).await? {
        let response = response::parse(frame).map_err(|e| invalid(e.to_string()))?;
        let Some(connection) = connection.upgrade() else { return Ok(()) };
        let Response { call, client: named, result } = response;
        if !named.is_empty() && named != *client {
            return Err(invalid("a response for another client".to_owned()));
        }
        if let Err(fault) = &result
            && fault.code.is_fatal()
        {
            connection.fail(|| Told::Answer(Err(fault.clone())));
            return Ok(());
        }
        let waiting = connection.waiting.lock().as_mut().and_then(|w| w.remove(&call));
        if let Some(waiting) = waiting {
            // Fails if the caller no longer waits.
            let _ = waiting.send(Told::Answer(result));
        }
    }
    Ok(())
}

/// Writes calls until the client drops the connection, or its idle timeout; sends a ping at
/// intervals while the client waits for responses.
async fn write_calls(
    mut socket: OwnedWriteHalf,
    mut calls: mpsc::UnboundedReceiver<OutFrame>,
    connection: &Weak<Connection>,
    client: Bytes,
    options: &ClientOptions,
) -> io::Result<()> {
    let ping = encode(&[&header(PING, NO_RETRY, client)]).freeze();
    let mut batch = BatchWriter::default();
    let mut last_call = Instant::now();
    let mut last_write = last_call;
    // Checked at half the interval, so that it is exceeded only slightly.
    let round = (options.ping_interval.min(options.idle_timeout) / 2).max(Duration::from_millis(1));
    loop {
        match timeout_at(Instant::now() + round, calls.recv()).await {
            Ok(Some(call)) => {
                batch.add(call, &mut socket).await?;
                while !batch.is_full() {
                    let Ok(call) = calls.try_recv() else { break };
                    batch.add(call, &mut socket).await?;
                }
                batch.flush(&mut socket).await?;
                last_call = Instant::now();
                last_write = last_call;
            }
            Ok(None) => break,
            Err(_) => {
                let now = Instant::now();
                if now.duration_since(last_call) >= options.idle_timeout {
                    let idle = connection.upgrade().is_none_or(|c| c.close_if_idle());
                    if idle {
                        break;
                    }
                }
                if now.duration_since(last_write) >= options.ping_interval {
                    socket.write_all(&ping).await?;
                    last_write = now;
                }
            }
        }
    }
    socket.shutdown().await
}
