//! Coverage of a request's signature, as far as `s3s` does not check it.
//!
//! `s3s` verifies a signature over the headers that it lists, and then obeys all headers. So anyone
//! who holds a request signed by another user could add an unsigned `x-amz-*` header: a presigned
//! PUT could copy any object that its signer may read. S3 refuses such a request, and so does
//! [`check`].
//!
//! A client may send the time of its request in Date instead of `x-amz-date`; `s3s` reads only the
//! latter.
//!
//! Clients of presigned requests also put headers into the query, which the signature covers. Those
//! are converted to headers here, because `s3s` reads them nowhere else. In Signature V2, which
//! signs all `x-amz-*` headers and few names of the query, they are verified as the headers that
//! they were converted to.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{AUTHORIZATION, DATE};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use s3s::dto::{Timestamp, TimestampFormat};
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::errors::{custom, invalid_argument, invalid_request};

/// Maximum validity of a presigned request: a week, S3's limit.
const LONGEST_PRESIGNED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maximum time a client's clock may be ahead, as for Signature V4.
const CLOCK_SKEW: Duration = Duration::from_secs(15 * 60);

/// Prefix of headers that change the meaning of a request.
const AMZ: &str = "x-amz-";

/// The time of the signature.
const AMZ_DATE: &str = "x-amz-date";

/// The digest of the body. A presigned request may add it: it can only make the body fail.
const CONTENT_SHA256: &str = "x-amz-content-sha256";

/// The digest value of a presigned query that does not cover the body.
const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";

/// Query parameters of the signature itself.
const OF_SIGNATURE: [&str; 7] = [
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-signature",
    "x-amz-signedheaders",
    "x-amz-security-token",
];

/// A name and a value of a query, decoded as in `s3s`.
type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The location of a request's signature.
enum Signature<'a> {
    /// Unsigned.
    None,
    /// The Authorization header. `s3s` refuses all but Signature V4.
    Header(&'a [u8]),
    /// The query, V4.
    Presigned,
    /// The query, V2.
    PresignedV2,
}

/// Checks that the signature covers all `x-amz-*` headers, and converts those in a presigned query
/// to headers.
///
/// # Errors
/// `AccessDenied` for a header that is not signed, or is not text, which no signature covers;
/// `InvalidRequest` for Signature V2 in a header, which never expires; and errors about the time of
/// a presigned request.
pub(crate) fn check<B>(request: &mut Request<B>) -> S3Result<()> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let query: Vec<Pair<'_>> = pairs(&query).collect();
    let exempt = match signature(request.headers(), &query)? {
        Signature::None => return Ok(()),
        Signature::Header(value) if value.starts_with(b"AWS ") => {
            return Err(invalid_request(
                "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
            ));
        }
        Signature::Header(value) => {
            check_covered(request.headers(), signed_by_header(value), None)?;
            add_date(request.headers_mut());
            return Ok(());
        }
        Signature::Presigned => {
            check_expiry_v4(&query)?;
            let names = value_of(&query, "X-Amz-SignedHeaders").unwrap_or_default();
            check_covered(request.headers(), names, Some(CONTENT_SHA256))?;
            OF_SIGNATURE.as_slice()
        }
        Signature::PresignedV2 => {
            check_expiry_v2(&query, SystemTime::now())?;
            check_text(request.headers())?;
            &[]
        }
    };
    promote(request.headers_mut(), &query, exempt)
}

/// # Errors
/// If there are several signatures: their order would decide which one counts.
fn signature<'a>(headers: &'a HeaderMap, query: &[Pair<'_>]) -> S3Result<Signature<'a>> {
    let has = |wanted: &str| query.iter().any(|(name, _)| name == wanted);
    let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    match (header, has("X-Amz-Signature"), has("Signature")) {
        (None, false, false) => Ok(Signature::None),
        (Some(value), false, false) => Ok(Signature::Header(value)),
        (None, true, false) => Ok(Signature::Presigned),
        (None, false, true) => Ok(Signature::PresignedV2),
        _ => Err(invalid_argument(
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string \
             parameter or the Authorization header should be specified",
        )),
    }
}

/// The names between `SignedHeaders=` and the next comma. The last occurrence counts: in a valid
/// header only the signature follows it.
fn signed_by_header(value: &[u8]) -> &str {
    let text = std::str::from_utf8(value).unwrap_or_default();
    let names = text.rsplit_once("SignedHeaders=").map(|(_, rest)| rest);
    names.and_then(|rest| rest.split(',').next()).unwrap_or_default()
}

/// Adds `x-amz-date`, which `s3s` requires, from a time in Date. The signature covers the time in
/// either header. A malformed date is left for `s3s` to refuse.
fn add_date(headers: &mut HeaderMap) {
    if headers.contains_key(AMZ_DATE) {
        return;
    }
    let mut dates = headers.get_all(DATE).iter();
    let (Some(date), None) = (dates.next(), dates.next()) else { return };
    let time = date.to_str().ok().and_then(amz_date);
    if let Some(Ok(time)) = time.map(HeaderValue::try_from) {
        headers.insert(AMZ_DATE, time);
    }
}

/// Converts an HTTP date to the format of x-amz-date; accepts a date already in that format.
fn amz_date(date: &str) -> Option<String> {
    let date = date.trim();
    if date.len() == "20261128T180000Z".len() {
        return Some(date.to_owned());
    }
    // Some clients write the zone as a number.
    let date =
        date.strip_suffix("+0000").map_or_else(|| date.to_owned(), |rest| format!("{rest}GMT"));
    let time = Timestamp::parse(TimestampFormat::HttpDate, &date).ok()?;
    let mut text = Vec::new();
    time.format(TimestampFormat::DateTime, &mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    let (seconds, _) = text.split_at_checked("2026-11-28T18:00:00".len())?;
    Some(format!("{}Z", seconds.replace(['-', ':'], "")))
}

/// Checks that every `x-amz-*` header is among the signed names, in lower case as `s3s` looks them
/// up: a name in another case would match no header and add nothing to the signed text.
fn check_covered(headers: &HeaderMap, signed: &str, exempt: Option<&str>) -> S3Result<()> {
    check_text(headers)?;
    let is_signed = |name: &str| signed.split(';').any(|signed| signed == name);
    match amz(headers).find(|name| Some(*name) != exempt && !is_signed(name)) {
        Some(name) => Err(not_signed(name)),
        None => Ok(()),
    }
}

/// Checks that every `x-amz-*` header is UTF-8: `s3s` omits others from the signed text.
fn check_text(headers: &HeaderMap) -> S3Result<()> {
    let is_text = |value: &HeaderValue| std::str::from_utf8(value.as_bytes()).is_ok();
    match amz(headers).find(|name| !headers.get_all(*name).iter().all(is_text)) {
        Some(name) => Err(not_signed(name)),
        None => Ok(()),
    }
}

fn amz(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.keys().map(HeaderName::as_str).filter(|name| name.starts_with(AMZ))
}

fn not_signed(name: &str) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::AccessDenied,
        format!("There were headers present in the request which were not signed: {name}"),
    )
}

fn value_of<'a>(query: &'a [Pair<'_>], wanted: &str) -> Option<&'a str> {
    query.iter().find(|(name, _)| name == wanted).map(|(_, value)| &**value)
}

fn check_expiry_v4(query: &[Pair<'_>]) -> S3Result<()> {
    let seconds = value_of(query, "X-Amz-Expires").and_then(|value| value.parse::<u64>().ok());
    match seconds {
        Some(seconds) if seconds > LONGEST_PRESIGNED.as_secs() => {
            Err(too_long_presigned("X-Amz-Expires"))
        }
        // `s3s` refuses a value that is not a number.
        _ => Ok(()),
    }
}

/// V2 contains the expiry of a request, but not the time of signing.
fn check_expiry_v2(query: &[Pair<'_>], now: SystemTime) -> S3Result<()> {
    let latest = now + LONGEST_PRESIGNED + CLOCK_SKEW;
    let latest = latest.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let expires = value_of(query, "Expires").and_then(|value| value.parse::<u64>().ok());
    match expires {
        Some(expires) if expires > latest => Err(too_long_presigned("Expires")),
        _ => Ok(()),
    }
}

fn too_long_presigned(name: &str) -> S3Error {
    custom(
        "AuthorizationQueryParametersError",
        http::StatusCode::BAD_REQUEST,
        format!(
            "{name} must be less than a week (in seconds); that is, the given {name} must be less than 604800 \
             seconds"
        ),
    )
}

/// Converts the pairs of a query named `x-amz-*`, in any case, to headers.
///
/// # Errors
/// If a header, or another pair, has a different value.
fn promote(headers: &mut HeaderMap, query: &[Pair<'_>], exempt: &[&str]) -> S3Result<()> {
    for (name, value) in query {
        let name = name.to_ascii_lowercase();
        let says_nothing = name == CONTENT_SHA256 && value == UNSIGNED_PAYLOAD;
        if !name.starts_with(AMZ) || exempt.contains(&name.as_str()) || says_nothing {
            continue;
        }
        let unusable = || invalid_argument(format!("The query parameter {name} is not valid"));
        let header = HeaderName::try_from(&name).map_err(|_| unusable())?;
        let value = HeaderValue::try_from(value.as_bytes()).map_err(|_| unusable())?;
        if headers.get_all(&header).iter().any(|other| *other != value) {
            return Err(invalid_argument(format!(
                "The query parameter {name} and the header of that name differ"
            )));
        }
        headers.insert(header, value);
    }
    Ok(())
}

/// The names and values of a query.
fn pairs(query: &str) -> impl Iterator<Item = Pair<'_>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
}

/// Decodes a part of a query, where a plus is a space.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('+') {
        return percent_encoding::percent_decode_str(text).decode_utf8_lossy();
    }
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: u64 = 7 * 24 * 3600;

    fn request(query: &str, headers: &[(&str, &[u8])]) -> Request<()> {
        let mut request = Request::builder().uri(format!("/bucket/key?{query}")).body(()).unwrap();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            request.headers_mut().append(name, HeaderValue::from_bytes(value).unwrap());
        }
        request
    }

    fn checked(query: &str, headers: &[(&str, &[u8])]) -> Option<String> {
        let refused = check(&mut request(query, headers)).err();
        refused.map(|error| error.code().as_str().to_owned())
    }

    fn v4(signed: &str) -> String {
        format!(
            "AWS4-HMAC-SHA256 Credential=a/20260101/r/s3/aws4_request, SignedHeaders={signed}, Signature=00"
        )
    }

    #[test]
    fn every_amz_header_is_signed() {
        let denied = Some("AccessDenied".to_owned());
        let copy: (&str, &[u8]) = ("x-amz-copy-source", b"/bucket/secret");
        let digest: (&str, &[u8]) = (CONTENT_SHA256, b"UNSIGNED-PAYLOAD");
        for (signed, headers, refused) in [
            ("host;x-amz-date", vec![("x-amz-date", b"d" as &[u8])], false),
            ("host", vec![("x-amzn-trace-id", b"t")], false),
            ("host", vec![("content-type", b"text/plain")], false),
            ("host", vec![copy], true),
            ("host;x-amz-copy-source", vec![copy], false),
            ("host;X-Amz-Copy-Source", vec![copy], true),
            ("host;x-amz-copy-source-range", vec![copy], true),
            ("host;x-amz-meta-a", vec![("x-amz-meta-a", b"1"), ("x-amz-meta-b", b"2")], true),
            ("host;x-amz-meta-a", vec![("x-amz-meta-a", b"\xff")], true),
            ("", vec![copy], true),
        ] {
            let authorization = v4(signed);
            let mut with = headers.clone();
            with.push(("authorization", authorization.as_bytes()));
            assert_eq!(checked("", &with), denied.clone().filter(|_| refused), "{signed}");
            let query = format!("X-Amz-SignedHeaders={signed}&X-Amz-Signature=00");
            assert_eq!(checked(&query, &headers), denied.clone().filter(|_| refused), "{signed}");
        }
        assert_eq!(checked("X-Amz-SignedHeaders=host&X-Amz-Signature=00", &[digest]), None);
        let authorization = v4("host");
        assert_eq!(checked("", &[("authorization", authorization.as_bytes()), digest]), denied);
    }

    #[test]
    fn a_date_of_http_is_one_of_amazon() {
        for (date, expected) in [
            ("Sat, 28 Nov 2026 18:05:09 GMT", Some("20261128T180509Z")),
            ("Sat, 28 Nov 2026 18:05:09 +0000", Some("20261128T180509Z")),
            (" 20261128T180509Z", Some("20261128T180509Z")),
            ("Sat, 28 Nov 2026 18:05:09 +0200", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(amz_date(date).as_deref(), expected, "{date}");
        }
    }

    #[test]
    fn a_second_version_in_a_header_is_refused_and_so_are_two_signatures() {
        let refused = |query, headers: &[(&str, &[u8])]| checked(query, headers).unwrap();
        assert_eq!(refused("", &[("authorization", b"AWS tester:c2ln")]), "InvalidRequest");
        let authorization = v4("host");
        let header: (&str, &[u8]) = ("authorization", authorization.as_bytes());
        for query in ["Signature=a", "X-Amz-Signature=a", "%53ignature=a"] {
            assert_eq!(refused(query, &[header]), "InvalidArgument", "{query}");
        }
        assert_eq!(refused("Signature=a&X-Amz-Signature=a", &[]), "InvalidArgument");
    }

    #[test]
    fn a_presigned_request_is_good_for_a_week_at_most() {
        let v4 = |seconds| checked(&format!("X-Amz-Signature=0&X-Amz-Expires={seconds}"), &[]);
        assert_eq!(v4(WEEK), None);
        assert_eq!(v4(WEEK + 1).as_deref(), Some("AuthorizationQueryParametersError"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let v2 = |expires| checked(&format!("Signature=0&Expires={expires}"), &[]);
        assert_eq!(v2(now + WEEK), None);
        let skew = CLOCK_SKEW.as_secs();
        assert_eq!(v2(now + WEEK + 2 * skew).as_deref(), Some("AuthorizationQueryParametersError"));
    }

    #[test]
    fn what_a_presigned_query_says_becomes_headers() {
        let signature =
            "X-Amz-Algorithm=a&X-Amz-Date=d&X-Amz-SignedHeaders=host;x-amz-acl&X-Amz-Signature=0";
        let promoted = |query: &str, headers: &[(&str, &[u8])]| {
            let mut request = request(&format!("{signature}&{query}"), headers);
            let checked = check(&mut request).map_err(|error| error.code().as_str().to_owned());
            checked.map(|()| {
                let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
                let headers = request.headers().iter();
                headers.map(|(name, value)| (name.to_string(), text(value))).collect::<Vec<_>>()
            })
        };
        let one = |name: &str, value: &str| Ok(vec![(name.to_owned(), value.to_owned())]);
        assert_eq!(promoted("x-amz-meta-who=me", &[]), one("x-amz-meta-who", "me"));
        assert_eq!(promoted("X-Amz-Meta-Who=a+b%20%C3%BC", &[]), one("x-amz-meta-who", "a b ü"));
        assert_eq!(promoted("x-id=PutObject&prefix=x-amz-acl", &[]), Ok(vec![]));
        assert_eq!(promoted("X-Amz-Content-Sha256=UNSIGNED-PAYLOAD", &[]), Ok(vec![]));
        assert_eq!(promoted("x-amz-content-sha256=00", &[]), one(CONTENT_SHA256, "00"));
        let acl: (&str, &[u8]) = ("x-amz-acl", b"private");
        assert_eq!(promoted("x-amz-acl=private", &[acl]), one("x-amz-acl", "private"));
        for (query, headers) in [
            ("x-amz-acl=public-read", &[acl] as &[_]),
            ("x-amz-acl=private&X-Amz-Acl=public-read", &[]),
            ("x-amz-acl=%0a", &[]),
            ("x-amz-%C3%BC=1", &[]),
        ] {
            assert_eq!(promoted(query, headers), Err("InvalidArgument".to_owned()), "{query}");
        }
        // An unsigned request has no signature to check.
        let mut unsigned = request("x-amz-meta-who=me", &[]);
        check(&mut unsigned).unwrap();
        assert!(unsigned.headers().is_empty());
    }
}
