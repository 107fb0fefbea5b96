//! Headers of an object as metadata of its key.
//!
//! User metadata (`x-amz-meta-*`) keep their names, and `ETag` is Ozone's, so that its own gateway
//! reads our objects. What else an object has is kept under names with a colon in them, which no
//! header can have.

use proto::hdds::KeyValue;
use s3s::S3Result;
use s3s::dto::{ETag, Metadata, Timestamp, TimestampFormat};
use types::StoragePolicy;

use crate::digest::{Algorithm, Checksum};
use crate::errors::invalid_request;
use crate::storage_class::STORAGE_CONFIG;

/// ETag as Ozone keeps it.
const ETAG: &str = "ETag";
const CONTENT_TYPE: &str = "s3:content-type";
const CACHE_CONTROL: &str = "s3:cache-control";
const CONTENT_DISPOSITION: &str = "s3:content-disposition";
const CONTENT_ENCODING: &str = "s3:content-encoding";
const CONTENT_LANGUAGE: &str = "s3:content-language";
const EXPIRES: &str = "s3:expires";
const CHECKSUM: &str = "s3:checksum";

/// Most bytes of user metadata, names and values together, as S3 has it.
const MOST_USER_METADATA: usize = 2 << 10;

/// What an object has besides its bytes.
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
    /// The storage policy of its own that it has.
    pub(crate) policy: Option<String>,
    pub(crate) user: Vec<(String, String)>,
}

/// The fields that all inputs that make an object have in common.
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
    /// From a key's metadata.
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
                // Names that only servers use: not headers of the object.
                "gdprEnabled" | "hsyncClientId" | "leaseRecovery" => {}
                key if key.contains(':') => {}
                key => object.user.push((key.to_owned(), value)),
            }
        }
        object
    }

    /// As a key's metadata.
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

    /// The ETag. A key that was not written through S3 has none; one is made of what changes with
    /// its content.
    pub(crate) fn etag_or(&self, object_id: u64, update_id: u64) -> ETag {
        match &self.etag {
            Some(etag) => ETag::Strong(etag.clone()),
            None => ETag::Strong(synthetic_etag(object_id, update_id)),
        }
    }

    /// User metadata as `s3s` has it.
    pub(crate) fn user_dto(&self) -> Option<Metadata> {
        (!self.user.is_empty()).then(|| self.user.iter().cloned().collect())
    }
}

/// The ETag of a key that has none of its own.
pub(crate) fn synthetic_etag(object_id: u64, update_id: u64) -> String {
    format!("{object_id:016x}{update_id:016x}")
}

/// ETag and checksum as a key's metadata: what is known only once the body is there.
pub(crate) fn finish_pairs(etag: &str, checksum: Option<&Checksum>) -> Vec<(String, String)> {
    let mut pairs = vec![(ETAG.to_owned(), etag.to_owned())];
    pairs.extend(checksum.map(checksum_pair));
    pairs
}

/// A checksum as one entry of a key's metadata: `CRC32:base64`.
pub(crate) fn checksum_pair(checksum: &Checksum) -> (String, String) {
    (CHECKSUM.to_owned(), format!("{}:{}", checksum.algorithm.name(), checksum.value))
}

/// A checksum as [`checksum_pair`] writes it.
pub(crate) fn parse_checksum(value: &str) -> Option<Checksum> {
    let (name, value) = value.split_once(':')?;
    let algorithm = Algorithm::ALL.into_iter().find(|a| a.name() == name)?;
    Some(Checksum { algorithm, value: value.to_owned() })
}

/// The value of an entry of a key's metadata.
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
        return Err(invalid_request("a name of user metadata is not valid"));
    }
    let kept = metadata.iter().filter(|(key, _)| *key != STORAGE_CONFIG);
    Ok(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// `aws-chunked` says how the body travels, not what it is.
pub(crate) fn without_chunked(encoding: Option<&str>) -> Option<String> {
    let kept: Vec<&str> = encoding?
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty() && !part.eq_ignore_ascii_case("aws-chunked"))
        .collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

/// A time as an HTTP date.
pub(crate) fn http_date(time: Option<&Timestamp>) -> Option<String> {
    let mut text = Vec::new();
    time?.format(TimestampFormat::HttpDate, &mut text).ok()?;
    String::from_utf8(text).ok()
}

/// An HTTP date as a time.
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
