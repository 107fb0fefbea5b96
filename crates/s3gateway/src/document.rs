//! Well-formed XML 1.0 responses, whatever names they contain.
//!
//! Object names may contain any character, but XML 1.0 cannot represent most control characters
//! (<https://www.w3.org/TR/xml/#charsets>), and parsers refuse a document that contains one. In
//! that case listings percent-encode all of their names and declare it ([`crate::listing`]). The
//! other documents of S3 have no field for it: in them only the offending character is
//! percent-encoded.

use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response};
use s3s::Body;

/// Makes the document of a response well-formed. Object streams are left unchanged.
pub(crate) fn make_well_formed(response: &mut Response<Body>) {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !kind.is_some_and(|kind| kind.starts_with(b"application/xml")) {
        return;
    }
    let Some(document) = response.body().bytes() else { return };
    let Some(text) = well_formed(&document) else { return };
    if response.headers().contains_key(CONTENT_LENGTH) {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(text.len()));
    }
    *response.body_mut() = Body::from(Bytes::from(text));
}

/// Encodes every character that XML cannot carry. Returns `None` if there is none.
fn well_formed(document: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(document).ok()?;
    if text.chars().all(is_carried) {
        return None;
    }
    let mut encoded = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            // A parser would turn it into a line feed.
            '\r' => encoded.push_str("&#13;"),
            c if is_carried(c) => encoded.push(c),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                let _ = write!(encoded, "%{byte:02X}");
            }),
        }
    }
    Some(encoded)
}

/// Returns `true` if a parser returns the character unchanged.
fn is_carried(c: char) -> bool {
    matches!(c, '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_carry_is_encoded_and_nothing_else() {
        for (text, encoded) in [
            ("<Key>a\u{1}b\u{1f}</Key>", "<Key>a%01b%1F</Key>"),
            ("\0", "%00"),
            ("\u{fffe}\u{ffff}", "%EF%BF%BE%EF%BF%BF"),
            ("line\r\nend\t", "line&#13;\nend\t"),
        ] {
            assert_eq!(well_formed(text.as_bytes()).as_deref(), Some(encoded), "{text:?}");
        }
        for text in ["", "<Key>a%01 &amp; é 日 \u{10ffff}\u{7f}\t\n</Key>"] {
            assert_eq!(well_formed(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn only_documents_are_changed() {
        let answer = |kind: &'static str, body: Body| {
            let mut answer = Response::new(body);
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("1"));
            make_well_formed(&mut answer);
            let length = answer.headers()[CONTENT_LENGTH].to_str().unwrap().to_owned();
            (answer.body().bytes(), length)
        };
        let text = || Body::from("\u{1}".to_owned());
        assert_eq!(answer("application/xml", text()), (Some("%01".into()), "3".to_owned()));
        assert_eq!(answer("text/plain", text()), (Some("\u{1}".into()), "1".to_owned()));
        let stream = Body::http_body(text());
        assert_eq!(answer("application/xml", stream), (None, "1".to_owned()));
    }
}
