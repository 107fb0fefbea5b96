//! `encoding-type=url`: names that XML cannot represent.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::S3Result;
use s3s::dto::EncodingType;

use crate::errors::invalid_argument;

/// Characters that stay unencoded, besides letters and digits.
const KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/').remove(b'*');

/// The encoding of names in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Unchanged.
    Plain,
    /// Percent-encoded.
    Url,
}

impl Encoding {
    pub(crate) fn of(requested: Option<&EncodingType>) -> S3Result<Self> {
        match requested.map(EncodingType::as_str) {
            None | Some("") => Ok(Self::Plain),
            Some("url") => Ok(Self::Url),
            Some(_) => Err(invalid_argument("Invalid Encoding Method specified in Request")),
        }
    }

    pub(crate) fn name(self, name: String) -> String {
        match self {
            Self::Plain => name,
            Self::Url => utf8_percent_encode(&name, KEPT).to_string(),
        }
    }

    /// The encoding of a document with these names: percent-encoded if requested, or if XML cannot
    /// represent one of them. A parser would refuse the whole document otherwise.
    pub(crate) fn carrying<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        match names.into_iter().all(|name| name.chars().all(is_carried)) {
            true => self,
            false => Self::Url,
        }
    }

    pub(crate) fn dto(self) -> Option<EncodingType> {
        (self == Self::Url).then(|| EncodingType::from_static(EncodingType::URL))
    }
}

/// Returns `true` if XML 1.0 carries a character unchanged. Of the control characters it allows
/// only tab and line ends, which parsers may change.
fn is_carried(c: char) -> bool {
    c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_xml_cannot_carry_are_encoded_without_being_asked_for() {
        for name in ["\u{1}", "a\tb", "line\r\n", "\u{fffe}"] {
            assert_eq!(Encoding::Plain.carrying(["plain", name]), Encoding::Url, "{name:?}");
        }
        assert_eq!(Encoding::Plain.carrying(["plain", "é 日 \u{10ffff}"]), Encoding::Plain);
        assert_eq!(Encoding::Url.carrying(["plain"]), Encoding::Url);
    }

    #[test]
    fn names_are_encoded_as_clients_decode_them() {
        let cases = [("a b+c%d/é", "a%20b%2Bc%25d/%C3%A9"), ("plain-_.~*/x", "plain-_.~*/x")];
        for (name, encoded) in cases {
            assert_eq!(Encoding::Url.name(name.to_owned()), encoded);
            assert_eq!(Encoding::Plain.name(name.to_owned()), name);
        }
    }
}
