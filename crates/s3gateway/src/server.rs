//! The HTTP server: sockets, request ids, metrics, and the checks that must precede `s3s`.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use client::Client;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use limits::{ConnectionOptions, Connections, Guarded, MemoryBudget};
use s3s::access::{S3Access, S3AccessContext};
use s3s::service::S3Service;
use s3s::{Body, S3Error, S3ErrorCode, S3Result};
use service::{Counter, RpcMetrics, Shutdown};
use tokio::net::TcpListener;

use crate::chunked::SmallChunks;
use crate::digest::{BodyDigest, Claims};
use crate::document;
use crate::errors::{not_implemented, too_large_a_document};
use crate::watched::{BodyFault, SCARCE_GRACE, Slowest, Uploader, WatchedBody};
use crate::{announced, chunked, owner, signed, target};

/// Maximum size of a request body that is a document rather than an object.
pub(crate) const LARGEST_DOCUMENT: usize = 8 << 20;

/// Maximum size of a connection's read buffer.
const READ_BUFFER: usize = 128 << 10;

/// Maximum number of concurrent requests of an HTTP/2 connection.
const MOST_STREAMS: u32 = 100;

/// Operation name in metrics before it is resolved.
const UNKNOWN: &str = "Unknown";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");
/// The client's span in the format of W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const HOST_ID: HeaderName = HeaderName::from_static("x-amz-id-2");

/// The name of the operation resolved by `s3s`, for the metrics.
#[derive(Clone, Default)]
pub(crate) struct OperationName(Arc<OnceLock<String>>);

/// Admits every signed request whose bucket owners match its headers, and records its operation.
pub(crate) struct Access {
    pub(crate) client: Client,
    pub(crate) volume: String,
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        let name = cx.s3_op().name().to_owned();
        telemetry::name_request(known_name(&name));
        if let Some(operation) = cx.extensions_mut().get::<OperationName>() {
            let _ = operation.0.set(name);
        }
        let Some(credentials) = cx.credentials() else {
            return Err(S3Error::with_message(S3ErrorCode::AccessDenied, "Access Denied"));
        };
        let client = self.client.on_behalf_of(&credentials.access_key);
        if let Some(uploader) = cx.extensions_mut().get::<Uploader>() {
            uploader.is(&client);
        }
        owner::check(&client, &self.volume, cx.s3_path(), cx.headers()).await
    }
}

/// Metrics of a server.
#[derive(Clone)]
pub(crate) struct ServerMetrics {
    pub(crate) rpc: RpcMetrics,
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
}

/// Accepts requests and passes them to `s3s`.
#[derive(Clone)]
pub(crate) struct S3Server {
    pub(crate) service: S3Service,
    pub(crate) metrics: ServerMetrics,
    pub(crate) edge: telemetry::Edge,
    /// The same for all responses of this gateway.
    pub(crate) host_id: HeaderValue,
    /// Idle timeouts of connections.
    pub(crate) limits: ConnectionOptions,
    /// Minimum transfer rate of bodies in bytes per second.
    pub(crate) minimum_upload_rate: u64,
    /// The open connections.
    pub(crate) connections: Arc<Connections>,
    /// Memory budget of uploads.
    pub(crate) memory: Option<MemoryBudget>,
}

impl S3Server {
    /// Serves until shutdown, then waits up to `timeout` for requests in flight.
    pub(crate) async fn serve(self, listener: TcpListener, shutdown: Shutdown, timeout: Duration) {
        let graceful = GracefulShutdown::new();
        let mut server = auto::Builder::new(TokioExecutor::new());
        server
            .http1()
            .timer(TokioTimer::new())
            .max_buf_size(READ_BUFFER)
            .header_read_timeout(self.limits.stall_timeout);
        server.http2().timer(TokioTimer::new()).max_concurrent_streams(MOST_STREAMS);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = shutdown.cancelled() => break,
            };
            let (socket, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Most likely out of file descriptors: an immediate retry would not help.
                    tracing::warn!(%error, "cannot accept connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Some(open) = self.connections.open(peer.ip()) else {
                tracing::debug!(%peer, "connection refused: too many connections");
                continue;
            };
            let _ = socket.set_nodelay(true);
            let socket = Guarded::new(socket, open, &self.limits);
            let this = self.clone();
            let answer = hyper::service::service_fn(move |request| {
                let this = this.clone();
                async move { Ok::<_, Infallible>(this.answer(request, peer).await) }
            });
            let connection = server.serve_connection(TokioIo::new(socket), answer).into_owned();
            let watched = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = watched.await {
                    tracing::debug!(%peer, %error, "connection ended");
                }
            });
        }
        drop(listener);
        if tokio::time::timeout(timeout, graceful.shutdown()).await.is_err() {
            tracing::warn!("shutdown aborted requests in flight");
        }
    }

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let received = Instant::now();
        let parent = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
        let mut span = self.edge.http_request(parent, received);
        span.run(pin!(self.carry_out(request, peer, received))).await
    }

    async fn carry_out(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        received: Instant,
    ) -> Response<Body> {
        let id = uuid::Uuid::now_v7().simple().to_string();
        let operation = OperationName::default();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let expected_in = request.body().size_hint().exact().unwrap_or(0);
        let asks_first = request.headers().contains_key(http::header::EXPECT);
        let speaks_http1 = request.version() < http::Version::HTTP_2;
        let fault = BodyFault::default();
        let mut response = match self.prepare(request, peer, &operation, &fault) {
            Ok(request) => match self.service.call(request).await {
                Ok(response) => response,
                Err(error) => refused(S3Error::with_source(
                    S3ErrorCode::InternalError,
                    Box::new(std::io::Error::other(format!("{error:?}"))),
                )),
            },
            Err(error) => refused(error),
        };
        // The fault of the body is more specific than the aborted stream.
        let wrong = fault.take();
        let is_cut_short = wrong.is_some();
        if let Some(error) = wrong {
            response = refused(error);
        }
        document::make_well_formed(&mut response);
        // `s3s` sets it for a GET only.
        let is_partial = response.headers().contains_key(http::header::CONTENT_RANGE);
        if method == Method::HEAD && response.status() == StatusCode::OK && is_partial {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        }
        let status = response.status();
        let name = operation.0.get().map_or(UNKNOWN, String::as_str);
        let mut call = self.metrics.rpc.call(known_name(name), received);
        call.started();
        call.finish(!status.is_server_error());
        self.metrics.bytes_in.inc_by(expected_in);
        self.metrics.bytes_out.inc_by(response.body().size_hint().exact().unwrap_or(0));
        tracing::debug!(%peer, request = %id, %method, path, operation = name, status = status.as_u16(),
            micros = received.elapsed().as_micros() as u64, "answered");
        let headers = response.headers_mut();
        // A client that sent `Expect: 100-continue` and got a final response (there was no body to
        // wait for, or it was refused) must not reuse the connection: botocore misreads the next
        // response.
        let is_left = asks_first && (expected_in == 0 || !status.is_success());
        if speaks_http1 && (is_left || is_cut_short) {
            headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(HOST_ID, self.host_id.clone());
        headers.insert(http::header::SERVER, HeaderValue::from_static("Trioxide"));
        response
    }

    /// Wraps the body in a watcher that acts as it is read, after the signature check. Digests of a
    /// document are verified then: `s3s` parses documents without checking them. An aws-chunked
    /// body is split into small chunks.
    fn prepare(
        &self,
        mut request: Request<Incoming>,
        peer: SocketAddr,
        operation: &OperationName,
        fault: &BodyFault,
    ) -> S3Result<Request<Body>> {
        let uploader = Uploader::default();
        request.extensions_mut().insert(operation.clone());
        request.extensions_mut().insert(uploader.clone());
        if is_form(&request) {
            return Err(not_implemented("POST of a form"));
        }
        target::check(&request)?;
        signed::check(&mut request)?;
        announced::check(request.headers())?;
        let slowest = Slowest {
            stall: self.limits.stall_timeout,
            scarce: SCARCE_GRACE,
            rate: self.minimum_upload_rate,
            memory: self.memory.clone().map(|memory| (memory, uploader)),
        };
        if request.body().is_end_stream() {
            return Ok(request.map(Body::from));
        }
        let watched = |body| WatchedBody::new(body, slowest.clone(), fault.clone());
        if !is_document(&request) {
            if !chunked::is_chunked(request.headers()) {
                return Ok(request.map(|body| Body::http_body(watched(body))));
            }
            let budget = self.memory.clone().map(|memory| (memory, MemoryBudget::key(&peer.ip())));
            let small = |body| SmallChunks::new(watched(body), budget, fault.clone());
            return Ok(request.map(|body| Body::http_body(small(body))));
        }
        // `s3s` accepts none of them: it compares their length with 0.
        if chunked::is_chunked(request.headers()) {
            return Err(not_implemented("a document in aws-chunks"));
        }
        let most = LARGEST_DOCUMENT as u64;
        if request.body().size_hint().lower() > most {
            return Err(too_large_a_document());
        }
        let watched = |body| watched(body).of_document(most);
        // The request that completes an upload has the checksum of the object, not its own.
        let claims = match names(&request).any(|name| name == "uploadId") {
            true => Claims::of_headers_besides_checksum(request.headers())?,
            false => Claims::of_headers(request.headers())?,
        };
        let digest = (!claims.is_empty()).then(|| BodyDigest::new(claims));
        Ok(request.map(|body| {
            Body::http_body(match digest {
                Some(digest) => watched(body).verified_by(digest),
                None => watched(body),
            })
        }))
    }
}

/// Returns `true` for a browser form, which `s3s` would read before it has authenticated the user.
fn is_form<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    *request.method() == Method::POST
        && kind.trim_start().to_ascii_lowercase().starts_with("multipart/form-data")
}

/// Returns `true` for an XML body: that of any POST, and of a PUT to a sub-resource other than a
/// part of an upload.
fn is_document<B>(request: &Request<B>) -> bool {
    match *request.method() {
        Method::POST => names(request).any(|name| name == "delete" || name == "uploadId"),
        Method::PUT => names(request).any(|name| name == "tagging"),
        _ => false,
    }
}

/// The names in a request's query, decoded as in `s3s`.
fn names<B>(request: &Request<B>) -> impl Iterator<Item = Cow<'_, str>> {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').map(|pair| target::decoded(pair.split('=').next().unwrap_or_default()))
}

fn refused(error: S3Error) -> Response<Body> {
    error.to_http_response().unwrap_or_else(|_| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

/// Operation names become permanent metric labels, so the set is bounded: the supported operations,
/// and one name for all others.
fn known_name(name: &str) -> &'static str {
    const KNOWN: [&str; 26] = [
        "ListBuckets",
        "CreateBucket",
        "HeadBucket",
        "GetBucketLocation",
        "GetBucketVersioning",
        "DeleteBucket",
        "ListObjects",
        "ListObjectsV2",
        "ListObjectVersions",
        "PutObject",
        "GetObject",
        "HeadObject",
        "CopyObject",
        "DeleteObject",
        "DeleteObjects",
        "GetObjectAttributes",
        "GetObjectTagging",
        "PutObjectTagging",
        "DeleteObjectTagging",
        "CreateMultipartUpload",
        "UploadPart",
        "UploadPartCopy",
        "CompleteMultipartUpload",
        "AbortMultipartUpload",
        "ListParts",
        "ListMultipartUploads",
    ];
    KNOWN.into_iter().find(|known| *known == name).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_told_from_an_object_however_its_query_is_written() {
        for (method, query, expected) in [
            (Method::POST, "delete", true),
            (Method::POST, "x-id=DeleteObjects&%64elete=", true),
            (Method::POST, "upload%49d=x", true),
            (Method::POST, "uploads", false),
            (Method::PUT, "taggin%67", true),
            (Method::PUT, "partNumber=1&uploadId=x", false),
            (Method::GET, "tagging", false),
        ] {
            let request = Request::builder().method(method).uri(format!("/bucket/key?{query}"));
            assert_eq!(is_document(&request.body(()).unwrap()), expected, "{query}");
        }
    }
}
