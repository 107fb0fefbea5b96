//! Headers of an object as metadata of its key.
//!
//! User metadata (`x-amz-meta-*`) keep their names, and the `ETag` key is Ozone's, so that Ozone's
//! gateway reads our objects. All other headers are stored under names that contain a colon, which
//! no header name can.

use proto::hdds::KeyValue;
use s3s::S3Result;
use s3s::dto::{ETag, Metadata, Timestamp, TimestampFormat};
use types::StoragePolicy;

use crate::digest::{Algorithm, Checksum};
use crate::errors::invalid_request;
use crate::storage_class::STORAGE_CONFIG;

/// Ozone's metadata key of the ETag.
const ETAG: &str = "ETag";
const CONTENT_TYPE: &str = "s3:content-type";
const CACHE_CONTROL: &str = "s3:cache-control";
const CONTENT_DISPOSITION: &str = "s3:content-disposition";
const CONTENT_ENCODING: &str = "s3:content-encoding";
const CONTENT_LANGUAGE: &str = "s3:content-language";
const EXPIRES: &str = "s3:expires";
const CHECKSUM: &str = "s3:checksum";

/// Maximum size of user metadata in bytes, names and values together; S3's limit.
const MOST_USER_METADATA: usize = 2 << 10;

/// Metadata of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ObjectMetadata {
    pub(crate) etag: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) content_disposition: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_language: Option<String>,
    /// An HTTP date.
    pub(crate) expires: Option<String>,
    pub(crate) checksum: Option<Checksum>,
    /// The storage policy of the object itself, if any.
    pub(crate) policy: Option<String>,
    pub(crate) user: Vec<(String, String)>,
}

/// Reads the fields that all object-creating inputs share.
macro_rules! of_input {
    ($input:expr) => {
        $crate::metadata::ObjectMetadata {
            etag: None,
            content_type: $input.content_type.clone(),
            cache_control: $input.cache_control.clone(),
            content_disposition: $input.content_disposition.clone(),
            content_encoding: $crate::metadata::without_chunked($input.content_encoding.as_deref()),
            content_language: $input.content_language.clone(),
            expires: $crate::metadata::http_date($input.expires.as_ref()),
            checksum: None,
            policy: $crate::storage_class::policy($input.storage_class.as_ref()),
            user: $crate::metadata::user_metadata($input.metadata.as_ref())?,
        }
    };
}
pub(crate) use of_input;

impl ObjectMetadata {
    /// Parses a key's metadata.
    pub(crate) fn of_key(metadata: &[KeyValue]) -> Self {
        let mut object = Self::default();
        for entry in metadata {
            let value = entry.value.clone().unwrap_or_default();
            match entry.key.as_str() {
                ETAG => object.etag = Some(value),
                CONTENT_TYPE => object.content_type = Some(value),
                CACHE_CONTROL => object.cache_control = Some(value),
                CONTENT_DISPOSITION => object.content_disposition = Some(value),
                CONTENT_ENCODING => object.content_encoding = Some(value),
                CONTENT_LANGUAGE => object.content_language = Some(value),
                EXPIRES => object.expires = Some(value),
                CHECKSUM => object.checksum = parse_checksum(&value),
                StoragePolicy::METADATA_KEY => object.policy = Some(value),
                // Names that only servers use are not headers of the object.
                "gdprEnabled" | "hsyncClientId" | "leaseRecovery" => {}
                key if key.contains(':') => {}
                key => object.user.push((key.to_owned(), value)),
            }
        }
        object
    }

    /// Converts to a key's metadata.
    pub(crate) fn to_key(&self) -> Vec<(String, String)> {
        let mut pairs = self.user.clone();
        let fields = [
            (ETAG, &self.etag),
            (CONTENT_TYPE, &self.content_type),
            (CACHE_CONTROL, &self.cache_control),
            (CONTENT_DISPOSITION, &self.content_disposition),
            (CONTENT_ENCODING, &self.content_encoding),
            (CONTENT_LANGUAGE, &self.content_language),
            (EXPIRES, &self.expires),
            (StoragePolicy::METADATA_KEY, &self.policy),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                pairs.push((name.to_owned(), value.clone()));
            }
        }
        pairs.extend(self.checksum.as_ref().map(checksum_pair));
        pairs
    }

    /// The ETag. A key that was not written through S3 has none; it gets one derived from ids that
    /// change with its content.
    pub(crate) fn etag_or(&self, object_id: u64, update_id: u64) -> ETag {
        match &self.etag {
            Some(etag) => ETag::Strong(etag.clone()),
            None => ETag::Strong(synthetic_etag(object_id, update_id)),
        }
    }

    /// User metadata in the type of `s3s`.
    pub(crate) fn user_dto(&self) -> Option<Metadata> {
        (!self.user.is_empty()).then(|| self.user.iter().cloned().collect())
    }
}

/// The derived ETag of a key without one of its own.
pub(crate) fn synthetic_etag(object_id: u64, update_id: u64) -> String {
    format!("{object_id:016x}{update_id:016x}")
}

/// ETag and checksum as key metadata, which are known only once the body is complete.
pub(crate) fn finish_pairs(etag: &str, checksum: Option<&Checksum>) -> Vec<(String, String)> {
    let mut pairs = vec![(ETAG.to_owned(), etag.to_owned())];
    pairs.extend(checksum.map(checksum_pair));
    pairs
}

/// A checksum as an entry of key metadata: `CRC32:base64`.
pub(crate) fn checksum_pair(checksum: &Checksum) -> (String, String) {
    (CHECKSUM.to_owned(), format!("{}:{}", checksum.algorithm.name(), checksum.value))
}

/// Parses a checksum written by [`checksum_pair`].
pub(crate) fn parse_checksum(value: &str) -> Option<Checksum> {
    let (name, value) = value.split_once(':')?;
    let algorithm = Algorithm::ALL.into_iter().find(|a| a.name() == name)?;
    Some(Checksum { algorithm, value: value.to_owned() })
}

/// The value of an entry of key metadata.
pub(crate) fn value_of<'a>(metadata: &'a [KeyValue], name: &str) -> Option<&'a str> {
    metadata.iter().find(|entry| entry.key == name)?.value.as_deref()
}

/// User metadata of a request.
pub(crate) fn user_metadata(metadata: Option<&Metadata>) -> S3Result<Vec<(String, String)>> {
    let Some(metadata) = metadata else { return Ok(Vec::new()) };
    let size: usize = metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > MOST_USER_METADATA {
        return Err(s3s::S3Error::with_message(
            s3s::S3ErrorCode::MetadataTooLarge,
            "Your metadata headers exceed the maximum allowed metadata size",
        ));
    }
    if metadata.keys().any(|key| key.contains(':') || key == ETAG) {
        return Err(invalid_request("a user metadata name is not valid"));
    }
    let kept = metadata.iter().filter(|(key, _)| *key != STORAGE_CONFIG);
    Ok(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Removes `aws-chunked`, which describes the transfer rather than the content.
pub(crate) fn without_chunked(encoding: Option<&str>) -> Option<String> {
    let kept: Vec<&str> = encoding?
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty() && !part.eq_ignore_ascii_case("aws-chunked"))
        .collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

/// Formats a time as an HTTP date.
pub(crate) fn http_date(time: Option<&Timestamp>) -> Option<String> {
    let mut text = Vec::new();
    time?.format(TimestampFormat::HttpDate, &mut text).ok()?;
    String::from_utf8(text).ok()
}

/// Parses an HTTP date.
pub(crate) fn parse_http_date(text: Option<&str>) -> Option<Timestamp> {
    Timestamp::parse(TimestampFormat::HttpDate, text?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_survive_a_key() {
        let object = ObjectMetadata {
            etag: Some("e".into()),
            content_type: Some("text/plain".into()),
            cache_control: Some("no-store".into()),
            content_disposition: None,
            content_encoding: Some("gzip".into()),
            content_language: None,
            expires: Some("Wed, 21 Oct 2015 07:28:00 GMT".into()),
            checksum: Some(Checksum { algorithm: Algorithm::Crc32, value: "y/Q5Jg==".into() }),
            policy: Some("COLD".into()),
            user: vec![("content-type".into(), "not the header".into())],
        };
        let key: Vec<KeyValue> = object
            .to_key()
            .into_iter()
            .map(|(key, value)| KeyValue { key, value: Some(value) })
            .collect();
        assert_eq!(ObjectMetadata::of_key(&key), object);
        assert!(parse_http_date(object.expires.as_deref()).is_some());
    }

    #[test]
    fn chunking_is_no_encoding_of_the_object() {
        assert_eq!(without_chunked(Some("aws-chunked")), None);
        assert_eq!(without_chunked(Some("gzip, aws-chunked")).as_deref(), Some("gzip"));
        assert_eq!(without_chunked(None), None);
    }

    #[test]
    fn too_much_user_metadata_is_refused() {
        let metadata = |n: usize| Metadata::from_iter([("k".to_owned(), "v".repeat(n))]);
        assert!(user_metadata(Some(&metadata(2047))).is_ok());
        assert!(user_metadata(Some(&metadata(2048))).is_err());
    }
}
