//! Requests as S3 clients sign them, one a connection.

use std::net::SocketAddr;
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub const ACCESS_KEY: &str = "tester";
pub const SECRET_KEY: &str = "a-secret";
const REGION: &str = "us-east-1";

/// An answer whose body has yet to come.
pub struct Answer {
    pub status: u16,
    /// What `Content-Length` says.
    pub length: usize,
    socket: BufReader<TcpStream>,
}

impl Answer {
    /// So many bytes of the body.
    pub async fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut taken = vec![0; bytes];
        self.socket.read_exact(&mut taken).await.unwrap();
        taken
    }

    /// What comes until the body or the connection ends.
    pub async fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A connection that is reset has ended, too.
        let _ = self.socket.read_to_end(&mut rest).await;
        rest
    }
}

/// Asks for `/bucket/key`.
pub async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, "GET", path, None).await
}

/// Has `/bucket/source` copied to `/bucket/key`.
pub async fn copy(address: SocketAddr, source: &str, path: &str) -> Answer {
    ask(address, "PUT", path, Some(source)).await
}

async fn ask(address: SocketAddr, method: &str, path: &str, source: Option<&str>) -> Answer {
    let request = head(address, method, path, source, "content-length: 0\r\nconnection: close\r\n");
    say(address, request.as_bytes()).await
}

/// Says this on a new connection, and waits for the head of an answer.
pub async fn say(address: SocketAddr, request: &[u8]) -> Answer {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut socket = BufReader::new(socket);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.split("content-length: ").nth(1).and_then(|l| l.split('\r').next());
    Answer { status, length: length.map_or(0, |length| length.parse().unwrap()), socket }
}

/// The signed head of a request, with more headers that are not signed.
pub fn head(
    address: SocketAddr,
    method: &str,
    path: &str,
    source: Option<&str>,
    more: &str,
) -> String {
    let time = amz_date(SystemTime::now());
    let day = &time[..8];
    // In order of their names, as they are signed.
    let mut headers = vec![
        ("host", address.to_string()),
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD".to_owned()),
        ("x-amz-date", time.clone()),
    ];
    if let Some(source) = source {
        headers.insert(2, ("x-amz-copy-source", source.to_owned()));
    }
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let signed = names.join(";");
    let lines = |end: &str| -> String {
        headers.iter().map(|(name, value)| format!("{name}:{value}{end}")).collect()
    };
    let headers = lines("\n");
    let (plain, query) = path.split_once('?').unwrap_or((path, ""));
    let query =
        if query.is_empty() || query.contains('=') { query.into() } else { format!("{query}=") };
    let canonical = format!("{method}\n{plain}\n{query}\n{headers}\n{signed}\nUNSIGNED-PAYLOAD");
    let scope = format!("{day}/{REGION}/s3/aws4_request");
    let digest = hex::encode(Sha256::digest(canonical));
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");
    let mut key = format!("AWS4{SECRET_KEY}").into_bytes();
    for part in [day, REGION, "s3", "aws4_request"] {
        key = hmac(&key, part.as_bytes());
    }
    let signature = hex::encode(hmac(&key, to_sign.as_bytes()));
    let headers = lines("\r\n");
    format!(
        "{method} {path} HTTP/1.1\r\n{headers}{more}\
         authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={signed}, \
         Signature={signature}\r\n\r\n"
    )
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|b| b ^ 0x36)).chain_update(message);
    let outer = Sha256::new().chain_update(block.map(|b| b ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().to_vec()
}

/// `20260131T235959Z`.
fn amz_date(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in years that begin in March, whose months are 153 days for five.
    let since_march = days + 719_468;
    let (era, day) = (since_march / 146_097, since_march % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (year + era * 400 + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}{month:02}{date:02}T{hour:02}{minute:02}{:02}Z", second % 60)
}
