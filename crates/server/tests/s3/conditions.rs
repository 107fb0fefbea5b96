//! Conditional requests: what is true of the object decides, in every form of an ETag.

use testkit::S3Request;

use super::cluster::{Cluster, code};

const OTHER: &str = "\"00000000000000000000000000000000\"";

#[tokio::test]
async fn reads_heed_every_form_of_a_condition() {
    let cluster = Cluster::start().await;
    let etag = cluster.put("/bucket/k", "content").await;
    let bare = etag.trim_matches('"').to_owned();
    let weak = format!("W/{etag}");
    let (list, others) = (format!("{OTHER}, {weak}"), format!("{OTHER}, \"1\""));
    let cases = [
        ("if-match", etag.as_str(), 200),
        ("if-match", &bare, 200),
        ("if-match", "*", 200),
        ("if-match", OTHER, 412),
        ("if-none-match", &etag, 304),
        ("if-none-match", &bare, 304),
        ("if-none-match", &weak, 304),
        ("if-none-match", "*", 304),
        ("if-none-match", OTHER, 200),
        ("if-match", &list, 200),
        ("if-match", &others, 412),
        ("if-none-match", &list, 304),
        ("if-none-match", &others, 200),
        ("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT", 304),
        ("if-modified-since", "Sat, 01 Jan 2000 00:00:00 GMT", 200),
        ("if-unmodified-since", "Fri, 01 Jan 2100 00:00:00 GMT", 200),
        ("if-unmodified-since", "Sat, 01 Jan 2000 00:00:00 GMT", 412),
    ];
    for (name, value, status) in cases {
        for method in ["GET", "HEAD"] {
            let request = S3Request::new(method, "/bucket/k").header(name, value);
            let answer = cluster.send(&request).await;
            assert_eq!(answer.status, status, "{method} {name}: {value}: {}", answer.text());
            if status == 304 {
                assert!(answer.body.is_empty(), "{method} {name}: {value}: {}", answer.text());
                assert_eq!(answer.header("etag"), Some(etag.as_str()), "{method} {name}: {value}");
            }
        }
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_write_that_may_not_happen_does_not() {
    let cluster = Cluster::start().await;
    let etag = cluster.put("/bucket/k", "first").await;
    let put = |target: &str, name: &str, value: &str| {
        S3Request::new("PUT", target).header(name, value).body("second")
    };
    let cases = [
        ("/bucket/k", "if-none-match", "*", 412, "PreconditionFailed"),
        ("/bucket/k", "if-match", OTHER, 412, "PreconditionFailed"),
        ("/bucket/absent", "if-match", OTHER, 404, "NoSuchKey"),
        ("/bucket/absent", "if-match", "*", 501, "NotImplemented"),
    ];
    for (target, name, value, status, expected) in cases {
        let answer = cluster.send(&put(target, name, value)).await;
        assert_eq!(answer.outcome(), code(status, expected), "{target} {name}: {value}");
    }
    // S3 knows no other condition of a write than these two.
    let unknown = cluster.send(&put("/bucket/k", "if-none-match", &etag)).await;
    assert!(unknown.status >= 400, "{}", unknown.status);
    assert_eq!(cluster.get("/bucket/k").await, b"first");
    assert_eq!(cluster.names().await, ["k"]);
    assert_eq!(cluster.send(&put("/bucket/k", "if-match", &etag)).await.status, 200);
    assert_eq!(cluster.get("/bucket/k").await, b"second");
    assert_eq!(cluster.send(&put("/bucket/new", "if-none-match", "*")).await.status, 200);
    cluster.stop().await;
}

#[tokio::test]
async fn a_deletion_heeds_its_condition() {
    let cluster = Cluster::start().await;
    let etag = cluster.put("/bucket/k", "content").await;
    let delete = |value: &str| S3Request::new("DELETE", "/bucket/k").header("if-match", value);
    let refused = cluster.send(&delete(OTHER)).await;
    // A condition that is not heeded must be refused: ignored, it deletes what it was to protect.
    assert!(refused.status >= 400, "{}", refused.status);
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    let answer = cluster.send(&delete(&etag)).await;
    assert!([204, 501].contains(&answer.status), "{}", answer.text());
    cluster.stop().await;
}
