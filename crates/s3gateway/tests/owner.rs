//! Requests with an expected bucket owner.

use bytes::Bytes;
use proto::ozone::Type;
use testkit::S3Request;

use crate::overwritten::gateway;
use crate::request::signer;
use crate::support::Cluster;

const BUCKET: &str = "x-amz-expected-bucket-owner";
const SOURCE: &str = "x-amz-source-expected-bucket-owner";

#[tokio::test]
async fn nothing_is_done_in_a_bucket_of_another_owner() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let address = gateway.address();
    cluster.put("k", Bytes::from_static(b"content")).await.unwrap();
    let owners = [("bucket", "alice"), ("other", "bob")];
    let owners = owners.map(|(bucket, owner)| (bucket.to_owned(), owner.to_owned()));
    *cluster.state().owners.lock() = owners.into();

    // The calls of each request to OM, besides that for the owner.
    let deeds = || {
        let requests = cluster.state().requests.lock();
        requests.iter().filter(|request| request.cmd_type() != Type::InfoBucket).count()
    };
    let before = deeds();
    let upload = "uploadId=00000000-0000-0000-0000-000000000000-1";
    for (method, target) in [
        ("HEAD", "/bucket".to_owned()),
        ("GET", "/bucket?location".to_owned()),
        ("GET", "/bucket?versioning".to_owned()),
        ("GET", "/bucket?list-type=2".to_owned()),
        ("GET", "/bucket?versions".to_owned()),
        ("GET", "/bucket?uploads".to_owned()),
        ("GET", "/bucket".to_owned()),
        ("DELETE", "/bucket".to_owned()),
        ("POST", "/bucket?delete".to_owned()),
        ("GET", "/bucket/k".to_owned()),
        ("HEAD", "/bucket/k".to_owned()),
        ("GET", "/bucket/k?attributes".to_owned()),
        ("GET", "/bucket/k?tagging".to_owned()),
        ("PUT", "/bucket/k?tagging".to_owned()),
        ("DELETE", "/bucket/k?tagging".to_owned()),
        ("PUT", "/bucket/k".to_owned()),
        ("DELETE", "/bucket/k".to_owned()),
        ("POST", "/bucket/k?uploads".to_owned()),
        ("PUT", format!("/bucket/k?partNumber=1&{upload}")),
        ("GET", format!("/bucket/k?{upload}")),
        ("POST", format!("/bucket/k?{upload}")),
        ("DELETE", format!("/bucket/k?{upload}")),
    ] {
        for owner in ["bob", "", "000000000000", "ALICE"] {
            let request = S3Request::new(method, &target).header(BUCKET, owner);
            let answer = request.send(address, &signer()).await;
            assert_eq!(answer.status, 403, "{method} {target} of {owner:?}: {}", answer.text());
            if method != "HEAD" {
                assert_eq!(answer.element("Code").as_deref(), Some("AccessDenied"), "{target}");
            }
        }
    }
    assert_eq!(deeds(), before, "a bucket of another owner was accessed");

    let get = |name, owner| S3Request::new("GET", "/bucket/k").header(name, owner);
    let answer = get(BUCKET, "alice").send(address, &signer()).await;
    assert_eq!((answer.status, answer.text()), (200, "content".to_owned()));
    let absent = S3Request::new("GET", "/absent/k").header(BUCKET, "alice");
    assert_ne!(absent.send(address, &signer()).await.status, 403);
    gateway.shutdown().await;
}

#[tokio::test]
async fn nothing_is_copied_from_a_bucket_of_another_owner() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    let address = gateway.address();
    cluster.put("k", Bytes::from_static(b"content")).await.unwrap();
    let owners = [("bucket", "alice"), ("source", "bob")];
    let owners = owners.map(|(bucket, owner)| (bucket.to_owned(), owner.to_owned()));
    *cluster.state().owners.lock() = owners.into();
    let upload = "/bucket/part?partNumber=1&uploadId=00000000-0000-0000-0000-000000000000-1";
    for target in ["/bucket/copy", upload] {
        for (bucket, source) in [("alice", "alice"), ("bob", "bob"), ("bob", "alice")] {
            let copy = S3Request::new("PUT", target)
                .header("x-amz-copy-source", "/source/k")
                .header(BUCKET, bucket)
                .header(SOURCE, source);
            let answer = copy.send(address, &signer()).await;
            let denied = (403, "AccessDenied".to_owned());
            assert_eq!(answer.outcome(), denied, "{target} {bucket} {source}");
        }
    }
    assert!(cluster.get("copy").await.is_err());
    let copy = S3Request::new("PUT", "/bucket/copy")
        .header("x-amz-copy-source", "/source/k")
        .header(BUCKET, "alice")
        .header(SOURCE, "bob");
    assert_eq!(copy.send(address, &signer()).await.status, 200);
    assert_eq!(cluster.get("copy").await.unwrap(), "content");
    gateway.shutdown().await;
}
