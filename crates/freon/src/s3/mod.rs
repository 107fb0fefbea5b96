//! Common code of the S3 generators: the endpoint, credentials, and signed requests over persistent
//! connections.

use std::time::SystemTime;

use bytes::Bytes;
use clap::Args;
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sigv4::{Signer, amz_date};

pub(crate) use sigv4::sha256;

/// Maximum size of a response: errors and the documents of multipart uploads are short.
const MAX_ANSWER: usize = 1 << 20;

/// Characters that are not encoded in a path.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that are not encoded in the value of a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of the gateway.
#[derive(Debug, Clone, Args)]
pub struct S3Args {
    /// Endpoint of the S3 gateway, with http.
    #[arg(short = 'e', long, default_value = "http://localhost:9878", value_name = "URL")]
    pub endpoint: Uri,
}

/// Error of a request to the gateway.
#[derive(Debug, thiserror::Error)]
pub enum S3Error {
    /// The key pair is not set.
    #[error(
        "{0} is not set: the S3 generators sign with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )]
    NoCredentials(&'static str),
    /// The endpoint is invalid.
    #[error("{0} is not an endpoint of the form http://HOST:PORT")]
    Endpoint(Uri),
    /// The request is invalid.
    #[error("cannot build the S3 request: {0}")]
    Request(#[from] http::Error),
    /// No response.
    #[error("no response from the S3 gateway: {0}")]
    Unreachable(#[from] hyper_util::client::legacy::Error),
    /// The response was incomplete or too long.
    #[error("cannot read the response of the S3 gateway: {0}")]
    Answer(String),
    /// The gateway returned an error.
    #[error("{method} {path} failed with {status}: {text}")]
    Refused {
        /// The method.
        method: Method,
        /// Bucket and key.
        path: String,
        /// The status.
        status: http::StatusCode,
        /// The error document.
        text: String,
    },
}

/// A client of the gateway.
pub(crate) struct S3Client {
    client: Client<HttpConnector, Full<Bytes>>,
    authority: String,
    signer: Signer,
}

/// A request to the gateway.
pub(crate) struct S3Request<'a> {
    pub(crate) method: Method,
    /// Bucket and key, unencoded.
    pub(crate) path: &'a str,
    /// Names and values, unencoded.
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Bytes,
    /// SHA-256 of the body, in hexadecimal.
    pub(crate) sha256: &'a str,
}

/// A successful response.
pub(crate) struct S3Answer {
    pub(crate) etag: Option<String>,
    body: String,
}

impl S3Answer {
    /// Content of the first element with this name.
    pub(crate) fn element(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    }
}

impl S3Client {
    /// A client that signs with the pair in the environment.
    pub(crate) fn connect(args: &S3Args) -> Result<Self, S3Error> {
        let wrong = || S3Error::Endpoint(args.endpoint.clone());
        let authority = args.endpoint.authority().ok_or_else(wrong)?;
        if args.endpoint.scheme_str() != Some("http") || args.endpoint.path().len() > 1 {
            return Err(wrong());
        }
        let variable = |name| std::env::var(name).map_err(|_| S3Error::NoCredentials(name));
        let signer =
            Signer::new(variable("AWS_ACCESS_KEY_ID")?, &variable("AWS_SECRET_ACCESS_KEY")?);
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { client, authority: authority.to_string(), signer })
    }

    /// Sends a request and waits for the whole answer.
    pub(crate) async fn send(&self, request: S3Request<'_>) -> Result<S3Answer, S3Error> {
        let path = format!("/{}", utf8_percent_encode(request.path, PATH));
        let mut query: Vec<String> = request
            .query
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, QUERY)))
            .collect();
        query.sort();
        let query = query.join("&");
        let now = SystemTime::now();
        let mut headers = vec![
            (String::from("host"), self.authority.clone()),
            (String::from("x-amz-content-sha256"), request.sha256.to_owned()),
            (String::from("x-amz-date"), amz_date(now)),
        ];
        let signed = sigv4::Request {
            method: request.method.as_str(),
            path: &path,
            query: &query,
            headers: &headers,
            payload: request.sha256,
        };
        let authorization = self.signer.authorization(&signed, now);
        headers.push((String::from("authorization"), authorization));
        let separator = if query.is_empty() { "" } else { "?" };
        let uri = format!("http://{}{path}{separator}{query}", self.authority);
        let mut message = Request::builder().method(&request.method).uri(uri);
        for (name, value) in headers {
            message = message.header(name, value);
        }
        let message = message.body(Full::new(request.body))?;
        let answer = self.client.request(message).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|e| S3Error::Answer(e.to_string()))?.to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        // A CompleteMultipartUpload may return 200 with an error document.
        if !head.status.is_success() || body.contains("<Error>") {
            let (method, path) = (request.method, request.path.to_owned());
            let refused = S3Error::Refused { method, path, status: head.status, text: body };
            return Err(refused);
        }
        let etag = head.headers.get(http::header::ETAG);
        let etag = etag.and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        Ok(S3Answer { etag, body })
    }
}
