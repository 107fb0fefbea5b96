//! Encryption of a bucket's data, which is refused: there is no key provider, so the data would be
//! stored as it is.

use proto::hdds::KeyValue;
use proto::ozone::BucketEncryptionInfoProto;

use crate::error::OmError;
use crate::state::row::Bucket;

/// The bucket property by which Ozone's clients know that they have to encrypt keys
/// (`OzoneConsts.GDPR_FLAG`).
const GDPR_FLAG: &str = "gdprEnabled";

/// Refuses a bucket that is created or changed to have its keys encrypted.
pub(super) fn refuse(
    key: Option<&BucketEncryptionInfoProto>,
    metadata: &[KeyValue],
) -> Result<(), OmError> {
    if let Some(info) = key {
        return Err(OmError::NoKeyProvider(format!(
            "it cannot be set, for keys of a bucket are not encrypted (bucket encryption key {})",
            info.key_name
        )));
    }
    let gdpr =
        |entry: &&KeyValue| entry.key == GDPR_FLAG && entry.value.as_deref().is_some_and(is_true);
    match metadata.iter().find(gdpr) {
        Some(_) => Err(OmError::NotSupported(format!(
            "the keys of a bucket cannot be encrypted: {GDPR_FLAG} is not supported"
        ))),
        None => Ok(()),
    }
}

/// As Java's `Boolean.parseBoolean`, with which Ozone's clients read the property.
fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}

/// Refuses new keys in a bucket whose row, written by another release or by Ozone, asks for
/// encryption.
pub(crate) fn refuse_writes(bucket: &Bucket) -> Result<(), OmError> {
    refuse(bucket.beinfo.as_ref(), &bucket.metadata)
}
