//! Headers that no client library sends.

use testkit::{S3Answer, S3Request};

use super::cluster::{Cluster, code};

#[tokio::test]
async fn headers_that_make_no_sense_are_refused_and_stop_nothing() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let put = || S3Request::new("PUT", "/bucket/new").body("x");
    let cases: [(&str, S3Request, u16); 11] = [
        ("metadata", put().header("x-amz-meta-k", "v".repeat(2048)), 400),
        ("an ACL", put().header("x-amz-acl", "public-read"), 501),
        ("no ACL", put().header("x-amz-acl", "x"), 501),
        ("encryption", put().header("x-amz-server-side-encryption", "AES256"), 501),
        ("a lock", put().header("x-amz-object-lock-mode", "GOVERNANCE"), 501),
        ("a class", put().header("x-amz-storage-class", "OUTPOSTS"), 400),
        ("eleven tags", put().header("x-amz-tagging", "a=&b=&c=&d=&e=&f=&g=&h=&i=&j=&k="), 400),
        ("tags that are no text", put().header("x-amz-tagging", "a=%ff"), 400),
        ("a checksum", put().header("x-amz-checksum-crc32", "AAAAAA=="), 400),
        ("no checksum", put().header("x-amz-checksum-crc32", "?"), 400),
        (
            "a customer's key",
            put().header("x-amz-server-side-encryption-customer-algorithm", "x"),
            501,
        ),
    ];
    for (what, request, status) in cases {
        let answer = cluster.send(&request).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
    }
    for source in [
        "",
        "/",
        "bucket",
        "/bucket/",
        "bucket/absent",
        "/absent/k",
        "/bucket/%ff",
        "/bucket/k?versionId=7",
        "../k",
    ] {
        let request = S3Request::new("PUT", "/bucket/new").header("x-amz-copy-source", source);
        let answer = cluster.send(&request).await;
        assert!(
            [400, 404].contains(&answer.status),
            "{source:?}: {} {}",
            answer.status,
            answer.text()
        );
    }
    let onto_itself = S3Request::new("PUT", "/bucket/k").header("x-amz-copy-source", "/bucket/k");
    assert_eq!(cluster.send(&onto_itself).await.outcome(), code(400, "InvalidRequest"));
    assert_eq!(cluster.names().await, ["k"]);
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    cluster.stop().await;
}

#[tokio::test]
async fn bytes_that_are_no_http_get_an_answer_or_an_end() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let (address, signer) = (cluster.address(), cluster.signer());
    let put = || S3Request::new("PUT", "/bucket/new").without_length();
    let raw: Vec<(&str, Vec<u8>)> = vec![
        ("a length below zero", put().unsigned("content-length: -1\r\n").head(address, &signer)),
        ("no length", put().unsigned("content-length: x\r\n").head(address, &signer)),
        (
            "two lengths",
            put().unsigned("content-length: 1\r\ncontent-length: 2\r\n").head(address, &signer),
        ),
        ("a name with a space", put().unsigned("x amz: 1\r\n").head(address, &signer)),
        ("a NUL", put().unsigned(b"x-amz-meta-k: a\0b\r\n").head(address, &signer)),
        ("a folded line", put().unsigned("x-a: 1\r\n 2\r\n").head(address, &signer)),
        (
            "a long line",
            put().unsigned(format!("x-a: {}\r\n", "v".repeat(1 << 20))).head(address, &signer),
        ),
        ("many lines", put().unsigned("x-a: 1\r\n".repeat(10_000)).head(address, &signer)),
        ("a target that is none", b"GET bucket HTTP/1.1\r\nhost: x\r\n\r\n".to_vec()),
        ("a target with a space", b"GET /bu cket HTTP/1.1\r\nhost: x\r\n\r\n".to_vec()),
        ("no host", b"GET /bucket/k HTTP/1.1\r\n\r\n".to_vec()),
        (
            "a percent alone",
            b"GET /bucket/% HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_vec(),
        ),
        (
            "no UTF-8",
            b"GET /bucket/%ff%fe HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_vec(),
        ),
    ];
    for (what, request) in raw {
        let answer = S3Answer::of(address, &request).await;
        assert!(
            (400..=431).contains(&answer.status),
            "{what}: {} {}",
            answer.status,
            answer.text()
        );
    }
    // Non-UTF-8 bytes in an unsigned header are harmless.
    for name in ["x-amz-meta-k", "range", "if-match", "x-amz-tagging", "content-type", "user-agent"]
    {
        let line = [name.as_bytes(), b": \xff\xfe\r\n"].concat();
        let head = S3Request::new("GET", "/bucket/k").unsigned(line).head(address, &signer);
        let answer = S3Answer::of(address, &head).await;
        assert!(answer.status < 500, "{name}: {} {}", answer.status, answer.text());
    }
    assert_eq!(cluster.names().await, ["k"]);
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    cluster.stop().await;
}

#[tokio::test]
async fn a_body_in_signed_chunks_is_what_it_says_or_nothing() {
    let cluster = Cluster::start().await;
    let unsigned = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
    let put = |body: &[u8], length: &str| {
        S3Request::new("PUT", "/bucket/k")
            .header("content-encoding", "aws-chunked")
            .header("x-amz-decoded-content-length", length)
            .header("x-amz-trailer", "x-amz-checksum-crc32")
            .payload(unsigned)
            .body(body)
    };
    let trailer = "x-amz-checksum-crc32:AAAAAA==";
    let cases = [
        ("a wrong checksum", format!("1\r\nx\r\n0\r\n{trailer}\r\n\r\n"), "1"),
        ("no trailer", "1\r\nx\r\n0\r\n\r\n".to_owned(), "1"),
        ("fewer bytes than told", "1\r\nx\r\n0\r\n\r\n".to_owned(), "5"),
        ("a chunk that is cut short", "5\r\nx".to_owned(), "5"),
        ("a chunk without end", "ffffffffffffffff\r\nx".to_owned(), "5"),
        ("a length that is none", "zz\r\nx\r\n0\r\n\r\n".to_owned(), "1"),
        ("no chunk at all", "plain bytes".to_owned(), "11"),
        ("a told length below zero", "1\r\nx\r\n0\r\n\r\n".to_owned(), "-1"),
        ("a told length that is none", "1\r\nx\r\n0\r\n\r\n".to_owned(), "many"),
    ];
    for (what, body, length) in cases {
        let answer = cluster.send(&put(body.as_bytes(), length)).await;
        assert!(
            (400..=411).contains(&answer.status),
            "{what}: {} {}",
            answer.status,
            answer.text()
        );
    }
    assert!(cluster.names().await.is_empty());
    // CRC-32 of "x".
    let right = "1\r\nx\r\n0\r\nx-amz-checksum-crc32:jNwWgw==\r\n\r\n";
    let answer = cluster.send(&put(right.as_bytes(), "1")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(cluster.get("/bucket/k").await, b"x");
    cluster.stop().await;
}

/// OM decides about the replication, whatever the request contains.
#[tokio::test]
async fn a_coding_that_is_not_allowed_is_refused() {
    let cluster = Cluster::start().await;
    for (method, target) in [("PUT", "/bucket/k"), ("POST", "/bucket/k?uploads")] {
        let request = S3Request::new(method, target)
            .header("x-amz-storage-class", "STANDARD_IA")
            .header("x-amz-meta-storage-config", "rs-2-1-1024k");
        let answer = cluster.send(&request).await;
        assert_eq!(answer.outcome(), code(400, "InvalidRequest"), "{method}");
    }
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}
