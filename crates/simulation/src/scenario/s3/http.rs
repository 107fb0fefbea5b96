//! One request of an S3 client, on a connection of its own, and its outcome.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use testkit::{S3Request, S3Signer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::node::address;
use crate::world::world;

/// Port of gateways.
const PORT: u16 = 9878;
/// Time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A key pair.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The access key id.
    pub id: String,
    /// The secret key.
    pub secret: String,
}

/// Outcome of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// There was no connection: nothing was sent.
    NotSent,
    /// It may have been carried out, or may still be.
    Unknown,
    /// The gateway's answer, as a whole.
    Answer(Answer),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The ETag, without quotes.
    pub fn e_tag(&self) -> Option<String> {
        self.header("etag").map(|tag| tag.trim_matches('"').to_owned())
    }

    /// Text of all elements of this name, in their order, without quotes.
    pub fn elements(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let text = String::from_utf8_lossy(&self.body).replace("&quot;", "").replace('"', "");
        let after = text.split(&open).skip(1);
        after.filter_map(|rest| Some(rest.split_once(&close)?.0.to_owned())).collect()
    }

    /// Text of the first element of this name.
    pub fn element(&self, name: &str) -> Option<String> {
        self.elements(name).into_iter().next()
    }

    /// The error code that the document names.
    pub fn code(&self) -> String {
        self.element("Code").unwrap_or_default()
    }
}

/// A request of an S3 client.
#[derive(Debug, Clone)]
pub struct Request {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Request {
    /// A request of `/bucket/key?query`.
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body: Bytes::new() }
    }

    /// With a header.
    pub fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    /// With a body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it to the gateway on a machine.
    pub async fn send(&self, gateway: usize, credentials: &Credentials) -> Outcome {
        let Ok(at) = format!("{}:{PORT}", address(gateway)).parse() else {
            return Outcome::NotSent;
        };
        let connected = tokio::time::timeout(TIMEOUT, TcpStream::connect(at)).await;
        let Ok(Ok(socket)) = connected else { return Outcome::NotSent };
        let head = self.head(at, gateway, credentials);
        let exchange = self.exchange(socket, &head);
        let answer = tokio::time::timeout(TIMEOUT, exchange).await.ok().flatten();
        match answer {
            // It may have been executed although the gateway had no response in time. A slow body
            // is abandoned, perhaps after the gateway had read all of it.
            Some(answer) if answer.status >= 500 || answer.code() == "RequestTimeout" => {
                tracing::debug!(request = ?self.target, status = answer.status, code = answer.code(), "no outcome");
                Outcome::Unknown
            }
            Some(answer) => Outcome::Answer(answer),
            None => Outcome::Unknown,
        }
    }

    fn head(&self, at: SocketAddr, gateway: usize, credentials: &Credentials) -> Vec<u8> {
        let mut signer = S3Signer::new(&credentials.id, &credentials.secret);
        // As clients do that find by an answer that their clock is not the gateway's.
        let ahead = world().machines[gateway].clock.offset;
        let offset = Duration::from_nanos(ahead.unsigned_abs());
        signer.time = match ahead < 0 {
            true => SystemTime::now() - offset,
            false => SystemTime::now() + offset,
        };
        let request = S3Request::new(self.method, &self.target).body(self.body.as_ref());
        let add = |request: S3Request, (name, value): &(&str, String)| request.header(name, value);
        self.headers.iter().fold(request, add).head(at, &signer)
    }

    /// `None` if the response is incomplete.
    async fn exchange(&self, mut socket: TcpStream, head: &[u8]) -> Option<Answer> {
        // A gateway may answer and close before it has read all.
        let sent = async {
            socket.write_all(head).await?;
            socket.write_all(&self.body).await
        };
        let _ = sent.await;
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).await.ok()?;
        self.parse(&bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Option<Answer> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
        let rest = bytes.get(end + 4..)?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let header =
            |(name, value): (&str, &str)| (name.to_ascii_lowercase(), value.trim().to_owned());
        let headers = lines.map(header).collect();
        let mut answer = Answer { status, headers, body: Bytes::new() };
        let has_none = self.method == "HEAD" || matches!(status, 204 | 304);
        let is_chunked = answer.header("transfer-encoding") == Some("chunked");
        answer.body = match (has_none, is_chunked) {
            (true, _) => Bytes::new(),
            (false, true) => without_chunks(rest)?.into(),
            (false, false) => {
                let length: usize = answer.header("content-length")?.parse().ok()?;
                Bytes::copy_from_slice(rest.get(..length)?)
            }
        };
        Some(answer)
    }
}

/// The body of `Transfer-Encoding: chunked`; `None` if it is truncated.
fn without_chunks(mut coded: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = coded.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(coded.get(..end)?).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(coded.get(end + 2..end + 2 + size)?);
        coded = coded.get(end + 4 + size..)?;
    }
}
