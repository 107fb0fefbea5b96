//! Buckets that are links, and such whose keys are a tree.

use client::BucketSpec;

use super::cluster::{Cluster, code};

#[tokio::test]
async fn links_that_lead_to_each_other_are_no_bucket() {
    let cluster = Cluster::start().await;
    let client = cluster.client();
    for (link, to) in [("link1", "link2"), ("link2", "link1")] {
        let link_to = Some(("s3v".to_owned(), to.to_owned()));
        let spec = BucketSpec { link_to, ..BucketSpec::default() };
        client.create_bucket("s3v", link, spec).await.unwrap();
    }
    for (method, target) in [
        ("GET", "/link1?list-type=2"),
        ("GET", "/link1?location"),
        ("GET", "/link1/k"),
        ("PUT", "/link1/k"),
        ("DELETE", "/link1/k"),
        ("POST", "/link1/k?uploads"),
    ] {
        let answer = cluster.ask(method, target).await;
        assert_eq!(answer.outcome(), code(404, "NoSuchBucket"), "{method} {target}");
    }
    assert_eq!(cluster.ask("HEAD", "/link1").await.status, 404);
    assert_eq!(cluster.ask("DELETE", "/link1").await.status, 204, "the link itself goes");
    cluster.stop().await;
}
