//! Signatures of S3 requests: AWS Signature Version 4, for load generators and tests.
//!
//! A [`Request`] contains the signed parts of a request, a [`Signer`] has the keys. The caller puts
//! the result into the `Authorization` header or into the query. The gateway verifies signatures
//! with s3s, so these signatures are checked by independent code.

mod date;

use std::time::SystemTime;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub use date::{amz_date, http_date};

/// Name of the algorithm in requests.
pub const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Region for a gateway without regions.
const REGION: &str = "us-east-1";

/// A request to sign.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path, percent-encoded.
    pub path: &'a str,
    /// The query, percent-encoded, in any order.
    pub query: &'a str,
    /// The signed headers: names in lower case, in alphabetical order.
    pub headers: &'a [(String, String)],
    /// Value of `x-amz-content-sha256`: the SHA-256 of the body in hexadecimal, or a
    /// constant such as `UNSIGNED-PAYLOAD`.
    pub payload: &'a str,
}

impl Request<'_> {
    /// Returns the names of the signed headers in the form of a request.
    pub fn signed_headers(&self) -> String {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.join(";")
    }

    /// Returns the canonical request, which both sides hash.
    fn canonical(&self) -> String {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        let mut pairs: Vec<String> = pairs
            .map(|pair| if pair.contains('=') { pair.into() } else { format!("{pair}=") })
            .collect();
        pairs.sort();
        let lines: String =
            self.headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
        let Self { method, path, payload, .. } = self;
        let (query, signed) = (pairs.join("&"), self.signed_headers());
        format!("{method}\n{path}\n{query}\n{lines}\n{signed}\n{payload}")
    }
}

/// An access key and its secret key.
#[derive(Clone)]
pub struct Signer {
    access_key: String,
    /// Secret from which the signing key of each day is derived.
    secret: Vec<u8>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

impl Signer {
    /// Returns a signer with this pair of keys.
    pub fn new(access_key: impl Into<String>, secret_key: &str) -> Self {
        let secret = format!("AWS4{secret_key}").into_bytes();
        Self { access_key: access_key.into(), secret }
    }

    /// Returns the credential of a day: access key, day, region and service.
    pub fn credential(&self, time: SystemTime) -> String {
        format!("{}/{}", self.access_key, scope(&amz_date(time)))
    }

    /// Returns the signature of a request of `time`, in hexadecimal.
    pub fn sign(&self, request: &Request<'_>, time: SystemTime) -> String {
        let time = amz_date(time);
        let digest = sha256(request.canonical().as_bytes());
        let to_sign = format!("{ALGORITHM}\n{time}\n{}\n{digest}", scope(&time));
        let parts = [day(&time), REGION, "s3", "aws4_request"];
        let key = parts.iter().fold(self.secret.clone(), |key, part| hmac(&key, part.as_bytes()));
        hex::encode(hmac(&key, to_sign.as_bytes()))
    }

    /// Returns the value of the `Authorization` header of a request of `time`.
    pub fn authorization(&self, request: &Request<'_>, time: SystemTime) -> String {
        format!(
            "{ALGORITHM} Credential={}, SignedHeaders={}, Signature={}",
            self.credential(time),
            request.signed_headers(),
            self.sign(request, time)
        )
    }
}

fn day(amz_date: &str) -> &str {
    amz_date.split('T').next().unwrap_or_default()
}

fn scope(amz_date: &str) -> String {
    format!("{}/{REGION}/s3/aws4_request", day(amz_date))
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    // Keys may be of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key)
        .unwrap_or_else(|e| unreachable!("a key of an HMAC: {e}"));
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The example of a GET of a list in Amazon's "Examples: signature calculations".
    #[test]
    fn the_signature_is_that_of_amazons_example() {
        let signer =
            Signer::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        let (time, payload) =
            (SystemTime::UNIX_EPOCH + Duration::from_secs(1_369_353_600), sha256(b""));
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com"),
            ("x-amz-content-sha256", payload.as_str()),
            ("x-amz-date", "20130524T000000Z"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for query in ["max-keys=2&prefix=J", "prefix=J&max-keys=2"] {
            let request =
                Request { method: "GET", path: "/", query, headers: &headers, payload: &payload };
            assert_eq!(
                signer.authorization(&request, time),
                "AWS4-HMAC-SHA256 \
                 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                 SignedHeaders=host;x-amz-content-sha256;x-amz-date, \
                 Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            );
        }
    }

    #[test]
    fn a_secret_is_in_no_log_line() {
        assert!(!format!("{:?}", Signer::new("key", "secret")).contains("secret"));
    }
}
