//! Each checksum that a client names is verified, or its request refused.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crc_fast::{CrcAlgorithm, checksum};
use md5::{Digest, Md5};
use proto::ozone::{Part, Type};
use sha2::Sha256;
use testkit::{S3Answer, S3Request};

use crate::overwritten::gateway;
use crate::request::signer;
use crate::support::Cluster;

const CRC32: &str = "x-amz-checksum-crc32";
const PARTS: [&[u8]; 2] = [b"the first part", b"the last"];

fn crc32(data: &[u8]) -> String {
    BASE64.encode((checksum(CrcAlgorithm::Crc32IsoHdlc, data) as u32).to_be_bytes())
}

fn sha256(data: &[u8]) -> String {
    BASE64.encode(Sha256::digest(data))
}

fn etag(data: &[u8]) -> String {
    hex::encode(Md5::digest(data))
}

/// Computes the ETag as OM does.
fn etag_of_parts(parts: &[Part]) -> String {
    let digests = parts.iter().flat_map(|part| hex::decode(part.e_tag()).unwrap());
    format!("{}-{}", hex::encode(Md5::digest(digests.collect::<Vec<_>>())), parts.len())
}

/// A gateway under test.
struct Asked(SocketAddr);

impl Asked {
    async fn send(&self, request: S3Request) -> S3Answer {
        request.send(self.0, &signer()).await
    }

    /// Begins an upload with these checksum headers.
    async fn begin(&self, key: &str, said: &[(&str, &str)]) -> String {
        let create = S3Request::new("POST", &format!("/bucket/{key}?uploads"));
        let create = said.iter().fold(create, |create, (name, value)| create.header(name, value));
        let answer = self.send(create).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.element("UploadId").unwrap()
    }

    async fn part(&self, key: &str, id: &str, number: usize, said: &[(&str, &str)]) -> S3Answer {
        let target = format!("/bucket/{key}?partNumber={number}&uploadId={id}");
        let put = S3Request::new("PUT", &target).body(PARTS[number - 1]);
        self.send(said.iter().fold(put, |put, (name, value)| put.header(name, value))).await
    }

    /// An upload with both parts, each with a checksum of its own.
    async fn upload(&self, key: &str, said: &[(&str, &str)], sum: Sum) -> String {
        let id = self.begin(key, said).await;
        for (number, body) in (1..).zip(PARTS) {
            let answer = self.part(key, &id, number, &[(sum.header, &(sum.of)(body))]).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        id
    }

    /// Completes the upload with a list of parts with these checksums.
    async fn complete(
        &self,
        key: &str,
        id: &str,
        named: [Option<(&str, String)>; 2],
        said: &[(&str, &str)],
    ) -> S3Answer {
        let part = |((number, body), named): ((usize, &[u8]), Option<(&str, String)>)| {
            let etag = etag(body);
            let sum = named.map(|(name, value)| format!("<{name}>{value}</{name}>"));
            let sum = sum.unwrap_or_default();
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>{sum}</Part>")
        };
        let parts: String = (1..).zip(PARTS).zip(named).map(part).collect();
        let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let target = format!("/bucket/{key}?uploadId={id}");
        let post = S3Request::new("POST", &target).body(document);
        self.send(said.iter().fold(post, |post, (name, value)| post.header(name, value))).await
    }

    /// The CRC32 in the headers of an object.
    async fn crc32_of(&self, key: &str) -> Option<String> {
        let head = S3Request::new("HEAD", &format!("/bucket/{key}"));
        let answer = self.send(head.header("x-amz-checksum-mode", "ENABLED")).await;
        answer.header(CRC32).map(str::to_owned)
    }
}

/// A checksum algorithm.
#[derive(Clone, Copy)]
struct Sum {
    header: &'static str,
    of: fn(&[u8]) -> String,
}

const OF_CRC32: Sum = Sum { header: CRC32, of: crc32 };
const OF_SHA256: Sum = Sum { header: "x-amz-checksum-sha256", of: sha256 };

const FULL_OBJECT: [(&str, &str); 2] =
    [("x-amz-checksum-algorithm", "CRC32"), ("x-amz-checksum-type", "FULL_OBJECT")];
const COMPOSITE: [(&str, &str); 1] = [("x-amz-checksum-algorithm", "CRC32")];

async fn start() -> Cluster {
    let cluster = Cluster::start(1).await;
    *cluster.state().etag_of_parts.lock() = Some(etag_of_parts);
    cluster
}

#[tokio::test]
async fn a_part_that_is_named_with_a_wrong_checksum_completes_nothing() {
    let cluster = start().await;
    let gateway = gateway(&cluster).await;
    let asked = Asked(gateway.address());
    let sha = [("x-amz-checksum-algorithm", "SHA256")];
    for said in [&sha as &[_], &[]] {
        let id = asked.upload("k", said, OF_SHA256).await;
        let name = "ChecksumSHA256";
        let right = PARTS.map(|body| Some((name, sha256(body))));
        let wrong = [right[0].clone(), Some((name, sha256(b"other")))];
        let answer = asked.complete("k", &id, wrong, &[]).await;
        assert_eq!(answer.outcome(), (400, "InvalidPart".to_owned()), "{}", answer.text());
        let other = [right[0].clone(), Some(("ChecksumCRC32", crc32(PARTS[1])))];
        let answer = asked.complete("k", &id, other, &[]).await;
        assert_eq!(answer.outcome(), (400, "InvalidPart".to_owned()), "{}", answer.text());
        assert!(cluster.get("k").await.is_err());
        let answer = asked.complete("k", &id, right, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.element(name).unwrap().ends_with("-2"), "{}", answer.text());
        assert_eq!(cluster.get("k").await.unwrap(), PARTS.concat());
        cluster.client.delete_key(&crate::support::path("k")).await.unwrap();
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn the_checksum_of_the_object_is_compared_with_the_object() {
    let cluster = start().await;
    let gateway = gateway(&cluster).await;
    let asked = Asked(gateway.address());
    let whole = crc32(&PARTS.concat());
    let parts: Vec<u8> = PARTS.iter().flat_map(|b| BASE64.decode(crc32(b)).unwrap()).collect();
    let composite = format!("{}-2", crc32(&parts));
    let named = || PARTS.map(|body| Some(("ChecksumCRC32", crc32(body))));
    let bare = || [None, None];
    for (key, said, named, right) in [
        ("a", &FULL_OBJECT as &[_], named(), &whole),
        ("b", &FULL_OBJECT, bare(), &whole),
        ("c", &COMPOSITE, named(), &composite),
        ("d", &COMPOSITE, bare(), &composite),
    ] {
        let id = asked.upload(key, said, OF_CRC32).await;
        let wrong = crc32(b"other");
        let answer = asked.complete(key, &id, named.clone(), &[(CRC32, &wrong)]).await;
        assert_eq!(answer.outcome(), (400, "BadDigest".to_owned()), "{key}: {}", answer.text());
        assert!(cluster.get(key).await.is_err());
        let kind = if right == &whole { "FULL_OBJECT" } else { "COMPOSITE" };
        let told = [(CRC32, right.as_str()), ("x-amz-checksum-type", kind)];
        let answer = asked.complete(key, &id, named, &told).await;
        assert_eq!(answer.status, 200, "{key}: {}", answer.text());
        assert_eq!(asked.crc32_of(key).await.as_ref(), Some(right), "{key}");
    }
    // Without checksum headers an upload keeps the type from its creation.
    for (key, said, right) in
        [("e", &FULL_OBJECT as &[_], &whole), ("f", &COMPOSITE as &[_], &composite)]
    {
        let id = asked.upload(key, said, OF_CRC32).await;
        assert_eq!(asked.complete(key, &id, bare(), &[]).await.status, 200);
        assert_eq!(asked.crc32_of(key).await.as_ref(), Some(right), "{key}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_part_has_the_checksum_that_its_upload_promised() {
    let cluster = start().await;
    let gateway = gateway(&cluster).await;
    let asked = Asked(gateway.address());
    let sha = sha256(PARTS[0]);
    for (said, of_part) in [
        (&COMPOSITE as &[_], &[] as &[_]),
        (&COMPOSITE, &[("x-amz-checksum-sha256", sha.as_str())]),
        (&FULL_OBJECT, &[("x-amz-checksum-sha256", sha.as_str())]),
    ] {
        let id = asked.begin("k", said).await;
        let answer = asked.part("k", &id, 1, of_part).await;
        assert_eq!(answer.outcome(), (400, "InvalidRequest".to_owned()), "{}", answer.text());
        assert!(cluster.state().uploads.lock()[&id].parts.is_empty());
    }
    // The object's checksum covers its bytes: the gateway computes those of the parts.
    let id = asked.begin("k", &FULL_OBJECT).await;
    for number in [1, 2] {
        assert_eq!(asked.part("k", &id, number, &[]).await.status, 200);
    }
    let answer = asked.complete("k", &id, [None, None], &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(asked.crc32_of("k").await, Some(crc32(&PARTS.concat())));
    // A copied part has one, too, and all are listed with theirs.
    let id = asked.begin("copy", &COMPOSITE).await;
    let target = format!("/bucket/copy?partNumber=1&uploadId={id}");
    let copy = S3Request::new("PUT", &target).header("x-amz-copy-source", "/bucket/k");
    let answer = asked.send(copy).await;
    let sum = Some(crc32(&PARTS.concat()));
    assert_eq!((answer.status, answer.element("ChecksumCRC32")), (200, sum.clone()));
    let listed = asked.send(S3Request::new("GET", &format!("/bucket/copy?uploadId={id}"))).await;
    assert_eq!(listed.element("ChecksumCRC32"), sum, "{}", listed.text());
    assert_eq!(listed.element("ChecksumType").as_deref(), Some("COMPOSITE"));
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_checksum_that_is_not_verified_is_refused() {
    let cluster = start().await;
    let gateway = gateway(&cluster).await;
    let asked = Asked(gateway.address());
    let id = asked.begin("part", &[]).await;
    let targets = ["/bucket/k".to_owned(), format!("/bucket/part?partNumber=1&uploadId={id}")];
    for target in &targets {
        for (name, value) in [
            ("x-amz-checksum-sha512", "AAAA"),
            ("x-amz-checksum-md5", "AAAA"),
            ("x-amz-checksum-xxhash64", "AAAA"),
            ("x-amz-checksum-xxhash3", "AAAA"),
            ("x-amz-checksum-xxhash128", "AAAA"),
            ("x-amz-sdk-checksum-algorithm", "CRC32"),
        ] {
            let put = S3Request::new("PUT", target).header(name, value).body("x");
            let answer = asked.send(put).await;
            assert!([400, 501].contains(&answer.status), "{target} {name}: {}", answer.status);
        }
    }
    assert!(cluster.get("k").await.is_err());
    assert!(cluster.state().uploads.lock()[&id].parts.is_empty());
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_completion_whose_answer_was_lost_is_answered_again() {
    let cluster = start().await;
    let gateway = gateway(&cluster).await;
    let asked = Asked(gateway.address());
    let id = asked.upload("k", &FULL_OBJECT, OF_CRC32).await;
    let answers = [
        asked.complete("k", &id, [None, None], &[]).await,
        asked.complete("k", &id, [None, None], &[]).await,
        asked.complete("k", &id, [None, None], &[(CRC32, &crc32(&PARTS.concat()))]).await,
    ];
    for answer in &answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.element("ETag"), answers[0].element("ETag"));
        assert_eq!(answer.element("ChecksumCRC32"), Some(crc32(&PARTS.concat())));
    }
    let gone = (404, "NoSuchUpload".to_owned());
    // Another list, another checksum, another upload, or an object written later.
    let target = format!("/bucket/k?uploadId={id}");
    let part = format!("<Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>", etag(PARTS[0]));
    let other = format!("<CompleteMultipartUpload>{part}</CompleteMultipartUpload>");
    let other = asked.send(S3Request::new("POST", &target).body(other)).await;
    assert_eq!(other.outcome(), gone);
    let wrong = asked.complete("k", &id, [None, None], &[(CRC32, &crc32(b"other"))]).await;
    assert_eq!(wrong.outcome(), gone);
    for said in [("x-amz-mp-object-size", "7"), ("x-amz-checksum-type", "COMPOSITE")] {
        assert_eq!(asked.complete("k", &id, [None, None], &[said]).await.outcome(), gone);
    }
    // An error of OM is no answer about the upload.
    *cluster.state().look_up_fails.lock() = true;
    let unknown = asked.complete("k", &id, [None, None], &[]).await;
    assert!(unknown.status >= 500, "{}", unknown.text());
    *cluster.state().look_up_fails.lock() = false;
    assert_eq!(asked.complete("k", "upload-x", [None, None], &[]).await.outcome(), gone);
    assert_eq!(asked.send(S3Request::new("PUT", "/bucket/k").body("new")).await.status, 200);
    assert_eq!(asked.complete("k", &id, [None, None], &[]).await.outcome(), gone);
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_document_with_a_trailer_is_verified_or_refused() {
    let cluster = start().await;
    let gateway = gateway(&cluster).await;
    let asked = Asked(gateway.address());
    let id = asked.upload("k", &[], OF_CRC32).await;
    let part = |(number, body): (usize, &[u8])| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{}</ETag></Part>", etag(body))
    };
    let parts: String = (1..).zip(PARTS).map(part).collect();
    let complete = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let delete = "<Delete><Object><Key>k</Key></Object></Delete>".to_owned();
    let wrong = BASE64.encode(Md5::digest(b"other"));
    let documents =
        [(format!("/bucket/k?uploadId={id}"), complete), ("/bucket?delete".into(), delete)];
    for (target, document) in &documents {
        let right = BASE64.encode(Md5::digest(document));
        // No trailer follows, whatever else is declared.
        for md5 in [&wrong, &right] {
            let post = S3Request::new("POST", target).header("x-amz-trailer", CRC32);
            let answer = asked.send(post.header("content-md5", md5).body(document.as_str())).await;
            assert_eq!(answer.status, 400, "{target}: {}", answer.text());
        }
        let (length, sum) = (document.len(), crc32(document.as_bytes()));
        let chunks = format!("{length:x}\r\n{document}\r\n0\r\n{CRC32}:{sum}\r\n\r\n");
        let post = S3Request::new("POST", target)
            .payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER")
            .header("content-encoding", "aws-chunked")
            .header("x-amz-decoded-content-length", length)
            .header("x-amz-trailer", CRC32);
        let answer = asked.send(post.body(chunks)).await;
        assert_eq!(answer.outcome(), (501, "NotImplemented".to_owned()), "{}", answer.text());
    }
    let state = cluster.state();
    assert!(state.uploads.lock().contains_key(&id) && state.asked(Type::DeleteKeys).is_empty());
    // Without a trailer the document's own MD5 counts.
    let (target, document) = &documents[0];
    for (md5, status) in [(wrong, 400), (BASE64.encode(Md5::digest(document)), 200)] {
        let post = S3Request::new("POST", target).header("content-md5", md5);
        let answer = asked.send(post.body(document.as_str())).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    gateway.shutdown().await;
}
