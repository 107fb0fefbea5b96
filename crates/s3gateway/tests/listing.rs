//! Listings.

use bytes::Bytes;
use testkit::S3Request;

use crate::overwritten::gateway;
use crate::request::signer;
use crate::support::Cluster;

/// Some clients send one for the first page (HDDS-15739).
#[tokio::test]
async fn an_empty_continuation_token_is_none() {
    let cluster = Cluster::start(1).await;
    let gateway = gateway(&cluster).await;
    for key in ["a", "b", "c"] {
        cluster.put(key, Bytes::from_static(b"x")).await.unwrap();
    }
    for (query, keys) in [
        ("continuation-token=&list-type=2", &["a", "b", "c"] as &[_]),
        ("continuation-token=&list-type=2&start-after=a", &["b", "c"]),
    ] {
        let list = S3Request::new("GET", &format!("/bucket?{query}"));
        let answer = list.send(gateway.address(), &signer()).await;
        assert_eq!(
            (answer.status, answer.elements("Key")),
            (200, keys.iter().map(|k| k.to_string()).collect())
        );
        assert_eq!(answer.element("ContinuationToken"), None, "{}", answer.text());
    }
    let wrong = S3Request::new("GET", "/bucket?continuation-token=%21&list-type=2");
    let answer = wrong.send(gateway.address(), &signer()).await;
    assert_eq!(answer.outcome(), (400, "InvalidArgument".to_owned()));
    gateway.shutdown().await;
}
