//! Buckets whose keys form a tree, and links: deletions affect only the named keys.

use client::{BucketSpec, Client};
use proto::ozone::BucketLayoutProto;
use testkit::S3Request;

use super::cluster::{Cluster, code};

async fn make_tree(client: &Client, bucket: &str) {
    let layout = Some(BucketLayoutProto::FileSystemOptimized);
    let spec = BucketSpec { layout, ..BucketSpec::default() };
    client.create_bucket("s3v", bucket, spec).await.unwrap();
}

/// DeleteObjects of these keys; returns the names that the response lists as deleted.
async fn delete(cluster: &Cluster, bucket: &str, keys: &[&str]) -> Vec<String> {
    let objects: String =
        keys.iter().map(|key| format!("<Object><Key>{key}</Key></Object>")).collect();
    let body = format!("<Delete>{objects}</Delete>");
    let request = S3Request::new("POST", &format!("/{bucket}?delete")).body(body);
    let answer = cluster.send(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.elements("Error").is_empty(), "{}", answer.text());
    let mut deleted = answer.elements("Key");
    deleted.sort();
    deleted
}

async fn names(cluster: &Cluster, bucket: &str) -> Vec<String> {
    cluster.ask("GET", &format!("/{bucket}?list-type=2")).await.elements("Key")
}

/// S3A deletes the directories above an object, which are markers to it, after it has written the
/// object.
#[tokio::test]
async fn deletions_of_many_take_no_directory_with_what_is_in_it() {
    let cluster = Cluster::start().await;
    make_tree(&cluster.client(), "tree").await;
    let keys = ["a/b/c", "a/b/d", "a/e", "f"];
    for key in keys {
        cluster.put(&format!("/tree/{key}"), "x").await;
    }
    let all = ["a/", "a/b/", "a/b/c", "a/b/d", "a/e", "f"];
    for victims in [&["a/b/"][..], &["a/b"], &["a/"], &["a"], &["a/b/", "a/", "a/b/gone"]] {
        let mut told = victims.to_vec();
        told.sort_unstable();
        assert_eq!(delete(&cluster, "tree", victims).await, told);
        assert_eq!(names(&cluster, "tree").await, all, "{victims:?}");
    }
    // Directories named together with all their content are deleted as a whole, in any order.
    assert_eq!(delete(&cluster, "tree", &all).await, all);
    assert!(names(&cluster, "tree").await.is_empty());
    cluster.stop().await;
}

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
    assert_eq!(cluster.ask("DELETE", "/link1").await.status, 204, "the link itself is deleted");
    cluster.stop().await;
}
