//! Checksums of multipart uploads: the type agreed at creation, the checksums of the parts, and the
//! checksum of the whole object.
//!
//! A part's checksum is verified against its bytes when the part is uploaded, and is stored with it
//! in OM. The object's checksum is computed from those, never from values in the completing
//! request. Parts written by an earlier release are the exception: they have no stored checksum,
//! and the client's value counts.

use std::collections::HashMap;

use client::{Client, KeyPath, KeyWriter};
use proto::ozone::PartInfo;
use s3s::dto::{ChecksumType, CompletedPart as NamedPart, ETag};
use s3s::{S3Error, S3ErrorCode, S3Result};

use crate::digest::{Algorithm, Checksum, Claims, combined, composite};
use crate::errors::{Subject, invalid_request, s3_error};
use crate::metadata::parse_checksum;

/// Checksum metadata of an upload, and of its parts while they are written.
const UPLOAD_CHECKSUM: &str = "s3:upload-checksum";

/// Maximum number of parts on a page from OM.
const PAGE: u32 = 1000;

/// The checksum type of an upload, agreed at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) algorithm: Algorithm,
    /// Over the bytes of the object, rather than over the checksums of the parts.
    pub(crate) is_full_object: bool,
}

impl Agreed {
    /// The S3 name of the type.
    pub(crate) fn checksum_type(self) -> ChecksumType {
        ChecksumType::from_static(match self.is_full_object {
            true => ChecksumType::FULL_OBJECT,
            false => ChecksumType::COMPOSITE,
        })
    }

    /// Converts to metadata of an upload.
    pub(crate) fn to_metadata(self) -> (String, String) {
        let kind = self.checksum_type();
        (UPLOAD_CHECKSUM.to_owned(), format!("{}:{}", self.algorithm.name(), kind.as_str()))
    }

    /// Parses the metadata stored in OM.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, kind) = text.split_once(':')?;
        let algorithm = Algorithm::ALL.into_iter().find(|a| a.name() == name)?;
        let is_full_object = match kind {
            ChecksumType::FULL_OBJECT => true,
            ChecksumType::COMPOSITE => false,
            _ => return None,
        };
        Some(Self { algorithm, is_full_object })
    }

    /// The agreed checksum of the upload to which a part belongs.
    pub(crate) fn of_part(writer: &KeyWriter) -> Option<Self> {
        writer.metadata(UPLOAD_CHECKSUM).and_then(Self::parse)
    }

    /// Adds the agreed checksum to the claims of a part.
    ///
    /// # Errors
    /// If the part has another algorithm, or none although the object's checksum is computed from
    /// those of the parts.
    pub(crate) fn settle(self, claims: Claims) -> S3Result<Claims> {
        match claims.algorithm() {
            Some(algorithm) if algorithm == self.algorithm => Ok(claims),
            None if self.is_full_object => Ok(claims.want(Some(self.algorithm))),
            other => {
                let name = |algorithm: Algorithm| algorithm.name().to_ascii_lowercase();
                Err(invalid_request(format!(
                    "Checksum Type mismatch occurred, expected checksum Type: {}, actual checksum Type: {}",
                    name(self.algorithm),
                    other.map_or_else(|| "null".to_owned(), name)
                )))
            }
        }
    }
}

/// Checksum of a part, as reported by OM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// Not reported: the part was written by, or the response is from, an earlier release.
    Nothing,
    /// The part has no checksum.
    None,
    /// The verified checksum.
    Checksum(Checksum),
}

impl Told {
    pub(crate) fn of(part: &PartInfo) -> Self {
        match part.checksum.as_deref() {
            None => Self::Nothing,
            Some(text) => parse_checksum(text).map_or(Self::None, Self::Checksum),
        }
    }
}

/// An uploaded part.
#[derive(Debug, Clone)]
pub(crate) struct StoredPart {
    pub(crate) size: u64,
    /// The digest that identifies it; parts without one have names.
    pub(crate) e_tag: Option<String>,
    pub(crate) checksum: Told,
}

/// An upload as OM reports it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Upload {
    pub(crate) agreed: Option<Agreed>,
    /// Parts by number.
    pub(crate) parts: HashMap<u32, StoredPart>,
}

impl Upload {
    /// Loads the upload with all of its parts from OM.
    pub(crate) async fn load(client: &Client, path: &KeyPath, id: &str) -> S3Result<Self> {
        let mut upload = Self::default();
        let mut after = 0;
        loop {
            let page = client.list_parts(path, id, after, PAGE).await;
            let page = page.map_err(|e| s3_error(Subject::Upload, e))?;
            upload.agreed = page.checksum.as_deref().and_then(Agreed::parse);
            upload.parts.extend(page.parts.iter().map(|part| {
                let (size, e_tag) = (part.size, part.e_tag.clone());
                let stored = StoredPart { size, e_tag, checksum: Told::of(part) };
                (part.part_number, stored)
            }));
            match page.next {
                Some(next) if next > after => after = next,
                _ => return Ok(upload),
            }
        }
    }

    /// Computes the object's checksum from these parts, if one was agreed or is claimed.
    ///
    /// # Errors
    /// `InvalidPart` if a part is listed with a checksum that differs from its own;
    /// `InvalidRequest` if a part lacks the checksum that the object's is computed from;
    /// `BadDigest` if the result differs from the claimed one.
    pub(crate) fn whole(
        &self,
        named: &[NamedPart],
        claimed: Option<&Checksum>,
        kind: Option<&ChecksumType>,
    ) -> S3Result<Option<Checksum>> {
        let parts = named.iter().map(|part| self.part(part)).collect::<S3Result<Vec<_>>>()?;
        if let (Some(agreed), Some(kind)) = (self.agreed, kind)
            && *kind != agreed.checksum_type()
        {
            return Err(invalid_request(format!(
                "The upload was created using the {} checksum mode. The complete request must use the same \
                 checksum mode.",
                agreed.checksum_type().as_str()
            )));
        }
        let first = || named.first().and_then(|part| checksums_of(part).next());
        let algorithm = self.agreed.map(|agreed| agreed.algorithm);
        let algorithm = algorithm.or_else(|| first().map(|checksum| checksum.algorithm));
        let Some(algorithm) = algorithm.or(claimed.map(|claimed| claimed.algorithm)) else {
            return Ok(None);
        };
        let mut values = Vec::with_capacity(parts.len());
        for (part, named) in parts.iter().zip(named) {
            match &part.0 {
                Some(checksum) if checksum.algorithm == algorithm => {
                    values.push((checksum.value.as_str(), part.1));
                }
                _ => return Err(lacks(algorithm, named)),
            }
        }
        let is_full_object = match (self.agreed, kind) {
            (Some(agreed), _) => agreed.is_full_object,
            (None, Some(kind)) => kind.as_str() == ChecksumType::FULL_OBJECT,
            (None, None) => {
                algorithm == Algorithm::Crc64Nvme
                    || claimed.is_some_and(|claimed| !claimed.value.contains('-'))
            }
        };
        let whole = match is_full_object {
            true => combined(algorithm, &values)?,
            false => {
                let values: Vec<&str> = values.iter().map(|(value, _)| *value).collect();
                composite(algorithm, &values)?
            }
        };
        match claimed {
            Some(claimed) if !whole.is_claimed_as(claimed) => Err(S3Error::with_message(
                S3ErrorCode::BadDigest,
                format!(
                    "The {} you specified did not match the calculated checksum.",
                    claimed.algorithm.name()
                ),
            )),
            _ => Ok(Some(whole)),
        }
    }

    /// The checksum and size of a part that a client lists.
    fn part(&self, named: &NamedPart) -> S3Result<(Option<Checksum>, u64)> {
        let number = named.part_number.and_then(|number| u32::try_from(number).ok());
        let stored = number.and_then(|number| self.parts.get(&number));
        let Some(stored) = stored else { return Err(invalid_part(named)) };
        // OM compares it as well, with the parts at that time. This check ensures that size and
        // checksum are not those of a part that was replaced in the meantime.
        let e_tag = named.e_tag.as_ref().map(ETag::value);
        if stored.e_tag.is_some() && stored.e_tag.as_deref() != e_tag {
            return Err(invalid_part(named));
        }
        let has = match &stored.checksum {
            Told::Nothing => return Ok((checksums_of(named).next(), stored.size)),
            Told::None => None,
            Told::Checksum(checksum) => Some(checksum),
        };
        match checksums_of(named).all(|said| Some(&said) == has) {
            true => Ok((has.cloned(), stored.size)),
            false => Err(invalid_part(named)),
        }
    }
}

/// The checksums that a client lists for a part.
fn checksums_of(part: &NamedPart) -> impl Iterator<Item = Checksum> {
    let values = [
        (Algorithm::Crc32, &part.checksum_crc32),
        (Algorithm::Crc32c, &part.checksum_crc32c),
        (Algorithm::Crc64Nvme, &part.checksum_crc64nvme),
        (Algorithm::Sha1, &part.checksum_sha1),
        (Algorithm::Sha256, &part.checksum_sha256),
    ];
    values
        .into_iter()
        .filter_map(|(algorithm, value)| value.clone().map(|value| Checksum { algorithm, value }))
}

fn invalid_part(named: &NamedPart) -> S3Error {
    S3Error::with_message(
        S3ErrorCode::InvalidPart,
        format!(
            "One or more of the specified parts could not be found. The part may not have been uploaded, or the \
             specified entity tag or checksum may not match the part's: part {}",
            named.part_number.unwrap_or(0)
        ),
    )
}

fn lacks(algorithm: Algorithm, named: &NamedPart) -> S3Error {
    invalid_request(format!(
        "The checksum of the object is made of the {} checksums of its parts, and part {} has none.",
        algorithm.name().to_ascii_lowercase(),
        named.part_number.unwrap_or(0)
    ))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::digest::Hasher;

    fn sum(algorithm: Algorithm, data: &[u8]) -> Checksum {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(data);
        hasher.finish()
    }

    const BODIES: [&[u8]; 2] = [b"first part", b"last"];

    /// An upload of [`BODIES`] whose parts have checksums of this algorithm.
    fn upload(agreed: Option<&str>, has: Option<Algorithm>) -> Upload {
        let stored = |(number, body): (u32, &&[u8])| {
            let checksum = has.map_or(Told::None, |has| Told::Checksum(sum(has, body)));
            let (size, e_tag) = (body.len() as u64, Some(format!("e{number}")));
            (number, StoredPart { size, e_tag, checksum })
        };
        Upload {
            agreed: agreed.map(|text| Agreed::parse(text).unwrap()),
            parts: (1..).zip(&BODIES).map(stored).collect(),
        }
    }

    fn named(checksums: Option<Algorithm>) -> Vec<NamedPart> {
        let part = |(number, body): (i32, &&[u8])| {
            let value = |algorithm| {
                checksums.filter(|a| *a == algorithm).map(|algorithm| sum(algorithm, body).value)
            };
            NamedPart {
                part_number: Some(number),
                e_tag: Some(ETag::Strong(format!("e{number}"))),
                checksum_crc32: value(Algorithm::Crc32),
                checksum_sha256: value(Algorithm::Sha256),
                ..Default::default()
            }
        };
        (1..).zip(&BODIES).map(part).collect()
    }

    fn outcome(result: S3Result<Option<Checksum>>) -> Result<Option<Checksum>, String> {
        result.map_err(|error| error.code().as_str().to_owned())
    }

    const FULL: Option<&str> = Some("CRC32:FULL_OBJECT");
    const COMPOSITE: Option<&str> = Some("CRC32:COMPOSITE");
    const CRC32: Option<Algorithm> = Some(Algorithm::Crc32);

    #[test]
    fn the_whole_has_the_checksum_that_was_agreed_although_parts_are_named_without_theirs() {
        let whole = sum(Algorithm::Crc32, &BODIES.concat());
        let full = upload(FULL, CRC32);
        for parts in [named(None), named(CRC32)] {
            assert_eq!(outcome(full.whole(&parts, None, None)), Ok(Some(whole.clone())));
            assert_eq!(outcome(full.whole(&parts, Some(&whole), None)), Ok(Some(whole.clone())));
        }
        let wrong = sum(Algorithm::Crc32, b"other");
        let kind = |kind| Some(ChecksumType::from_static(kind));
        let (same, other) = (kind(ChecksumType::FULL_OBJECT), kind(ChecksumType::COMPOSITE));
        assert!(full.whole(&named(None), Some(&whole), same.as_ref()).is_ok());
        for (claimed, kind, code) in [
            (Some(&wrong), None, "BadDigest"),
            (Some(&sum(Algorithm::Sha256, &BODIES.concat())), None, "BadDigest"),
            (Some(&whole), other.as_ref(), "InvalidRequest"),
        ] {
            let refused = outcome(full.whole(&named(CRC32), claimed, kind));
            assert_eq!(refused, Err(code.to_owned()));
        }
        let composite = upload(COMPOSITE, CRC32).whole(&named(None), None, None).unwrap().unwrap();
        assert!(composite.value.ends_with("-2"), "{}", composite.value);
        let bare = Checksum { value: composite.value.replace("-2", ""), ..composite.clone() };
        for claimed in [&composite, &bare] {
            let whole = upload(COMPOSITE, CRC32).whole(&named(CRC32), Some(claimed), None);
            assert_eq!(outcome(whole), Ok(Some(composite.clone())));
        }
    }

    #[test]
    fn a_part_that_is_named_with_another_checksum_is_refused() {
        let invalid = Err("InvalidPart".to_owned());
        let mut wrong = named(CRC32);
        wrong[1].checksum_crc32 = Some(sum(Algorithm::Crc32, b"other").value);
        let sha = named(Some(Algorithm::Sha256));
        for agreed in [FULL, COMPOSITE, None] {
            assert_eq!(outcome(upload(agreed, CRC32).whole(&wrong, None, None)), invalid);
            assert_eq!(outcome(upload(agreed, CRC32).whole(&sha, None, None)), invalid);
        }
        // Without a stored checksum, no claim can be verified.
        assert_eq!(outcome(upload(None, None).whole(&sha, None, None)), invalid);
        let mut replaced = named(CRC32);
        replaced[1].e_tag = Some(ETag::Strong("e3".to_owned()));
        assert_eq!(outcome(upload(FULL, CRC32).whole(&replaced, None, None)), invalid);
        let absent = NamedPart { part_number: Some(9), ..named(None)[0].clone() };
        assert_eq!(outcome(upload(None, None).whole(&[absent], None, None)), invalid);
    }

    #[test]
    fn a_whole_is_made_of_nothing_only_when_nothing_is_said() {
        assert_eq!(outcome(upload(None, None).whole(&named(None), None, None)), Ok(None));
        let whole = sum(Algorithm::Crc32, &BODIES.concat());
        let refused = Err("InvalidRequest".to_owned());
        let claimed = |upload: Upload| outcome(upload.whole(&named(None), Some(&whole), None));
        assert_eq!(claimed(upload(None, None)), refused);
        assert_eq!(claimed(upload(None, Some(Algorithm::Sha256))), refused);
        assert_eq!(outcome(upload(COMPOSITE, None).whole(&named(None), None, None)), refused);
        assert_eq!(claimed(upload(None, CRC32)), Ok(Some(whole.clone())));
    }

    #[test]
    fn of_parts_of_an_earlier_release_the_client_is_believed() {
        let mut before = upload(None, None);
        before.parts.values_mut().for_each(|part| part.checksum = Told::Nothing);
        let whole = before.whole(&named(CRC32), None, None).unwrap().unwrap();
        assert!(whole.value.ends_with("-2"));
        let mut mixed = named(CRC32);
        mixed[1].checksum_crc32 = None;
        let refused = Err("InvalidRequest".to_owned());
        assert_eq!(outcome(before.whole(&mixed, None, None)), refused);
    }

    #[test]
    fn a_part_has_the_checksum_that_its_upload_was_created_with() {
        let claims = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap()));
            Claims::of_headers(&pairs.collect::<HeaderMap>()).unwrap()
        };
        let crc32 = || claims(&[("x-amz-checksum-crc32", "y/Q5Jg==")]);
        let trailing = || claims(&[("x-amz-trailer", "x-amz-checksum-sha1")]);
        for (agreed, claims, expected) in [
            (FULL, crc32(), true),
            (COMPOSITE, crc32(), true),
            (FULL, claims(&[]), true),
            (COMPOSITE, claims(&[]), false),
            (FULL, trailing(), false),
            (Some("SHA1:COMPOSITE"), trailing(), true),
        ] {
            let agreed = Agreed::parse(agreed.unwrap()).unwrap();
            let settled = agreed.settle(claims);
            assert_eq!(settled.is_ok(), expected, "{agreed:?}");
            let algorithm = settled.ok().map(|claims| claims.algorithm());
            assert!(algorithm.is_none_or(|algorithm| algorithm == Some(agreed.algorithm)));
        }
        for text in ["", "CRC32", "CRC32:", "CRC32:OTHER", "SHA512:COMPOSITE"] {
            assert_eq!(Agreed::parse(text), None, "{text}");
        }
        let agreed = Agreed { algorithm: Algorithm::Sha256, is_full_object: false };
        assert_eq!(Agreed::parse(&agreed.to_metadata().1), Some(agreed));
    }
}
