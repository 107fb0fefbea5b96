//! Requests of the background services. While clients write, a service leaves the log to them for a
//! while after each (`trioxide.om.background.share`).

use std::sync::Arc;
use std::time::Duration;

use proto::ozone::{OmRequest, OmResponse};

use super::BackgroundError;
use crate::dispatch::Dispatcher;

/// A write that took longer waited for something else than the log.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Has a request carried out as one of a client; gives the answer, success or not.
///
/// # Errors
/// When this OM does not lead, or cannot tell the outcome.
pub(super) async fn submit_for_answer(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
) -> Result<OmResponse, BackgroundError> {
    let admission = &dispatcher.parts().admission;
    let work = admission.begin_own();
    let answer = dispatcher.submit_own(request).await?;
    let rest = admission.rest(&work);
    if !rest.is_zero() {
        tokio::time::sleep(rest.min(LONGEST_REST)).await;
    }
    Ok(answer)
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
