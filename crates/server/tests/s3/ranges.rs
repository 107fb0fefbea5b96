//! Ranges: existing bytes are served, others are rejected.

use testkit::S3Request;

use super::cluster::{Cluster, code, data};

#[tokio::test]
async fn a_range_is_cut_to_the_object_or_refused() {
    let cluster = Cluster::start().await;
    let body = data(100_000);
    cluster.put("/bucket/k", body.clone()).await;
    let range = |text: &str| S3Request::new("GET", "/bucket/k").header("range", text);
    for (text, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99999", 0, 100_000),
        ("bytes=16383-16384", 16_383, 16_385),
        ("bytes=99999-", 99_999, 100_000),
        ("bytes=5-9223372036854775807", 5, 100_000),
        ("bytes=-1", 99_999, 100_000),
        ("bytes=-100000", 0, 100_000),
        ("bytes=-18446744073709551615", 0, 100_000),
    ] {
        let answer = cluster.send(&range(text)).await;
        assert_eq!(answer.status, 206, "{text}: {}", answer.text());
        assert!(answer.body == body[from..to], "{text}: {} bytes", answer.body.len());
        let told = format!("bytes {from}-{}/100000", to - 1);
        assert_eq!(answer.header("content-range"), Some(told.as_str()), "{text}");
        let head = S3Request::new("HEAD", "/bucket/k").header("range", text);
        let head = cluster.send(&head).await;
        assert_eq!((head.status, head.header("content-range")), (206, Some(told.as_str())));
    }
    for text in ["bytes=100000-", "bytes=100000-100001", "bytes=-0"] {
        let answer = cluster.send(&range(text)).await;
        assert_eq!(answer.outcome(), code(416, "InvalidRange"), "{text}");
        assert_eq!(answer.header("content-range"), Some("bytes */100000"), "{text}");
    }
    // A server may reject an invalid range (RFC 9110, 14.2), but never serve another one.
    for text in ["bytes=5-3", "bytes=0-1,3-4", "bytes=", "bytes=a-b", "lines=0-1", "bytes", "0-1"] {
        let answer = cluster.send(&range(text)).await;
        assert_eq!(answer.outcome(), code(400, "InvalidArgument"), "{text}");
    }
    let both = S3Request::new("GET", "/bucket/k?partNumber=1").header("range", "bytes=0-0");
    assert_eq!(cluster.send(&both).await.outcome(), code(400, "InvalidRequest"));
    cluster.stop().await;
}

#[tokio::test]
async fn an_empty_object_has_no_range() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/empty", "").await;
    for text in ["bytes=0-", "bytes=0-0"] {
        let request = S3Request::new("GET", "/bucket/empty").header("range", text);
        assert_eq!(cluster.send(&request).await.outcome(), code(416, "InvalidRange"), "{text}");
    }
    let answer = cluster.ask("GET", "/bucket/empty").await;
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("0")));
    cluster.stop().await;
}
