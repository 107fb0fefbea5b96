//! Only signed headers are obeyed.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use client::CreateKey;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::{Digest, Sha1};
use testkit::{S3Answer, S3Request, S3Signer};

use crate::overwritten::gateway;
use crate::request::{ACCESS_KEY, SECRET_KEY, signer};
use crate::support::{Cluster, path};

async fn say(address: SocketAddr, head: Vec<u8>, body: &[u8]) -> S3Answer {
    S3Answer::of(address, &[head.as_slice(), body].concat()).await
}

/// The metadata of a key in OM.
async fn metadata(cluster: &Cluster, key: &str) -> Vec<(String, String)> {
    let info = cluster.client.key_info(&path(key)).await.unwrap();
    let kept = info.metadata.into_iter().filter(|entry| entry.key != "ETag");
    kept.map(|entry| (entry.key, entry.value.unwrap_or_default())).collect()
}

#[tokio::test]
async fn a_header_that_is_not_signed_is_not_obeyed() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let address = gateway.address();
    let secret = CreateKey::new(path("secret")).metadata(vec![("ETag".into(), "e".into())]);
    cluster.client.put_key(secret, Bytes::from_static(b"of others")).await.unwrap();
    let put = |line: &str| S3Request::new("PUT", "/bucket/drop").body("mine").unsigned(line);
    for line in [
        "x-amz-copy-source: /bucket/secret\r\n",
        "X-Amz-Meta-A: 1\r\n",
        "x-amz-tagging: a=b\r\n",
        "x-amz-storage-class: REDUCED_REDUNDANCY\r\n",
        "x-amz-acl: private\r\n",
    ] {
        let presigned = put(line).presigned_head(address, &signer(), 60);
        let in_header = put(line).head(address, &signer());
        for (way, head) in [("presigned", presigned), ("header", in_header)] {
            let answer = say(address, head, b"mine").await;
            let denied = (403, "AccessDenied".to_owned());
            assert_eq!(answer.outcome(), denied, "{way} {line}: {}", answer.text());
            assert!(cluster.get("drop").await.is_err(), "{way} {line}");
        }
    }
    // The signed names are those of the signature, not those added later.
    let line = "x-amz-copy-source: /bucket/secret\r\n";
    let head = String::from_utf8(put(line).head(address, &signer())).unwrap();
    for more in ["X-Amz-Copy-Source", "x-amz-copy-source"] {
        let more = head.replace(", Signature=", &format!(";{more}, Signature="));
        let answer = say(address, more.into_bytes(), b"mine").await;
        assert_eq!(answer.status, 403, "{}", answer.text());
    }
    assert!(cluster.get("drop").await.is_err());
    // The digest of the body may be added.
    let line = "x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n";
    let answer = say(address, put(line).presigned_head(address, &signer(), 60), b"mine").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let signed =
        S3Request::new("PUT", "/bucket/copy").header("x-amz-copy-source", "/bucket/secret");
    assert_eq!(signed.send(address, &signer()).await.status, 200);
    assert_eq!(cluster.get("copy").await.unwrap(), "of others");
    gateway.shutdown().await;
}

#[tokio::test]
async fn what_a_presigned_query_says_is_done() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let address = gateway.address();
    let put = |query: &str, body: &str| {
        let request = S3Request::new("PUT", &format!("/bucket/k?{query}")).body(body);
        (request.presigned_head(address, &signer(), 60), body.to_owned())
    };
    let send = async |(head, body): (Vec<u8>, String)| say(address, head, body.as_bytes()).await;
    let wrong = send(put("x-amz-checksum-crc32=AAAAAA%3D%3D", "123456789")).await;
    assert_eq!(wrong.outcome(), (400, "BadDigest".to_owned()), "{}", wrong.text());
    let class = send(put("x-amz-storage-class=NONE", "123456789")).await;
    assert_eq!(class.outcome(), (400, "InvalidStorageClass".to_owned()), "{}", class.text());
    let acl = send(put("x-amz-acl=public-read", "123456789")).await;
    assert_eq!(acl.outcome(), (501, "NotImplemented".to_owned()), "{}", acl.text());
    assert!(cluster.get("k").await.is_err());
    let query = "X-Amz-Meta-Who=me&x-amz-checksum-crc32=y%2FQ5Jg%3D%3D&x-amz-storage-class=GLACIER";
    let right = send(put(query, "123456789")).await;
    assert_eq!(right.status, 200, "{}", right.text());
    let kept = metadata(&cluster, "k").await;
    assert!(kept.contains(&("who".to_owned(), "me".to_owned())), "{kept:?}");
    let got = S3Request::new("GET", "/bucket/k").send(address, &signer()).await;
    assert_eq!(got.body, b"123456789");
    // With an Authorization header, S3 reads no headers from the query.
    let plain = S3Request::new("PUT", "/bucket/plain?x-amz-acl=public-read").body("x");
    assert_eq!(plain.send(address, &signer()).await.status, 200);
    gateway.shutdown().await;
}

#[tokio::test]
async fn the_time_of_a_request_may_be_in_its_date() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let address = gateway.address();
    let put = S3Request::new("PUT", "/bucket/k").header("x-amz-meta-a", "1").body("x").dated();
    assert_eq!(put.send(address, &signer()).await.status, 200);
    let (now, hour) = (signer(), std::time::Duration::from_secs(3600));
    for time in [now.time - hour, now.time + hour] {
        let answer = put.send(address, &S3Signer { time, ..now.clone() }).await;
        assert_eq!(answer.outcome(), (403, "RequestTimeTooSkewed".to_owned()));
    }
    let head = String::from_utf8(put.head(address, &now)).unwrap();
    let line = head.lines().find(|line| line.starts_with("date: ")).unwrap();
    // It was signed, although it is not listed.
    let second = &line[line.len() - 6..line.len() - 4];
    let other = if second == "00" { "01" } else { "00" };
    let later = head.replace(line, &format!("{}{other} GMT", &line[..line.len() - 6]));
    let later = later.replace("SignedHeaders=date;", "SignedHeaders=");
    assert_eq!(say(address, later.into_bytes(), b"x").await.status, 403);
    let none = head.replace(line, "date: yesterday");
    assert_eq!(say(address, none.into_bytes(), b"x").await.status, 400);
    gateway.shutdown().await;
}

/// HMAC-SHA1 (RFC 2104), with a key of at most one block.
fn hmac_sha1(key: &str, text: &str) -> Vec<u8> {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        block.iter_mut().zip(key.bytes()).for_each(|(pad, key)| *pad ^= key);
        block
    };
    let inner = Sha1::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha1::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

/// A request signed by Signature V2, used before 2014.
struct V2<'a> {
    method: &'a str,
    path: &'a str,
    /// Signed headers, sent as headers or in the query.
    amz: &'a [(&'a str, &'a str)],
}

impl V2<'_> {
    fn signature(&self, date: &str) -> String {
        let amz: String =
            self.amz.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let (method, path) = (self.method, self.path);
        let text = format!("{method}\n\n\n{date}\n{amz}{path}");
        BASE64.encode(hmac_sha1(SECRET_KEY, &text))
    }

    /// The head with the signature in the query, as boto3 writes it.
    fn presigned(&self, expires: u64, more: &str) -> Vec<u8> {
        let quoted = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let signature = quoted(&self.signature(&expires.to_string()));
        let amz = self.amz.iter().map(|(name, value)| format!("&{name}={}", quoted(value)));
        let query = format!(
            "AWSAccessKeyId={ACCESS_KEY}&Signature={signature}&Expires={expires}{}",
            amz.collect::<String>()
        );
        self.head(&format!("?{query}"), more)
    }

    fn in_header(&self, date: &str) -> Vec<u8> {
        let signature = self.signature(date);
        self.head("", &format!("date: {date}\r\nauthorization: AWS {ACCESS_KEY}:{signature}\r\n"))
    }

    fn head(&self, query: &str, more: &str) -> Vec<u8> {
        let (method, path) = (self.method, self.path);
        let length = if method == "PUT" { "content-length: 1\r\n" } else { "" };
        let head = format!(
            "{method} {path}{query} HTTP/1.1\r\nhost: h\r\n{length}{more}connection: close\r\n\r\n"
        );
        head.into_bytes()
    }
}

#[tokio::test]
async fn of_the_second_version_only_presigned_requests_are_served() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let address = gateway.address();
    cluster.put("k", Bytes::from_static(b"content")).await.unwrap();
    let get = V2 { method: "GET", path: "/bucket/k", amz: &[] };
    for date in ["Tue, 27 Mar 2007 19:36:42 +0000", "Sat, 28 Nov 2026 18:00:00 GMT"] {
        let answer = say(address, get.in_header(date), b"").await;
        assert_eq!(answer.outcome(), (400, "InvalidRequest".to_owned()), "{}", answer.text());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let week = 7 * 24 * 3600;
    for (expires, more, status) in [
        (now + week, "", 200),
        (now + 600, "", 200),
        (now + 600, "x-amz-meta-a: 1\r\n", 403),
        (now + 600, "x-amz-copy-source: /bucket/k\r\n", 403),
        (now + 600, "x-amz-copy-source: /bucket/\u{fc}\r\n", 403),
        (now - 10, "", 403),
        (now + 2 * week, "", 400),
        (u64::MAX, "", 400),
    ] {
        let answer = say(address, get.presigned(expires, more), b"").await;
        assert_eq!(answer.status, status, "{} s {more}: {}", expires - now, answer.text());
    }
    let amz = [("x-amz-acl", "private"), ("x-amz-meta-who", "me")];
    let put = V2 { method: "PUT", path: "/bucket/new", amz: &amz };
    let answer = say(address, put.presigned(now + 600, ""), b"x").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(metadata(&cluster, "new").await, [("who".to_owned(), "me".to_owned())]);
    let unsigned = String::from_utf8(put.presigned(now + 600, "")).unwrap();
    let unsigned = unsigned.replace("who=me", "who=you");
    assert_eq!(say(address, unsigned.into_bytes(), b"x").await.status, 403);
    gateway.shutdown().await;
}
