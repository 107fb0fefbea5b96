//! Signatures of requests: AWS Signature Version 4.

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The region that a gateway without regions takes.
const REGION: &str = "us-east-1";

/// A pair of keys.
pub(super) struct Signer {
    access_key: String,
    /// What keys of days are made from.
    secret: Vec<u8>,
}

/// A request that is to be signed.
pub(super) struct Unsigned<'a> {
    pub(super) method: &'a str,
    pub(super) host: &'a str,
    /// Encoded.
    pub(super) path: &'a str,
    /// Encoded and sorted.
    pub(super) query: &'a str,
    /// SHA-256 of the body, in hexadecimal.
    pub(super) sha256: &'a str,
}

impl Signer {
    pub(super) fn new(access_key: String, secret_key: &str) -> Self {
        Self { access_key, secret: format!("AWS4{secret_key}").into_bytes() }
    }

    /// The headers of a request, with the signature.
    pub(super) fn headers(
        &self,
        request: &Unsigned<'_>,
        now: DateTime<Utc>,
    ) -> Vec<(&'static str, String)> {
        let time = now.format("%Y%m%dT%H%M%SZ").to_string();
        let day = now.format("%Y%m%d").to_string();
        let Unsigned { method, host, path, query, sha256: body } = request;
        let signed = "host;x-amz-content-sha256;x-amz-date";
        let canonical = format!(
            "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{body}\n\
             x-amz-date:{time}\n\n{signed}\n{body}"
        );
        let scope = format!("{day}/{REGION}/s3/aws4_request");
        let to_sign =
            format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(canonical.as_bytes()));
        let parts = [day.as_str(), REGION, "s3", "aws4_request"];
        let key = parts.iter().fold(self.secret.clone(), |key, part| hmac(&key, part.as_bytes()));
        let signature = hex::encode(hmac(&key, to_sign.as_bytes()));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
            self.access_key
        );
        vec![
            ("host", (*host).to_owned()),
            ("x-amz-content-sha256", (*body).to_owned()),
            ("x-amz-date", time),
            ("authorization", authorization),
        ]
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
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
    use super::*;

    /// The example of a GET of a list in Amazon's "Examples: signature calculations".
    #[test]
    fn the_signature_is_that_of_amazons_example() {
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let signer = Signer::new("AKIAIOSFODNN7EXAMPLE".to_owned(), secret);
        let request = Unsigned {
            method: "GET",
            host: "examplebucket.s3.amazonaws.com",
            path: "/",
            query: "max-keys=2&prefix=J",
            sha256: &sha256(b""),
        };
        let now = "2013-05-24T00:00:00Z".parse().unwrap();
        let headers = signer.headers(&request, now);
        let (_, authorization) = headers.last().unwrap();
        assert_eq!(
            authorization,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders=host;x-amz-content-sha256;x-amz-date, \
             Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }
}
