//! Conditional requests: the object's state decides, for every form of an ETag.

use client::Precondition;
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
    // S3 has no other condition of a write than these two.
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
    assert_eq!(refused.outcome(), code(412, "PreconditionFailed"));
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    let answer = cluster.send(&delete(&etag)).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(cluster.send(&delete(&etag)).await.outcome(), code(404, "NoSuchKey"));
    cluster.put("/bucket/k", "content").await;
    assert_eq!(cluster.send(&delete("*")).await.status, 204);
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}

/// OM decides at the deletion: a version acknowledged after the gateway's check is kept.
#[tokio::test]
async fn a_deletion_of_an_older_version_takes_no_newer_one() {
    let cluster = Cluster::start().await;
    let path = client::KeyPath::new("s3v", "bucket", "k");
    let old = cluster.put("/bucket/k", "old").await.trim_matches('"').to_owned();
    let generation = cluster.client().key_info(&path).await.unwrap().update_id();
    cluster.put("/bucket/k", "new").await;
    for looked_at in [Precondition::ETag(old), Precondition::Generation(generation)] {
        cluster.client().delete_key_if(&path, &looked_at).await.unwrap_err();
        assert_eq!(cluster.get("/bucket/k").await, b"new", "{looked_at:?}");
    }
    // Through the gateway: in either order, the acknowledged object exists.
    for round in 0..50 {
        let target = format!("/bucket/raced{round}");
        let old = cluster.put(&target, "old").await;
        let delete = S3Request::new("DELETE", &target).header("if-match", &old);
        let put = S3Request::new("PUT", &target).body("new");
        let (deleted, put) = tokio::join!(cluster.send(&delete), cluster.send(&put));
        assert_eq!(put.status, 200, "{}", put.text());
        assert!([204, 404, 412].contains(&deleted.status), "{}", deleted.text());
        assert_eq!(cluster.get(&target).await, b"new", "round {round}: {}", deleted.status);
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_copy_heeds_the_conditions_on_what_it_replaces() {
    let cluster = Cluster::start().await;
    let etag = cluster.put("/bucket/to", "mine").await;
    cluster.put("/bucket/from", "other").await;
    let copy = |target: &str, name: &str, value: &str| {
        S3Request::new("PUT", target)
            .header("x-amz-copy-source", "/bucket/from")
            .header(name, value)
    };
    let cases = [
        ("/bucket/to", "if-none-match", "*", 412, "PreconditionFailed"),
        ("/bucket/to", "if-match", OTHER, 412, "PreconditionFailed"),
        ("/bucket/absent", "if-match", OTHER, 404, "NoSuchKey"),
        ("/bucket/absent", "if-match", "*", 501, "NotImplemented"),
        ("/bucket/to", "if-none-match", OTHER, 501, "NotImplemented"),
        ("/bucket/to", "if-match", "\"", 400, "InvalidArgument"),
    ];
    for (target, name, value, status, expected) in cases {
        let answer = cluster.send(&copy(target, name, value)).await;
        assert_eq!(answer.outcome(), code(status, expected), "{target} {name}: {value}");
    }
    assert_eq!(cluster.get("/bucket/to").await, b"mine");
    assert_eq!(cluster.names().await, ["from", "to"]);
    assert_eq!(cluster.send(&copy("/bucket/new", "if-none-match", "*")).await.status, 200);
    assert_eq!(cluster.send(&copy("/bucket/to", "if-match", &etag)).await.status, 200);
    assert_eq!(cluster.get("/bucket/to").await, b"other");
    cluster.stop().await;
}
