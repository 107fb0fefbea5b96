//! Multipart uploads, and errors of them.

use testkit::{S3Answer, S3Request};

use super::cluster::{Cluster, code, data};

/// The smallest part that is not the last.
const PART: usize = 5 << 20;

impl Cluster {
    async fn begin(&self, target: &str) -> String {
        let answer = self.ask("POST", &format!("{target}?uploads")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.element("UploadId").unwrap()
    }

    async fn part(&self, target: &str, id: &str, number: u32, body: Vec<u8>) -> String {
        let target = format!("{target}?partNumber={number}&uploadId={id}");
        self.put(&target, body).await
    }

    async fn complete(&self, target: &str, id: &str, document: &str) -> S3Answer {
        let target = format!("{target}?uploadId={id}");
        self.send(&S3Request::new("POST", &target).body(document)).await
    }
}

/// The document with these parts.
fn document(parts: &[(u32, &str)]) -> String {
    let part = |(number, etag): &(u32, &str)| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
    };
    let parts: String = parts.iter().map(part).collect();
    format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>")
}

#[tokio::test]
async fn parts_become_an_object_that_is_read_as_one_and_by_part() {
    let cluster = Cluster::start().await;
    let (first, last) = (data(PART), data(1000));
    let id = cluster.begin("/bucket/k").await;
    // The later part comes first, and one of them twice.
    let two = cluster.part("/bucket/k", &id, 20, last.clone()).await;
    cluster.part("/bucket/k", &id, 3, data(PART + 1)).await;
    let one = cluster.part("/bucket/k", &id, 3, first.clone()).await;
    assert!(cluster.names().await.is_empty(), "an upload is no object");
    let listed = cluster.ask("GET", &format!("/bucket/k?uploadId={id}&max-parts=1")).await;
    assert_eq!(listed.elements("PartNumber"), ["3"]);
    assert_eq!(listed.element("IsTruncated").as_deref(), Some("true"));
    let next = listed.element("NextPartNumberMarker").unwrap();
    let listed =
        cluster.ask("GET", &format!("/bucket/k?uploadId={id}&part-number-marker={next}")).await;
    assert_eq!(listed.elements("PartNumber"), ["20"]);
    assert_eq!(listed.element("IsTruncated").as_deref(), Some("false"));
    let done = cluster.complete("/bucket/k", &id, &document(&[(3, &one), (20, &two)])).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert!(done.element("ETag").unwrap().contains("-2"), "{}", done.text());
    let whole: Vec<u8> = first.iter().chain(&last).copied().collect();
    assert!(cluster.get("/bucket/k").await == whole);
    let across = S3Request::new("GET", "/bucket/k")
        .header("range", format!("bytes={}-{}", PART - 2, PART + 1));
    let across = cluster.send(&across).await;
    assert_eq!((across.status, across.body.as_slice()), (206, &whole[PART - 2..PART + 2]));
    let part = cluster.ask("GET", "/bucket/k?partNumber=20").await;
    assert_eq!((part.status, part.header("x-amz-mp-parts-count")), (206, Some("2")));
    assert!(part.body == last);
    let part = cluster.ask("GET", "/bucket/k?partNumber=4").await;
    assert_eq!(part.outcome(), code(416, "InvalidPartNumber"));
    assert!(cluster.ask("GET", "/bucket?uploads").await.elements("UploadId").is_empty());
    cluster.stop().await;
}

#[tokio::test]
async fn a_completion_that_is_wrong_leaves_the_upload_as_it_was() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "before").await;
    let id = cluster.begin("/bucket/k").await;
    let one = cluster.part("/bucket/k", &id, 1, data(PART)).await;
    let two = cluster.part("/bucket/k", &id, 2, b"small".to_vec()).await;
    let three = cluster.part("/bucket/k", &id, 3, b"last".to_vec()).await;
    let cases = [
        (document(&[(2, &two), (1, &one)]), 400, "InvalidPartOrder"),
        (document(&[(1, &one), (1, &one)]), 400, "InvalidPartOrder"),
        (document(&[(1, &two)]), 400, "InvalidPart"),
        (document(&[(7, &one)]), 400, "InvalidPart"),
        (document(&[(1, &one), (2, &two), (3, &three)]), 400, "EntityTooSmall"),
        (document(&[]), 400, "MalformedXML"),
        (String::new(), 400, "MalformedXML"),
        ("<CompleteMultipartUpload>".to_owned(), 400, "MalformedXML"),
        ("not XML at all".to_owned(), 400, "MalformedXML"),
        ("<Tagging><TagSet/></Tagging>".to_owned(), 400, "MalformedXML"),
    ];
    for (text, status, expected) in cases {
        let answer = cluster.complete("/bucket/k", &id, &text).await;
        assert_eq!(answer.outcome(), code(status, expected), "{text}");
    }
    for number in [0, 10_001] {
        let answer = cluster.complete("/bucket/k", &id, &document(&[(number, &one)])).await;
        assert_eq!(answer.status, 400, "part {number}: {}", answer.text());
    }
    assert_eq!(cluster.get("/bucket/k").await, b"before");
    let done = cluster.complete("/bucket/k", &id, &document(&[(1, &one), (3, &three)])).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(cluster.get("/bucket/k").await.len(), PART + 4, "part 2 was not named");
    cluster.stop().await;
}

#[tokio::test]
async fn an_upload_that_is_not_there_takes_nothing() {
    let cluster = Cluster::start().await;
    let id = cluster.begin("/bucket/k").await;
    let etag = cluster.part("/bucket/k", &id, 1, b"x".to_vec()).await;
    assert_eq!(cluster.ask("DELETE", &format!("/bucket/k?uploadId={id}")).await.status, 204);
    for of in [id.as_str(), "never-was", "..%2F..%2Fetc", "%00"] {
        let part = format!("/bucket/k?partNumber=1&uploadId={of}");
        let upload = format!("/bucket/k?uploadId={of}");
        let outcomes = [
            cluster.send(&S3Request::new("PUT", &part).body("x")).await.outcome(),
            cluster.ask("GET", &upload).await.outcome(),
            cluster.ask("DELETE", &upload).await.outcome(),
            cluster.complete("/bucket/k", of, &document(&[(1, &etag)])).await.outcome(),
        ];
        assert_eq!(outcomes, [(); 4].map(|()| code(404, "NoSuchUpload")), "{of}");
    }
    // An upload belongs to its key.
    let id = cluster.begin("/bucket/k").await;
    let part = format!("/bucket/other?partNumber=1&uploadId={id}");
    let part = S3Request::new("PUT", &part).body("x");
    assert_eq!(cluster.send(&part).await.outcome(), code(404, "NoSuchUpload"));
    for number in ["0", "10001", "-1", "4294967297", "x"] {
        let part = format!("/bucket/k?partNumber={number}&uploadId={id}");
        let part = S3Request::new("PUT", &part).body("x");
        assert_eq!(cluster.send(&part).await.outcome(), code(400, "InvalidArgument"), "{number}");
    }
    assert!(cluster.names().await.is_empty());
    cluster.stop().await;
}

#[tokio::test]
async fn a_part_is_copied_from_an_exact_range() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/source", data(1000)).await;
    let id = cluster.begin("/bucket/k").await;
    let target = format!("/bucket/k?partNumber=1&uploadId={id}");
    let copy = |range: &str| {
        let request = S3Request::new("PUT", &target);
        request
            .header("x-amz-copy-source", "/bucket/source")
            .header("x-amz-copy-source-range", range)
    };
    for range in ["bytes=0-1000", "bytes=7-3", "bytes=7-", "0-7", "bytes=0-18446744073709551615"] {
        let answer = cluster.send(&copy(range)).await;
        assert_eq!(answer.outcome(), code(400, "InvalidArgument"), "{range}");
    }
    let copied = cluster.send(&copy("bytes=10-19")).await;
    assert_eq!(copied.status, 200, "{}", copied.text());
    let etag = copied.element("ETag").unwrap().replace("&quot;", "\"");
    let done = cluster.complete("/bucket/k", &id, &document(&[(1, &etag)])).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(cluster.get("/bucket/k").await, data(1000)[10..20]);
    cluster.stop().await;
}
