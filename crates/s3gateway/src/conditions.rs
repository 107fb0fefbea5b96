//! Conditional requests: If-Match and the like, in the order of RFC 9110.

use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::errors::precondition_failed;
use crate::metadata::http_date;

/// Conditions on the current object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions<'a> {
    pub(crate) if_match: Option<&'a ETagCondition>,
    pub(crate) if_none_match: Option<&'a ETagCondition>,
    pub(crate) if_modified_since: Option<&'a Timestamp>,
    pub(crate) if_unmodified_since: Option<&'a Timestamp>,
}

/// Collects the conditions of any input.
macro_rules! conditions {
    ($input:expr) => {
        $crate::conditions::Conditions {
            if_match: $input.if_match.as_ref(),
            if_none_match: $input.if_none_match.as_ref(),
            if_modified_since: $input.if_modified_since.as_ref(),
            if_unmodified_since: $input.if_unmodified_since.as_ref(),
        }
    };
    (copy $input:expr) => {
        $crate::conditions::Conditions {
            if_match: $input.copy_source_if_match.as_ref(),
            if_none_match: $input.copy_source_if_none_match.as_ref(),
            if_modified_since: $input.copy_source_if_modified_since.as_ref(),
            if_unmodified_since: $input.copy_source_if_unmodified_since.as_ref(),
        }
    };
}
pub(crate) use conditions;

/// The condition that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// If-Match or If-Unmodified-Since.
    Precondition,
    /// If-None-Match or If-Modified-Since.
    NotModified,
}

impl Conditions<'_> {
    /// Checks the conditions of a read, which fail with 304 if the client has the object already.
    pub(crate) fn check_read(&self, etag: &ETag, modified: &Timestamp) -> S3Result<()> {
        match self.failure(etag, modified) {
            None => Ok(()),
            Some(Failure::Precondition) => Err(precondition_failed()),
            Some(Failure::NotModified) => Err(not_modified(etag, modified)),
        }
    }

    /// Checks the conditions on the source of a copy: every failure is a failed precondition.
    pub(crate) fn check_copy(&self, etag: &ETag, modified: &Timestamp) -> S3Result<()> {
        match self.failure(etag, modified) {
            None => Ok(()),
            Some(_) => Err(precondition_failed()),
        }
    }

    fn failure(&self, etag: &ETag, modified: &Timestamp) -> Option<Failure> {
        // If-Match takes precedence over If-Unmodified-Since, If-None-Match over If-Modified-Since.
        let precondition = match (self.if_match, self.if_unmodified_since) {
            (Some(condition), _) => matches(condition, etag),
            (None, Some(since)) => modified <= since,
            (None, None) => true,
        };
        if !precondition {
            return Some(Failure::Precondition);
        }
        let modified_since = match (self.if_none_match, self.if_modified_since) {
            (Some(condition), _) => !matches(condition, etag),
            (None, Some(since)) => modified > since,
            (None, None) => true,
        };
        (!modified_since).then_some(Failure::NotModified)
    }
}

/// The response 304 with the object's ETag and time of modification. RFC 9110 requires both, so
/// that a cache can tell which of its copies is fresh.
fn not_modified(etag: &ETag, modified: &Timestamp) -> S3Error {
    let mut error = S3Error::with_message(S3ErrorCode::NotModified, "Not Modified");
    let mut headers = http::HeaderMap::new();
    let told = [
        (http::header::ETAG, Some(format!("\"{}\"", etag.value()))),
        (http::header::LAST_MODIFIED, http_date(Some(modified))),
    ];
    for (name, value) in told {
        if let Some(value) = value.and_then(|value| http::HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
    error.set_headers(headers);
    error
}

fn matches(condition: &ETagCondition, etag: &ETag) -> bool {
    match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(wanted) => tags(wanted.value()).any(|tag| tag == etag.value()),
    }
}

/// Parses a list of ETags (RFC 9110, 8.8.3 and 13.1). `s3s` reads a list as one tag that reaches
/// from the first quote to the last; a tag contains no quote. Text after a malformed entry is
/// ignored.
fn tags(read: &str) -> impl Iterator<Item = &str> {
    let mut parts = read.split('"');
    let mut next = parts.next();
    std::iter::from_fn(move || {
        let tag = next?;
        let is_separator = |text: &&str| matches!(text.replace(' ', "").as_str(), "," | ",W/");
        next = parts.next().filter(is_separator).and_then(|_| parts.next());
        Some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::timestamp;

    #[test]
    fn a_list_has_all_its_tags() {
        for (read, expected) in [
            ("a", &["a"] as &[_]),
            ("a\", \"b", &["a", "b"]),
            ("a\",W/\"b\" , \"c,d", &["a", "b", "c,d"]),
            ("a\" or \"b", &["a"]),
            ("a\"", &["a"]),
            ("", &[""]),
        ] {
            assert_eq!(tags(read).collect::<Vec<_>>(), expected, "{read}");
        }
    }

    #[test]
    fn conditions_are_weighed_in_order() {
        let etag = ETag::Strong("a".into());
        let same = ETagCondition::ETag(etag.clone());
        let other = ETagCondition::ETag(ETag::Strong("b".into()));
        let any = ETagCondition::Any;
        let (before, at, after) = (timestamp(1_000), timestamp(2_500), timestamp(3_000));
        let none = Conditions::default();
        use Failure::{NotModified, Precondition};
        let cases = [
            (none, None),
            (Conditions { if_match: Some(&same), ..none }, None),
            (Conditions { if_match: Some(&any), ..none }, None),
            (Conditions { if_match: Some(&other), ..none }, Some(Precondition)),
            (Conditions { if_none_match: Some(&same), ..none }, Some(NotModified)),
            (Conditions { if_none_match: Some(&any), ..none }, Some(NotModified)),
            (Conditions { if_none_match: Some(&other), ..none }, None),
            (Conditions { if_modified_since: Some(&before), ..none }, None),
            (Conditions { if_modified_since: Some(&at), ..none }, Some(NotModified)),
            (Conditions { if_unmodified_since: Some(&after), ..none }, None),
            (Conditions { if_unmodified_since: Some(&before), ..none }, Some(Precondition)),
            // A matching ETag takes precedence over a failing time.
            (
                Conditions { if_match: Some(&same), if_unmodified_since: Some(&before), ..none },
                None,
            ),
            (
                Conditions { if_none_match: Some(&other), if_modified_since: Some(&at), ..none },
                None,
            ),
            (
                Conditions { if_match: Some(&other), if_none_match: Some(&same), ..none },
                Some(Precondition),
            ),
        ];
        for (index, (conditions, expected)) in cases.into_iter().enumerate() {
            assert_eq!(conditions.failure(&etag, &at), expected, "case {index}");
        }
    }
}
