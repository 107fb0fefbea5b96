//! Requests of the background services.

use std::sync::Arc;

use proto::ozone::{OmRequest, OmResponse};

use super::BackgroundError;
use crate::dispatch::Dispatcher;

/// Has a request carried out as one of a client; gives the answer, success or not.
///
/// # Errors
/// When this OM does not lead, or cannot tell the outcome.
pub(super) async fn submit_for_answer(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
) -> Result<OmResponse, BackgroundError> {
    Ok(dispatcher.submit_own(request).await?)
}

/// Has a request carried out that must succeed.
///
/// # Errors
/// As [`submit_for_answer`], and when it is refused.
pub(super) async fn submit(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
) -> Result<(), BackgroundError> {
    match submit_for_answer(dispatcher, request).await? {
        refused if refused.success == Some(false) => Err(BackgroundError::refused(refused)),
        _ => Ok(()),
    }
}
