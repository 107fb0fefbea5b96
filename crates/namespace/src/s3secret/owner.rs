//! Owner of a secret.

use crate::authorizer::Guard;
use crate::error::OmError;

/// A secret is its user's own.
///
/// # Errors
/// When the user is another one, and no S3 administrator.
pub(super) fn require(access_id: &str, guard: &Guard<'_>) -> Result<(), OmError> {
    if access_id == guard.user || guard.is_s3_admin() {
        return Ok(());
    }
    Err(OmError::UserMismatch(format!(
        "Requested accessId '{access_id}' doesn't belong to current user '{}', nor does current \
         user have Ozone S3 or tenant admin privilege",
        guard.user
    )))
}
