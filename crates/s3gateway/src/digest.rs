//! ETag and checksums of a body, computed while it streams and verified before the object becomes
//! visible.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crc_fast::{CrcAlgorithm, Digest as Crc};
use http::HeaderMap;
use md5::{Digest as _, Md5};
use s3s::dto::ChecksumAlgorithm;
use s3s::{S3Error, S3ErrorCode, S3Result};
use sha1::Sha1;
use sha2::Sha256;

use crate::errors::invalid_request;

/// A checksum algorithm of S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Algorithm {
    Crc32,
    Crc32c,
    Crc64Nvme,
    Sha1,
    Sha256,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 5] =
        [Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Sha1, Self::Sha256];

    /// The algorithm's name in the S3 API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
            Self::Crc64Nvme => "CRC64NVME",
            Self::Sha1 => "SHA1",
            Self::Sha256 => "SHA256",
        }
    }

    /// The header of the checksum's value.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Crc32 => "x-amz-checksum-crc32",
            Self::Crc32c => "x-amz-checksum-crc32c",
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Sha1 => "x-amz-checksum-sha1",
            Self::Sha256 => "x-amz-checksum-sha256",
        }
    }

    /// Size of the value in bytes.
    fn width(self) -> usize {
        match self {
            Self::Crc32 | Self::Crc32c => 4,
            Self::Crc64Nvme => 8,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    pub(crate) fn of_dto(algorithm: &ChecksumAlgorithm) -> S3Result<Self> {
        let name = algorithm.as_str();
        Self::ALL
            .into_iter()
            .find(|a| a.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                invalid_request(
                    "Checksum algorithm provided is unsupported. Please try again with any of the valid types: \
                     [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
                )
            })
    }
}

/// A checksum in the text form of S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) algorithm: Algorithm,
    /// Base64, followed by `-N` for a checksum over the checksums of N parts.
    pub(crate) value: String,
}

/// A checksum computation in progress.
pub(crate) enum Hasher {
    Crc(Algorithm, Crc),
    Sha1(Box<Sha1>),
    Sha256(Box<Sha256>),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Crc32 => Self::Crc(algorithm, Crc::new(CrcAlgorithm::Crc32IsoHdlc)),
            Algorithm::Crc32c => Self::Crc(algorithm, Crc::new(CrcAlgorithm::Crc32Iscsi)),
            Algorithm::Crc64Nvme => Self::Crc(algorithm, Crc::new(CrcAlgorithm::Crc64Nvme)),
            Algorithm::Sha1 => Self::Sha1(Box::default()),
            Algorithm::Sha256 => Self::Sha256(Box::default()),
        }
    }

    pub(crate) fn update(&mut self, data: &[u8]) {
        match self {
            Self::Crc(_, crc) => crc.update(data),
            Self::Sha1(sha) => sha.update(data),
            Self::Sha256(sha) => sha.update(data),
        }
    }

    pub(crate) fn finish(self) -> Checksum {
        let (algorithm, bytes) = match self {
            Self::Crc(Algorithm::Crc64Nvme, crc) => {
                (Algorithm::Crc64Nvme, crc.finalize().to_be_bytes().to_vec())
            }
            Self::Crc(algorithm, crc) => {
                (algorithm, (crc.finalize() as u32).to_be_bytes().to_vec())
            }
            Self::Sha1(sha) => (Algorithm::Sha1, sha.finalize().to_vec()),
            Self::Sha256(sha) => (Algorithm::Sha256, sha.finalize().to_vec()),
        };
        Checksum { algorithm, value: BASE64.encode(bytes) }
    }
}

/// Checksums and digests that the client declares for a body.
#[derive(Debug, Default, Clone)]
pub(crate) struct Claims {
    md5: Option<[u8; 16]>,
    checksum: Option<Checksum>,
    /// The algorithm of a checksum in the trailer.
    trailing: Option<Algorithm>,
    /// An algorithm to compute although the client declared no checksum.
    wanted: Option<Algorithm>,
}

impl Claims {
    /// Reads the declared checksums from the headers.
    pub(crate) fn of_headers(headers: &HeaderMap) -> S3Result<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut claims = Self::default();
        if let Some(value) = text("content-md5") {
            claims.md5 = Some(parse_md5(value)?);
        }
        for algorithm in Algorithm::ALL {
            if let Some(value) = text(algorithm.header()) {
                let checksum = Checksum { algorithm, value: value.trim().to_owned() };
                checksum.check_form()?;
                if claims.checksum.replace(checksum).is_some() {
                    return Err(invalid_request(
                        "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
                    ));
                }
            }
        }
        claims.trailing = trailing(headers)?;
        if claims.checksum.is_some() && claims.trailing.is_some() {
            return Err(invalid_request("Expecting a single x-amz-checksum- header"));
        }
        Ok(claims)
    }

    /// Reads the declared checksums of a document whose checksum header describes something else:
    /// only its MD5, and a checksum in the trailer.
    pub(crate) fn of_headers_besides_checksum(headers: &HeaderMap) -> S3Result<Self> {
        let md5 = headers.get("content-md5").and_then(|value| value.to_str().ok());
        let (md5, trailing) = (md5.map(parse_md5).transpose()?, trailing(headers)?);
        Ok(Self { md5, trailing, ..Self::default() })
    }

    /// Requests a checksum although the client declared none.
    pub(crate) fn want(mut self, algorithm: Option<Algorithm>) -> Self {
        self.wanted = algorithm;
        self
    }

    /// The algorithm of the checksum that will be computed.
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        self.checksum.as_ref().map(|c| c.algorithm).or(self.trailing).or(self.wanted)
    }

    /// Returns `true` if there is nothing to verify.
    pub(crate) fn is_empty(&self) -> bool {
        self.md5.is_none() && self.checksum.is_none() && self.trailing.is_none()
    }
}

impl Checksum {
    /// Compares with a declared checksum. The declared composite value may omit its part count.
    pub(crate) fn is_claimed_as(&self, claimed: &Self) -> bool {
        let value = self.value.split_once('-').map(|(value, _)| value);
        claimed.algorithm == self.algorithm
            && (claimed.value == self.value || value == Some(claimed.value.as_str()))
    }

    fn check_form(&self) -> S3Result<()> {
        match BASE64.decode(&self.value) {
            Ok(bytes) if bytes.len() == self.algorithm.width() => Ok(()),
            _ => Err(invalid_request(format!(
                "Value for {} header is invalid.",
                self.algorithm.header()
            ))),
        }
    }
}

/// The algorithm of a checksum that is announced for the trailer.
fn trailing(headers: &HeaderMap) -> S3Result<Option<Algorithm>> {
    let mut trailing = None;
    let trailers = headers.get_all("x-amz-trailer");
    for name in trailers.iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(',')) {
        let found =
            Algorithm::ALL.into_iter().find(|a| name.trim().eq_ignore_ascii_case(a.header()));
        if found.is_none() || trailing.is_some() {
            return Err(invalid_request(
                "The value specified in the x-amz-trailer header is not supported",
            ));
        }
        trailing = found;
    }
    Ok(trailing)
}

fn parse_md5(value: &str) -> S3Result<[u8; 16]> {
    BASE64.decode(value.trim()).ok().and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
        S3Error::with_message(
            S3ErrorCode::InvalidDigest,
            "The Content-MD5 you specified was invalid.",
        )
    })
}

/// Computes the ETag of a body and its declared checksums.
pub(crate) struct BodyDigest {
    claims: Claims,
    md5: Md5,
    hasher: Option<Hasher>,
}

/// The verified digests of a body.
#[derive(Debug, Clone)]
pub(crate) struct Verified {
    /// MD5, in hex.
    pub(crate) etag: String,
    pub(crate) checksum: Option<Checksum>,
}

impl BodyDigest {
    pub(crate) fn new(claims: Claims) -> Self {
        let hasher = claims.algorithm().map(Hasher::new);
        Self { claims, md5: Md5::new(), hasher }
    }

    pub(crate) fn update(&mut self, data: &[u8]) {
        self.md5.update(data);
        if let Some(hasher) = &mut self.hasher {
            hasher.update(data);
        }
    }

    /// Compares the computed digests with the declared ones; `trailers` follow the body.
    pub(crate) fn verify(self, trailers: Option<&HeaderMap>) -> S3Result<Verified> {
        let md5: [u8; 16] = self.md5.finalize().into();
        if self.claims.md5.is_some_and(|claimed| claimed != md5) {
            return Err(S3Error::with_message(
                S3ErrorCode::BadDigest,
                "The Content-MD5 you specified did not match what we received.",
            ));
        }
        let checksum = self.hasher.map(Hasher::finish);
        let mut claimed = self.claims.checksum;
        if let Some(algorithm) = self.claims.trailing {
            let value = trailers
                .and_then(|trailers| trailers.get(algorithm.header()))
                .and_then(|value| value.to_str().ok());
            let Some(value) = value else {
                return Err(crate::errors::malformed_trailer());
            };
            let trailer = Checksum { algorithm, value: value.trim().to_owned() };
            trailer.check_form()?;
            claimed = Some(trailer);
        }
        if let Some(claimed) = claimed
            && checksum.as_ref() != Some(&claimed)
        {
            return Err(S3Error::with_message(
                S3ErrorCode::BadDigest,
                format!(
                    "The {} you specified did not match the calculated checksum.",
                    claimed.algorithm.name()
                ),
            ));
        }
        Ok(Verified { etag: hex::encode(md5), checksum })
    }
}

/// The checksum over the checksums of parts, in S3's form `base64-N`.
pub(crate) fn composite(algorithm: Algorithm, parts: &[&str]) -> S3Result<Checksum> {
    let mut hasher = Hasher::new(algorithm);
    for part in parts {
        let bytes = BASE64.decode(part).map_err(|_| {
            invalid_request(format!("Value for {} of a part is invalid.", algorithm.header()))
        })?;
        hasher.update(&bytes);
    }
    let whole = hasher.finish();
    Ok(Checksum { algorithm, value: format!("{}-{}", whole.value, parts.len()) })
}

/// The CRC of the concatenated parts, from their CRCs and lengths.
pub(crate) fn combined(algorithm: Algorithm, parts: &[(&str, u64)]) -> S3Result<Checksum> {
    let kind = match algorithm {
        Algorithm::Crc32 => CrcAlgorithm::Crc32IsoHdlc,
        Algorithm::Crc32c => CrcAlgorithm::Crc32Iscsi,
        Algorithm::Crc64Nvme => CrcAlgorithm::Crc64Nvme,
        Algorithm::Sha1 | Algorithm::Sha256 => {
            return Err(invalid_request(format!(
                "The FULL_OBJECT checksum type cannot be used with the {} checksum algorithm.",
                algorithm.name()
            )));
        }
    };
    let mut whole: Option<u64> = None;
    for (value, length) in parts {
        Checksum { algorithm, value: (*value).to_owned() }.check_form()?;
        let bytes = BASE64.decode(value).unwrap_or_default();
        let crc = bytes.iter().fold(0u64, |crc, byte| crc << 8 | u64::from(*byte));
        whole = Some(match whole {
            None => crc,
            Some(before) => crc_fast::checksum_combine(kind, before, crc, *length),
        });
    }
    let bytes = whole.unwrap_or_default().to_be_bytes();
    let value = BASE64.encode(&bytes[8 - algorithm.width()..]);
    Ok(Checksum { algorithm, value })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_str(v).unwrap())).collect()
    }

    fn digest(claims: &[(&'static str, &str)], trailers: Option<&HeaderMap>) -> S3Result<Verified> {
        let mut digest = BodyDigest::new(Claims::of_headers(&headers(claims))?);
        digest.update(b"1234");
        digest.update(b"56789");
        digest.verify(trailers)
    }

    /// Values of the published check string `123456789`.
    const VALUES: [(Algorithm, &str); 5] = [
        (Algorithm::Crc32, "y/Q5Jg=="),
        (Algorithm::Crc32c, "4waSgw=="),
        (Algorithm::Crc64Nvme, "rosUhgp5mIg="),
        (Algorithm::Sha1, "98O8HYCOBHMq32eZZczDTKeuNEE="),
        (Algorithm::Sha256, "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
    ];

    #[test]
    fn right_claims_pass_and_the_etag_is_md5() {
        for (algorithm, value) in VALUES {
            let verified = digest(&[(algorithm.header(), value)], None).unwrap();
            assert_eq!(verified.etag, "25f9e794323b453885f5181f1b624d0b");
            assert_eq!(verified.checksum.unwrap().value, value);
        }
        assert!(digest(&[("content-md5", "JfnnlDI7RTiF9RgfG2JNCw==")], None).is_ok());
    }

    #[test]
    fn wrong_claims_are_told_apart_from_malformed_ones() {
        let cases = [
            ("content-md5", "JfnnlDI7RTiF9RgfG2JNCA==", "BadDigest"),
            ("content-md5", "JfnnlDI7RTiF9Rgf", "InvalidDigest"),
            ("content-md5", "!", "InvalidDigest"),
            ("x-amz-checksum-crc32", "y/Q5Jw==", "BadDigest"),
            ("x-amz-checksum-crc32", "y/Q5", "InvalidRequest"),
            ("x-amz-checksum-sha256", "y/Q5Jg==", "InvalidRequest"),
            ("x-amz-trailer", "x-amz-what", "InvalidRequest"),
        ];
        for (name, value, code) in cases {
            assert_eq!(digest(&[(name, value)], None).unwrap_err().code().as_str(), code, "{name}");
        }
        let two = [("x-amz-checksum-crc32", "y/Q5Jg=="), ("x-amz-checksum-crc32c", "4waSgw==")];
        assert!(digest(&two, None).is_err());
    }

    #[test]
    fn a_trailing_checksum_is_required_and_verified() {
        let claims = [("x-amz-trailer", "x-amz-checksum-crc32")];
        assert!(digest(&claims, None).is_err());
        let right = headers(&[("x-amz-checksum-crc32", "y/Q5Jg==")]);
        assert!(digest(&claims, Some(&right)).is_ok());
        let wrong = headers(&[("x-amz-checksum-crc32", "y/Q5Jw==")]);
        assert_eq!(digest(&claims, Some(&wrong)).unwrap_err().code().as_str(), "BadDigest");
    }

    #[test]
    fn crcs_of_parts_combine_to_that_of_the_whole() {
        for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64Nvme] {
            let sum = |data: &[u8]| {
                let mut hasher = Hasher::new(algorithm);
                hasher.update(data);
                hasher.finish().value
            };
            let (a, b, c) = (sum(b"12"), sum(b"3456"), sum(b"789"));
            let whole = combined(algorithm, &[(&a, 2), (&b, 4), (&c, 3)]).unwrap();
            assert_eq!(whole.value, sum(b"123456789"), "{algorithm:?}");
        }
        assert!(combined(Algorithm::Sha1, &[]).is_err());
    }

    #[test]
    fn a_composite_checksum_tells_how_many_parts_it_is_over() {
        let whole = composite(Algorithm::Sha256, &[VALUES[4].1, VALUES[4].1]).unwrap();
        assert!(whole.value.ends_with("=-2"), "{}", whole.value);
    }
}
