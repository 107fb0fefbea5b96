//! Conditions of a write on the existing key: a generation or an ETag that it must have.

use proto::ozone::{KeyArgs, KeyInfo};

use crate::error::OmError;
use crate::state::metadata::{self, ETAG};

/// The generation for "there must be no such key".
const MUST_NOT_EXIST: u64 = 0;

/// Returns `true` if `args` has conditions; if not, the existing key need not be read.
pub(crate) fn conditional(args: &KeyArgs) -> bool {
    args.expected_data_generation.is_some() || args.expected_e_tag.is_some()
}

/// Checks the conditions of `args` against the existing key. Returns the generation that must
/// still be there at the commit: an ETag becomes one here.
pub(crate) fn check(args: &KeyArgs, existing: Option<&KeyInfo>) -> Result<Option<u64>, OmError> {
    check_generation(args.expected_data_generation, existing, &args.key_name)?;
    let Some(expected) = args.expected_e_tag.as_deref() else {
        return Ok(args.expected_data_generation);
    };
    let Some(existing) = existing else {
        return Err(OmError::key_not_found(&args.volume_name, &args.bucket_name, &args.key_name));
    };
    match metadata::get(&existing.metadata, ETAG) {
        None => Err(OmError::EtagNotAvailable(args.key_name.clone())),
        Some(actual) if actual != expected => Err(OmError::EtagMismatch {
            key: args.key_name.clone(),
            actual: actual.to_owned(),
            expected: expected.to_owned(),
        }),
        Some(_) => Ok(existing.update_id),
    }
}

/// Checks that the existing key has the generation that a write expects.
pub(crate) fn check_generation(
    expected: Option<u64>,
    existing: Option<&KeyInfo>,
    key: &str,
) -> Result<(), OmError> {
    match (expected, existing) {
        (None, _) | (Some(MUST_NOT_EXIST), None) => Ok(()),
        (Some(MUST_NOT_EXIST), Some(_)) => {
            Err(OmError::KeyExists(format!("Key {key} already exists")))
        }
        (Some(_), None) => {
            Err(OmError::KeyNotFound(format!("Key {key} not found during expected rewrite")))
        }
        (Some(expected), Some(existing)) if existing.update_id == Some(expected) => Ok(()),
        (Some(expected), Some(existing)) => Err(OmError::KeyNotFound(format!(
            "Generation mismatch during expected rewrite of {key}: expected {expected}, found {}",
            existing.update_id.unwrap_or_default()
        ))),
    }
}
