//! Invalid signatures: the request has no effect, and the code names the error.

use std::time::Duration;

use sha2::{Digest, Sha256};
use testkit::{S3Answer, S3Request, S3Signer};

use super::cluster::{Cluster, code};

async fn say(cluster: &Cluster, head: Vec<u8>, body: &[u8]) -> S3Answer {
    S3Answer::of(cluster.address(), &[head.as_slice(), body].concat()).await
}

#[tokio::test]
async fn a_request_that_is_not_as_it_was_signed_does_nothing() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let address = cluster.address();
    let right = S3Request::new("PUT", "/bucket/k?x-id=PutObject")
        .header("x-amz-meta-colour", "blue")
        .body("changed");
    let head = String::from_utf8(right.head(address, &cluster.signer())).unwrap();
    let denied = code(403, "SignatureDoesNotMatch");
    let cases = [
        head.replace("PUT /bucket/k?", "PUT /bucket/l?"),
        head.replace("x-id=PutObject", "x-id=Other"),
        head.replace("x-id=PutObject", "x-id=PutObject&more=1"),
        head.replace("colour: blue", "colour: red"),
        head.replace("PUT /", "DELETE /"),
        head.replace("Signature=", "Signature=0"),
        head.replace("SignedHeaders=host;", "SignedHeaders="),
        head.replace(
            "x-amz-content-sha256: UNSIGNED-PAYLOAD",
            &format!("x-amz-content-sha256: {}", hex_digest(b"changed")),
        ),
    ];
    for (number, wrong) in cases.into_iter().enumerate() {
        assert_ne!(wrong, head, "case {number} changes nothing");
        let answer = say(&cluster, wrong.into_bytes(), b"changed").await;
        assert!(
            answer.outcome() == denied || answer.status == 400,
            "case {number}: {} {}",
            answer.status,
            answer.text()
        );
    }
    let strangers = [
        (S3Signer::new("nobody", "a-secret"), "InvalidAccessKeyId"),
        (S3Signer::new("", "a-secret"), ""),
        (S3Signer::new("tester", "another-secret"), "SignatureDoesNotMatch"),
        (S3Signer::new("tester", ""), "SignatureDoesNotMatch"),
    ];
    for (stranger, expected) in strangers {
        let answer = right.send(address, &stranger).await;
        assert!([400, 403].contains(&answer.status), "{stranger:?}: {}", answer.status);
        if !expected.is_empty() {
            assert_eq!(answer.outcome(), code(403, expected), "{stranger:?}");
        }
    }
    let anonymous = say(&cluster, right.anonymous_head(address), b"changed").await;
    assert_eq!(anonymous.outcome(), code(403, "AccessDenied"));
    assert_eq!(cluster.get("/bucket/k").await, b"content");
    assert_eq!(cluster.names().await, ["k"]);
    cluster.stop().await;
}

#[tokio::test]
async fn a_signature_is_of_its_time() {
    let cluster = Cluster::start().await;
    let request = S3Request::new("PUT", "/bucket/k").body("x");
    let hour = Duration::from_secs(3600);
    let now = cluster.signer();
    for time in [now.time - hour, now.time + hour, std::time::UNIX_EPOCH] {
        let answer = request.send(cluster.address(), &S3Signer { time, ..now.clone() }).await;
        assert_eq!(answer.outcome(), code(403, "RequestTimeTooSkewed"), "{time:?}");
    }
    let near = S3Signer { time: now.time - Duration::from_secs(300), ..now.clone() };
    assert_eq!(request.send(cluster.address(), &near).await.status, 200);
    cluster.stop().await;
}

#[tokio::test]
async fn what_is_no_authorization_is_refused() {
    let cluster = Cluster::start().await;
    let head = S3Request::new("GET", "/bucket").anonymous_head(cluster.address());
    let head = String::from_utf8(head).unwrap();
    let long = format!("AWS4-HMAC-SHA256 {}", "Credential=".repeat(2000));
    for value in [
        "",
        "Basic dGVzdGVyOmEtc2VjcmV0",
        "Bearer x",
        "AWS tester:c2lnbmF0dXJl",
        "AWS :",
        "AWS",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=, SignedHeaders=, Signature=",
        "AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=ab",
        "AWS4-HMAC-SHA256 Credential=tester/99999999/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=zz",
        "AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/s3, SignedHeaders=host, Signature=ab",
        "AWS4-ECDSA-P256-SHA256 Credential=tester/20260101/s3/aws4_request, SignedHeaders=host, Signature=ab",
        long.as_str(),
    ] {
        let wrong = head.replace("connection:", &format!("authorization: {value}\r\nconnection:"));
        let answer = say(&cluster, wrong.into_bytes(), b"").await;
        let shown = &value[..value.len().min(80)];
        assert!(
            (400..=403).contains(&answer.status) || answer.status == 501,
            "{shown}: {} {}",
            answer.status,
            answer.text()
        );
        assert!(!answer.text().contains("<Name>bucket"), "{shown}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_body_is_what_was_signed() {
    let cluster = Cluster::start().await;
    let put =
        |body: &str, payload: &str| S3Request::new("PUT", "/bucket/k").body(body).payload(payload);
    let right = hex_digest(b"signed");
    assert_eq!(cluster.send(&put("signed", &right)).await.status, 200);
    let other = cluster.send(&put("others", &right)).await;
    assert_eq!(other.outcome(), code(400, "XAmzContentSHA256Mismatch"), "{}", other.text());
    for payload in ["", "abc", "UNSIGNED", &"g".repeat(64)] {
        let answer = cluster.send(&put("others", payload)).await;
        assert!([400, 403].contains(&answer.status), "{payload}: {}", answer.text());
    }
    assert_eq!(cluster.get("/bucket/k").await, b"signed");
    cluster.stop().await;
}

#[tokio::test]
async fn a_presigned_request_is_good_for_what_it_says() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/k", "content").await;
    let (address, signer) = (cluster.address(), cluster.signer());
    let get = S3Request::new("GET", "/bucket/k");
    let head = String::from_utf8(get.presigned_head(address, &signer, 60)).unwrap();
    let answer = say(&cluster, head.clone().into_bytes(), b"").await;
    assert_eq!((answer.status, answer.text()), (200, "content".to_owned()));
    for wrong in [
        head.replace("GET", "DELETE"),
        head.replace("/bucket/k", "/bucket/l"),
        head.replace("Expires=60", "Expires=600"),
        head.replace("X-Amz-Signature=", "X-Amz-Signature=0"),
        head.replace("&X-Amz-Signature=", "&X-Amz-Unsigned="),
    ] {
        let answer = say(&cluster, wrong.clone().into_bytes(), b"").await;
        assert!([400, 403].contains(&answer.status), "{wrong}: {}", answer.text());
    }
    let before = S3Signer { time: signer.time - Duration::from_secs(3600), ..signer.clone() };
    let expired = say(&cluster, get.presigned_head(address, &before, 60), b"").await;
    assert_eq!(expired.outcome(), code(403, "AccessDenied"), "{}", expired.text());
    // The maximum is a week, as in S3.
    let endless = say(&cluster, get.presigned_head(address, &signer, 604_801), b"").await;
    assert_eq!(endless.status, 400, "{}", endless.text());
    assert_eq!(cluster.names().await, ["k"]);
    cluster.stop().await;
}

fn hex_digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
