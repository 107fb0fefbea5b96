//! Documents that exceed the limits, or are malformed.

use base64::Engine as _;
use md5::{Digest, Md5};
use testkit::S3Request;

use super::cluster::{Cluster, code};

/// A document with its Content-MD5, which DeleteObjects requires.
fn post(target: &str, document: &str) -> S3Request {
    let digest = base64::engine::general_purpose::STANDARD.encode(Md5::digest(document));
    S3Request::new("POST", target).header("content-md5", digest).body(document)
}

fn delete(keys: impl Iterator<Item = String>) -> String {
    let objects: String = keys.map(|key| format!("<Object><Key>{key}</Key></Object>")).collect();
    format!("<Delete>{objects}</Delete>")
}

#[tokio::test]
async fn a_document_that_is_too_large_or_malformed_does_nothing() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let named = |n: usize| delete((0..n).map(|n| if n == 0 { "k".into() } else { format!("{n}") }));
    // Each entity is ten of the one before.
    let entities: String = (1..12)
        .map(|n| format!("<!ENTITY e{n} \"{}\">", format!("&e{};", n - 1).repeat(10)))
        .collect();
    let laughs = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE Delete [<!ENTITY e0 \"k\">{entities}]>{}",
        delete(["&e11;".to_owned()].into_iter())
    );
    let file = "<!DOCTYPE Delete [<!ENTITY f SYSTEM \"file:///etc/passwd\">]>\
        <Delete><Object><Key>&f;</Key></Object></Delete>";
    let deep =
        format!("<Delete>{}{}</Delete>", "<Object>".repeat(100_000), "</Object>".repeat(100_000));
    let cases = [
        ("more than a thousand keys", named(1001)),
        ("no key", "<Delete></Delete>".to_owned()),
        ("cut short", "<Delete><Object><Key>k</Key>".to_owned()),
        ("another document", "<Tagging><TagSet></TagSet></Tagging>".to_owned()),
        ("no XML", "{\"delete\": [\"k\"]}".to_owned()),
        ("entities", laughs),
        ("a file", file.to_owned()),
        ("depth", deep),
    ];
    for (what, document) in cases {
        let answer = cluster.send(&post("/bucket?delete", &document)).await;
        assert_eq!(answer.outcome(), code(400, "MalformedXML"), "{what}: {}", answer.text());
        assert!(!answer.text().contains("root:"), "{what}");
        assert_eq!(cluster.get("/bucket/k").await, b"content", "{what}");
    }
    let answer = cluster.send(&post("/bucket?delete", "")).await;
    assert_eq!(answer.outcome(), code(400, "MissingRequestBodyError"));
    let large = delete(["k".repeat(9 << 20)].into_iter());
    let answer = cluster.send(&post("/bucket?delete", &large)).await;
    assert_eq!(answer.outcome(), code(400, "MaxMessageLengthExceeded"));
    // Nor one without a length.
    let chunk = format!("{:x}\r\n{}\r\n0\r\n\r\n", 9 << 20, "<".repeat(9 << 20));
    let chunked = S3Request::new("POST", "/bucket?delete")
        .header("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==")
        .without_length()
        .unsigned("transfer-encoding: chunked\r\n")
        .body(chunk);
    let answer = cluster.send(&chunked).await;
    assert_eq!(answer.outcome(), code(411, "MissingContentLength"));
    // Exactly the limit.
    let answer = cluster.send(&post("/bucket?delete", &named(1000))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.text().matches("<Deleted>").count(), 1000);
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}

#[tokio::test]
async fn a_document_that_is_not_what_its_digest_says_does_nothing() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let document = delete(["k".to_owned()].into_iter());
    for (digest, expected) in [
        ("1B2M2Y8AsgTpgAmY7PhCfg==", "BadDigest"),
        ("not base64", "InvalidDigest"),
        ("AAAA", "InvalidDigest"),
        ("", "InvalidDigest"),
    ] {
        let request = S3Request::new("POST", "/bucket?delete").header("content-md5", digest);
        let answer = cluster.send(&request.body(document.as_str())).await;
        assert_eq!(answer.outcome(), code(400, expected), "{digest:?}: {}", answer.text());
    }
    let put = S3Request::new("PUT", "/bucket/k").header("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg==");
    assert_eq!(cluster.send(&put.body("changed")).await.outcome(), code(400, "BadDigest"));
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    cluster.stop().await;
}

#[tokio::test]
async fn tags_that_may_not_be_are_refused() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let tag = |key: &str, value: &str| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>");
    let set = |tags: &[String]| format!("<Tagging><TagSet>{}</TagSet></Tagging>", tags.concat());
    let eleven: Vec<String> = (0..11).map(|n| tag(&n.to_string(), "v")).collect();
    for (tags, expected) in [
        (set(&eleven), "BadRequest"),
        (set(&[tag("a", "1"), tag("a", "2")]), "InvalidTag"),
        (set(&[tag("", "1")]), "InvalidTag"),
        (set(&[tag(&"k".repeat(129), "1")]), "InvalidTag"),
        (set(&[tag("k", &"v".repeat(257))]), "InvalidTag"),
        (set(&[tag("aws:k", "v")]), "InvalidTag"),
        ("<Tagging>".to_owned(), "MalformedXML"),
    ] {
        let request = S3Request::new("PUT", "/bucket/k?tagging").body(tags.as_str());
        assert_eq!(cluster.send(&request).await.outcome(), code(400, expected), "{tags}");
    }
    let right = set(&[tag(&"k".repeat(128), &"ü".repeat(256)), tag("empty", "")]);
    let request = S3Request::new("PUT", "/bucket/k?tagging").body(right.as_str());
    assert_eq!(cluster.send(&request).await.status, 200);
    let told = cluster.ask("GET", "/bucket/k?tagging").await;
    assert_eq!(told.elements("Key").len(), 2, "{}", told.text());
    cluster.stop().await;
}

/// An object's name may have control characters, which XML 1.0 cannot represent: they are
/// percent-encoded in every document, and never in an object.
#[tokio::test]
async fn a_name_that_xml_cannot_carry_spoils_no_document() {
    let cluster = Cluster::start().await;
    let answers = [
        ("an upload", cluster.ask("POST", "/bucket/a%01b?uploads").await, "a%01b"),
        ("a line end", cluster.ask("POST", "/bucket/a%0Db?uploads").await, "a&#13;b"),
    ];
    let id = answers[0].1.element("UploadId").unwrap();
    let part = format!("/bucket/a%01b?partNumber=1&uploadId={id}");
    let etag = cluster.put(&part, "part").await;
    let listed = cluster.ask("GET", &format!("/bucket/a%01b?uploadId={id}")).await;
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let complete = S3Request::new("POST", &format!("/bucket/a%01b?uploadId={id}")).body(document);
    let completed = cluster.send(&complete).await;
    let more = [("parts", listed, "a%01b"), ("a completed upload", completed, "a%01b")];
    for (what, answer, name) in answers.iter().chain(&more) {
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        assert_eq!(answer.elements("Key"), [*name], "{what}: {}", answer.text());
        assert!(answer.body.iter().all(|byte| *byte >= 0x20 || *byte == b'\n'), "{what}");
        if let Some(length) = answer.header("content-length") {
            assert_eq!(length, answer.body.len().to_string(), "{what}");
        }
    }
    // Nor can a client write it: XML 1.0 has no such reference.
    let delete = post("/bucket?delete", &delete(["a&#1;b".to_owned()].into_iter()));
    let refused = cluster.send(&delete).await;
    assert_eq!(refused.element("Code").as_deref(), Some("MalformedXML"), "{}", refused.text());
    assert_eq!(cluster.names().await, ["a%01b"]);
    assert_eq!(cluster.ask("DELETE", "/bucket/a%01b").await.status, 204);
    assert!(cluster.names().await.is_empty());
    // The content of an object is never changed.
    let content = "<a>\u{1}\r\n</a>";
    let put = S3Request::new("PUT", "/bucket/k").header("content-type", "application/xml");
    assert_eq!(cluster.send(&put.body(content)).await.status, 200);
    assert_eq!(cluster.get("/bucket/k").await, content.as_bytes());
    cluster.stop().await;
}
