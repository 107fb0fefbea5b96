//! Requests as S3 clients sign them (AWS Signature Version 4), one per connection, including those
//! that no client library would allow.

use std::net::SocketAddr;
use std::time::SystemTime;

use sigv4::{ALGORITHM, Request, Signer, amz_date, http_date};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// A key pair and the time of the signature.
#[derive(Debug, Clone)]
pub struct S3Signer {
    /// The pair of keys.
    pub keys: Signer,
    /// The time of the signature.
    pub time: SystemTime,
}

impl S3Signer {
    /// Signs with this pair and the current time.
    pub fn new(access_key: &str, secret_key: &str) -> Self {
        Self { keys: Signer::new(access_key, secret_key), time: SystemTime::now() }
    }
}

/// A request builder.
#[derive(Debug, Clone)]
pub struct S3Request {
    method: String,
    path: String,
    query: String,
    /// Names in lower case.
    signed: Vec<(String, String)>,
    unsigned: Vec<u8>,
    body: Vec<u8>,
    payload: String,
    /// Sends the length of the body; a test may set it itself.
    says_length: bool,
    /// Sends the time in a Date header.
    is_dated: bool,
}

impl S3Request {
    /// A request for `/bucket/key?query`, percent-encoded where necessary.
    pub fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            signed: Vec::new(),
            unsigned: Vec::new(),
            body: Vec::new(),
            payload: UNSIGNED.to_owned(),
            says_length: true,
            is_dated: false,
        }
    }

    /// Adds a signed header.
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.signed.push((name.to_ascii_lowercase(), value.to_string()));
        self
    }

    /// Adds unsigned bytes among the headers, including line ends.
    pub fn unsigned(mut self, lines: impl AsRef<[u8]>) -> Self {
        self.unsigned.extend_from_slice(lines.as_ref());
        self
    }

    /// Sets the body, which the signature does not cover.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the signed value for the body: its SHA-256, or its encoding.
    pub fn payload(mut self, payload: &str) -> Self {
        self.payload = payload.to_owned();
        self
    }

    /// Sends the time in a Date header, without `x-amz-date`.
    pub fn dated(mut self) -> Self {
        self.is_dated = true;
        self
    }

    /// Omits Content-Length.
    pub fn without_length(mut self) -> Self {
        self.says_length = false;
        self
    }

    /// The signed part of the request.
    fn to_sign<'a>(
        &'a self,
        headers: &'a [(String, String)],
        query: &'a str,
        payload: &'a str,
    ) -> Request<'a> {
        Request { method: &self.method, path: &self.path, query, headers, payload }
    }

    /// The head as sent, including the empty line.
    pub fn head(&self, address: SocketAddr, signer: &S3Signer) -> Vec<u8> {
        let mut headers = vec![
            ("host".to_owned(), address.to_string()),
            ("x-amz-content-sha256".to_owned(), self.payload.clone()),
            match self.is_dated {
                true => ("date".to_owned(), http_date(signer.time)),
                false => ("x-amz-date".to_owned(), amz_date(signer.time)),
            },
        ];
        headers.extend(self.signed.iter().cloned());
        headers.sort();
        let request = self.to_sign(&headers, &self.query, &self.payload);
        let authorization =
            format!("authorization: {}\r\n", signer.keys.authorization(&request, signer.time));
        self.plain_head(&headers, &self.query, &authorization)
    }

    /// The head of an unsigned request.
    pub fn anonymous_head(&self, address: SocketAddr) -> Vec<u8> {
        let mut headers = vec![("host".to_owned(), address.to_string())];
        headers.extend(self.signed.iter().cloned());
        self.plain_head(&headers, &self.query, "")
    }

    /// The head with the signature in the query, valid for this number of seconds.
    pub fn presigned_head(&self, address: SocketAddr, signer: &S3Signer, seconds: u64) -> Vec<u8> {
        let mut headers = vec![("host".to_owned(), address.to_string())];
        headers.extend(self.signed.iter().cloned());
        headers.sort();
        let signed = self.to_sign(&headers, "", UNSIGNED).signed_headers();
        let query = format!(
            "{}{}X-Amz-Algorithm={ALGORITHM}&X-Amz-Credential={}&X-Amz-Date={}\
             &X-Amz-Expires={seconds}&X-Amz-SignedHeaders={}",
            self.query,
            if self.query.is_empty() { "" } else { "&" },
            signer.keys.credential(signer.time).replace('/', "%2F"),
            amz_date(signer.time),
            signed.replace(';', "%3B")
        );
        let signature = signer.keys.sign(&self.to_sign(&headers, &query, UNSIGNED), signer.time);
        self.plain_head(&headers, &format!("{query}&X-Amz-Signature={signature}"), "")
    }

    fn plain_head(&self, headers: &[(String, String)], query: &str, more: &str) -> Vec<u8> {
        let target = match query {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        };
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = match self.says_length {
            true => format!("content-length: {}\r\n", self.body.len()),
            false => String::new(),
        };
        let mut head =
            format!("{} {target} HTTP/1.1\r\n{lines}{more}{length}", self.method).into_bytes();
        head.extend_from_slice(&self.unsigned);
        head.extend_from_slice(b"connection: close\r\n\r\n");
        head
    }

    /// Sends the request on its own connection and waits for the complete response.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn send(&self, address: SocketAddr, signer: &S3Signer) -> S3Answer {
        let mut request = self.head(address, signer);
        request.extend_from_slice(&self.body);
        S3Answer::of(address, &request).await
    }
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct S3Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, with chunks joined.
    pub body: Vec<u8>,
}

impl S3Answer {
    /// Sends these bytes on a new connection and returns the response.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn of(address: SocketAddr, request: &[u8]) -> Self {
        let mut begun = BegunAnswer::of(address, request).await;
        let is_chunked = begun.header("transfer-encoding") == Some("chunked");
        let length = begun.header("content-length").and_then(|length| length.parse().ok());
        let (status, headers) = (begun.status, std::mem::take(&mut begun.headers));
        let body = match (is_chunked, length) {
            (true, _) => without_chunks(&begun.rest().await),
            (false, None) => begun.rest().await,
            // The response to a HEAD has the length of a body that is not sent.
            (false, Some(_)) if request.starts_with(b"HEAD ") || status == 304 => Vec::new(),
            (false, Some(length)) => begun.read(length).await,
        };
        Self { status, headers, body }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The content of the first element with this name.
    pub fn element(&self, name: &str) -> Option<String> {
        self.elements(name).into_iter().next()
    }

    /// The contents of all elements with this name, in order.
    pub fn elements(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let text = self.text();
        let after = text.split(&open).skip(1);
        after.filter_map(|rest| Some(rest.split_once(&close)?.0.to_owned())).collect()
    }

    /// The status and the error code of the document, on which clients branch.
    pub fn outcome(&self) -> (u16, String) {
        (self.status, self.element("Code").unwrap_or_default())
    }
}

/// A response whose body has not been read yet.
#[derive(Debug)]
pub struct BegunAnswer {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    socket: BufReader<TcpStream>,
}

impl BegunAnswer {
    /// Sends these bytes on a new connection and waits for the head of the response.
    ///
    /// # Panics
    /// If there is no response.
    pub async fn of(address: SocketAddr, request: &[u8]) -> Self {
        let socket = TcpStream::connect(address).await;
        let mut socket = socket.unwrap_or_else(|e| panic!("cannot connect to {address}: {e}"));
        // A server may respond and close before it has read everything.
        let _ = socket.write_all(request).await;
        let mut socket = BufReader::new(socket);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(e) => panic!("no response: {e} after {:?}", String::from_utf8_lossy(&head)),
            }
            // An interim response, a "100 Continue", is skipped.
            if head.starts_with(b"HTTP/1.1 100") && head.ends_with(b"\r\n\r\n") {
                head.clear();
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let headers = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Self { status: status.unwrap_or_else(|| panic!("no status: {head}")), headers, socket }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The value of `Content-Length`.
    pub fn length(&self) -> usize {
        self.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)
    }

    /// Reads `bytes` bytes of the body.
    ///
    /// # Panics
    /// If there are fewer.
    pub async fn read(&mut self, bytes: usize) -> Vec<u8> {
        let mut taken = vec![0; bytes];
        let read = self.socket.read_exact(&mut taken).await;
        read.unwrap_or_else(|e| panic!("no {bytes} bytes of a body: {e}"));
        taken
    }

    /// The rest, until the body or the connection ends.
    pub async fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset connection has ended, too.
        let _ = self.socket.read_to_end(&mut rest).await;
        rest
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

/// Decodes a body with `Transfer-Encoding: chunked`.
fn without_chunks(mut coded: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = coded.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&coded[..end]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok()).unwrap_or(0);
        let Some(chunk) = coded.get(end + 2..end + 2 + size).filter(|_| size > 0) else { break };
        body.extend_from_slice(chunk);
        coded = coded.get(end + 4 + size..).unwrap_or_default();
    }
    body
}
