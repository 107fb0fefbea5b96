//! Status and code of every error, on which clients branch.

use testkit::S3Request;

use super::cluster::{Cluster, code};

#[tokio::test]
async fn what_is_not_there_or_not_allowed_has_the_code_of_s3() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "x").await;
    let long = format!("/bucket/{}", "k".repeat(1025));
    let cases = [
        ("GET", "/absent", 404, "NoSuchBucket"),
        ("GET", "/absent?list-type=2", 404, "NoSuchBucket"),
        ("GET", "/absent?max-keys=0", 404, "NoSuchBucket"),
        ("GET", "/absent?uploads", 404, "NoSuchBucket"),
        ("GET", "/absent?location", 404, "NoSuchBucket"),
        ("GET", "/absent/k", 404, "NoSuchBucket"),
        ("PUT", "/absent/k", 404, "NoSuchBucket"),
        ("DELETE", "/absent/k", 404, "NoSuchBucket"),
        ("DELETE", "/absent", 404, "NoSuchBucket"),
        ("POST", "/absent/k?uploads", 404, "NoSuchBucket"),
        ("GET", "/bucket/absent", 404, "NoSuchKey"),
        ("GET", "/bucket/absent?tagging", 404, "NoSuchKey"),
        ("GET", "/bucket/k?versionId=7", 400, "InvalidArgument"),
        ("GET", "/bucket/k?partNumber=0", 400, "InvalidArgument"),
        ("GET", "/bucket/k?partNumber=2", 416, "InvalidPartNumber"),
        ("GET", "/bucket?max-keys=-1", 400, "InvalidArgument"),
        ("GET", "/bucket?max-keys=many", 400, "InvalidArgument"),
        ("GET", "/bucket?list-type=2&encoding-type=rot13", 400, "InvalidArgument"),
        ("GET", "/bucket?list-type=2&continuation-token=%21", 400, "InvalidArgument"),
        ("GET", "/?max-buckets=0", 400, "InvalidArgument"),
        ("PUT", "/bucket", 409, "BucketAlreadyOwnedByYou"),
        ("PUT", "/Not_A_Bucket", 400, "InvalidBucketName"),
        ("PUT", "/a", 400, "InvalidBucketName"),
        ("DELETE", "/bucket", 409, "BucketNotEmpty"),
        ("PUT", &long, 400, "KeyTooLongError"),
    ];
    for (method, target, status, expected) in cases {
        let answer = cluster.ask(method, target).await;
        assert_eq!(answer.outcome(), code(status, expected), "{method} {target}");
        assert_eq!(answer.header("content-type"), Some("application/xml"), "{method} {target}");
        assert!(answer.header("x-amz-request-id").is_some(), "{method} {target}");
    }
    // The response to a HEAD has no document.
    for (target, status) in [("/absent", 404), ("/absent/k", 404), ("/bucket/absent", 404)] {
        let answer = cluster.ask("HEAD", target).await;
        assert_eq!((answer.status, answer.body.len()), (status, 0), "{target}");
    }
    assert_eq!(cluster.get("/bucket/k").await, b"x");
    cluster.stop().await;
}

/// A request for an unsupported sub-resource must have no effect: a DELETE of a bucket's policy
/// that deletes the bucket, or a PUT of an object's ACL that replaces the object, loses data.
#[tokio::test]
async fn a_sub_resource_that_is_not_served_is_never_taken_for_the_resource() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    assert_eq!(cluster.ask("PUT", "/empty").await.status, 200);
    let of_bucket = [
        "accelerate",
        "acl",
        "analytics&id=1",
        "cors",
        "encryption",
        "intelligent-tiering&id=1",
        "inventory&id=1",
        "lifecycle",
        "logging",
        "metadataConfiguration",
        "metadataTable",
        "metrics&id=1",
        "notification",
        "object-lock",
        "ownershipControls",
        "policy",
        "publicAccessBlock",
        "replication",
        "requestPayment",
        "tagging",
        "versioning",
        "website",
    ];
    for name in of_bucket {
        for method in ["PUT", "DELETE"] {
            let target = format!("/empty?{name}");
            let request = S3Request::new(method, &target).body("<Anything/>");
            let answer = cluster.send(&request).await;
            assert!(answer.status >= 400, "{method} {target}: {}", answer.status);
            assert!(answer.status != 500, "{method} {target}: {}", answer.text());
            assert_eq!(cluster.ask("HEAD", "/empty").await.status, 200, "{method} {target}");
        }
    }
    for name in [
        "acl",
        "legal-hold",
        "retention",
        "torrent",
        "restore",
        "select",
        "renameObject",
        "annotation",
    ] {
        for method in ["PUT", "POST", "DELETE"] {
            let target = format!("/bucket/k?{name}");
            let request = S3Request::new(method, &target).body("<Anything/>");
            let answer = cluster.send(&request).await;
            assert!(answer.status >= 400, "{method} {target}: {}", answer.status);
            assert_eq!(cluster.get("/bucket/k").await, b"content", "{method} {target}");
        }
    }
    assert_eq!(cluster.names().await, ["k"]);
    cluster.stop().await;
}

#[tokio::test]
async fn a_method_that_s3_does_not_have_is_not_allowed() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    for method in ["PATCH", "TRACE", "LOCK", "OPTIONS", "get"] {
        for target in ["/", "/bucket", "/bucket/k"] {
            let answer = cluster.ask(method, target).await;
            let refused = [400, 403, 405, 501].contains(&answer.status);
            assert!(refused, "{method} {target}: {} {}", answer.status, answer.text());
        }
    }
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    cluster.stop().await;
}
