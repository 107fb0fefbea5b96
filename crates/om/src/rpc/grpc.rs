//! The gRPC endpoint: `hadoop.ozone.OzoneManagerService/submitRequest`.
//!
//! Messages pass as bytes: the dispatcher decodes requests itself, and its answers are encoded
//! already.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes};
use framed::Code;
use futures::Stream;
use service::grpc::Incoming;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::TcpConnectInfo;

use crate::dispatch::{self, Caller, Dispatcher};

const SUBMIT: &str = "/hadoop.ozone.OzoneManagerService/submitRequest";
/// Ozone's client names its own address in this header.
const CLIENT_ADDRESS: &str = "client_ip_address";

/// Serves gRPC on `incoming` connections until `stop` is done.
pub(crate) async fn serve(
    incoming: impl Stream<Item = io::Result<Incoming>>,
    dispatcher: Arc<Dispatcher>,
    max_message: usize,
    stop: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let endpoint = GrpcService { dispatcher, max_message };
    Server::builder()
        // Detects a dead peer and closes its connection.
        .http2_keepalive_interval(Some(Duration::from_secs(60)))
        .add_service(endpoint)
        .serve_with_incoming_shutdown(incoming, stop)
        .await
}

/// Takes gRPC calls to the dispatcher.
#[derive(Clone)]
struct GrpcService {
    dispatcher: Arc<Dispatcher>,
    max_message: usize,
}

impl NamedService for GrpcService {
    const NAME: &'static str = "hadoop.ozone.OzoneManagerService";
}

type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl tower::Service<http::Request<tonic::body::Body>> for GrpcService {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Answer<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move {
            if request.uri().path() != SUBMIT {
                let status = tonic::Status::unimplemented("no such method");
                return Ok(status.into_http());
            }
            let max = endpoint.max_message;
            let mut grpc =
                Grpc::new(Raw).max_decoding_message_size(max).max_encoding_message_size(max);
            Ok(grpc.unary(Submit { dispatcher: endpoint.dispatcher }, request).await)
        })
    }
}

struct Submit {
    dispatcher: Arc<Dispatcher>,
}

impl UnaryService<Bytes> for Submit {
    type Response = Bytes;
    type Future = Answer<Result<tonic::Response<Bytes>, tonic::Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let dispatcher = Arc::clone(&self.dispatcher);
        Box::pin(async move {
            let received = Instant::now();
            let caller = Caller {
                is_om: false,
                ip: client_ip(&request),
                user: None,
                call: None,
                received,
                deadline: timeout(&request).map(|t| received + t),
            };
            let request = dispatch::decode(request.into_inner()).map_err(status)?;
            let answer = dispatcher.submit(request, caller).await;
            answer.map(tonic::Response::new).map_err(status)
        })
    }
}

/// The address the client names (an S3 gateway asks for others), or the one it has.
fn client_ip(request: &tonic::Request<Bytes>) -> IpAddr {
    let named = request.metadata().get(CLIENT_ADDRESS).and_then(|v| v.to_str().ok());
    let peer = || request.extensions().get::<TcpConnectInfo>()?.remote_addr();
    named
        .and_then(|ip| ip.parse().ok())
        .or_else(|| peer().map(|a: SocketAddr| a.ip()))
        .unwrap_or(IpAddr::from([127, 0, 0, 1]))
}

/// The client's timeout, header `grpc-timeout`.
fn timeout(request: &tonic::Request<Bytes>) -> Option<Duration> {
    let value = request.metadata().get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number.saturating_mul(3600))),
        "M" => Some(Duration::from_secs(number.saturating_mul(60))),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// Ozone's clients read INTERNAL with the name of a Java exception as "ask another OM", and leave
/// RESOURCE_EXHAUSTED to their retry policy.
fn status(status: framed::Status) -> tonic::Status {
    const EXCEPTIONS: &str = "org.apache.hadoop.ozone.om.exceptions";
    match status.code {
        Code::NotLeader => tonic::Status::internal(format!(
            "{EXCEPTIONS}.OMNotLeaderException: {}",
            status.message
        )),
        Code::Unavailable | Code::NotReady => {
            let message = format!("{EXCEPTIONS}.OMLeaderNotReadyException: {}", status.message);
            tonic::Status::internal(message)
        }
        Code::Busy => tonic::Status::resource_exhausted(status.message),
        Code::DeadlineExceeded => tonic::Status::deadline_exceeded(status.message),
        Code::Invalid => tonic::Status::invalid_argument(status.message),
        Code::NotFound => tonic::Status::not_found(status.message),
        Code::Unimplemented => tonic::Status::unimplemented(status.message),
        Code::Ok | Code::Internal => {
            tonic::Status::internal(format!("java.io.IOException: {}", status.message))
        }
    }
}

/// Messages as the bytes they are.
#[derive(Debug, Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = tonic::Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = tonic::Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, tonic::Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
