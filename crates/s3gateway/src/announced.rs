//! Checksum headers of a request: each one is verified, or the request is refused.

use http::{HeaderMap, HeaderName};
use s3s::S3Result;

use crate::digest::Algorithm;
use crate::errors::{invalid_request, not_implemented};

/// Headers whose names look like checksums but are not.
const NO_CHECKSUMS: [&str; 3] =
    ["x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"];

/// Checks that every checksum of a request can be verified, and that an announced one is present.
///
/// # Errors
/// `NotImplemented` for a checksum algorithm that is not supported, `InvalidRequest` for an
/// announced algorithm without a value.
pub(crate) fn check(headers: &HeaderMap) -> S3Result<()> {
    let is_known = |name: &str| {
        NO_CHECKSUMS.contains(&name) || Algorithm::ALL.iter().any(|a| a.header() == name)
    };
    let mut names = headers.keys().map(HeaderName::as_str);
    if let Some(name) = names.find(|name| name.starts_with("x-amz-checksum-") && !is_known(name)) {
        return Err(not_implemented(name));
    }
    for said in headers.get_all("x-amz-sdk-checksum-algorithm") {
        let value = |name: &'static str| headers.get_all(name).iter();
        let trailers = || value("x-amz-trailer").filter_map(|v| v.to_str().ok());
        let is_trailer = |name: &str| {
            trailers().flat_map(|v| v.split(',')).any(|v| v.trim().eq_ignore_ascii_case(name))
        };
        let has = |a: &Algorithm| headers.contains_key(a.header()) || is_trailer(a.header());
        let is_said = |a: &Algorithm| said.as_bytes().eq_ignore_ascii_case(a.name().as_bytes());
        if !Algorithm::ALL.iter().any(has) {
            return Err(invalid_request(
                "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer \
                 headers were found.",
            ));
        }
        if !Algorithm::ALL.iter().filter(|a| is_said(a)).any(has) {
            return Err(invalid_request(
                "Value for x-amz-sdk-checksum-algorithm header is invalid.",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_str(v).unwrap())).collect()
    }

    #[test]
    fn a_checksum_that_is_not_verified_is_refused() {
        let checked = |pairs: &[(&'static str, &str)]| {
            check(&headers(pairs)).err().map(|error| error.code().as_str().to_owned())
        };
        let (said, trailer) = ("x-amz-sdk-checksum-algorithm", "x-amz-trailer");
        let crc32 = ("x-amz-checksum-crc32", "y/Q5Jg==");
        for name in ["sha512", "md5", "xxhash64", "xxhash3", "xxhash128", "future"] {
            let name = format!("x-amz-checksum-{name}").leak();
            assert_eq!(checked(&[(name, "AAAA")]).as_deref(), Some("NotImplemented"), "{name}");
        }
        for (pairs, code) in [
            (&[] as &[_], None),
            (&[crc32], None),
            (&[("x-amz-checksum-mode", "ENABLED")], None),
            (&[("x-amz-checksum-type", "COMPOSITE")], None),
            (&[(said, "CRC32"), crc32], None),
            (&[(said, "crc32"), crc32], None),
            (&[(said, "CRC32"), (trailer, "X-Amz-Checksum-Crc32")], None),
            (&[(said, "CRC32")], Some("InvalidRequest")),
            (&[(said, "SHA1"), crc32], Some("InvalidRequest")),
            (&[(said, "SHA512"), crc32], Some("InvalidRequest")),
            (&[(said, "SHA1"), (trailer, "x-amz-checksum-crc32")], Some("InvalidRequest")),
        ] {
            assert_eq!(checked(pairs).as_deref(), code, "{pairs:?}");
        }
    }
}
