//! Fuzz targets for the query and headers of S3 requests.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};

use crate::digest::Claims;
use crate::metadata::{ObjectMetadata, parse_http_date, without_chunked};
use crate::{multipart, refuse, signed, target};

fn query(data: &[u8]) {
    let Ok(uri) = Uri::try_from(data) else { return };
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let request = Request::builder().method(method).uri(uri.clone()).body(());
        let _ = request.map(|mut request| (target::check(&request), signed::check(&mut request)));
    }
}

/// Header lines.
fn headers(data: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(100) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = HeaderName::from_bytes(parts.next().unwrap_or_default());
        let value = HeaderValue::from_bytes(parts.next().unwrap_or_default());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let _ = Claims::of_headers(&headers);
    let mut request = Request::new(());
    *request.headers_mut() = headers;
    let _ = signed::check(&mut request);
}

/// Values of headers.
fn values(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(tags) = refuse::tags_of_header(Some(&text)) {
        assert!(refuse::check_tags(&tags).is_ok());
    }
    let _ = (parse_http_date(Some(&text)), without_chunked(Some(&text)));
    let entry =
        |key: &str| proto::hdds::KeyValue { key: key.into(), value: Some(text.to_string()) };
    let _ = ObjectMetadata::of_key(&[entry("s3:checksum"), entry("s3:expires"), entry("ETag")]);
    for size in [0, 1, 1000, u64::MAX] {
        if let Ok(range) = multipart::exact_range(&text, size) {
            assert!(range.start < range.end && range.end <= size, "{range:?} of {size}");
        }
    }
}

#[test]
fn any_query_and_headers_are_understood_or_refused() {
    let seeds = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    testkit::fuzz(vec![
        (
            "s3-query",
            query,
            seeds(&[
                "/bucket/key?uploads",
                "/bucket?list-type=2&X-Amz-Expires=604800&prefix=%C3%BC",
                "/b/k?partNumber=1&uploadId=x",
                "/b/k?X-Amz-SignedHeaders=host&X-Amz-Signature=0&x-amz-meta-a=%C3%BC+b",
                "/b/k?AWSAccessKeyId=a&Expires=1&Signature=0&x-amz-acl=private",
            ]),
        ),
        (
            "s3-headers",
            headers,
            seeds(&[
                "content-md5:1B2M2Y8AsgTpgAmY7PhCfg==\nx-amz-checksum-crc32:jNwWgw==\n",
                "x-amz-trailer:x-amz-checksum-sha256\nx-amz-checksum-algorithm:SHA256",
                "authorization:AWS4-HMAC-SHA256 Credential=a/20260101/r/s3/aws4_request, SignedHeaders=host, \
                 Signature=0\nx-amz-meta-a:b",
            ]),
        ),
        (
            "s3-values",
            values,
            seeds(&[
                "bytes=0-9",
                "a=1&b=%C3%BC",
                "Wed, 21 Oct 2015 07:28:00 GMT",
                "gzip, aws-chunked",
                "CRC32:jNwWgw==",
            ]),
        ),
    ]);
}
