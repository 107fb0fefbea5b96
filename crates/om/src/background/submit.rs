//! Requests of the background services. While there are requests of clients, a service leaves the
//! log to them for a while after each (`trioxide.om.background.share`), but for the hours that are
//! off peak.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proto::ozone::{OmRequest, OmResponse};
use service::{Hours, Portion};

use super::BackgroundError;
use crate::dispatch::{Dispatcher, OwnWork};

/// A write that took longer waited for something else than the log.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Result of a request of a service.
struct Done {
    answer: OmResponse,
    took: Duration,
    /// True if clients sent requests meanwhile.
    makes_way: bool,
}

/// Runs a request like one of a client, and pauses for clients afterwards.
async fn carry_out(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
    rests: u32,
) -> Result<Done, BackgroundError> {
    let work = dispatcher.parts().admission.begin_own();
    let answer = dispatcher.submit_own(request).await?;
    let took = work.took();
    let makes_way = make_way(dispatcher, &work, rests).await;
    Ok(Done { answer, took, makes_way })
}

/// Leaves the log and the processor to clients for a while after a piece of work, if they use
/// OM; returns `true` then. The pause is `rests` times as long as OM's share of the time requires.
pub(super) async fn make_way(dispatcher: &Dispatcher, work: &OwnWork, rests: u32) -> bool {
    let admission = &dispatcher.parts().admission;
    let makes_way = admission.makes_way(Instant::now(), Hours::now());
    if makes_way {
        let rest = admission.rest(work).saturating_mul(rests);
        tokio::time::sleep(rest.min(LONGEST_REST)).await;
    }
    makes_way
}

fn success(answer: OmResponse) -> Result<(), BackgroundError> {
    match answer.success {
        Some(false) => Err(BackgroundError::refused(answer)),
        _ => Ok(()),
    }
}

/// Runs a request; returns the answer, success or not.
///
/// # Errors
/// When this OM does not lead, or cannot tell the outcome.
pub(super) async fn submit_for_answer(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
) -> Result<OmResponse, BackgroundError> {
    Ok(carry_out(dispatcher, request, 1).await?.answer)
}

/// Runs a request that must succeed.
///
/// # Errors
/// As [`submit_for_answer`], and when it is refused.
pub(super) async fn submit(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
) -> Result<(), BackgroundError> {
    success(carry_out(dispatcher, request, 1).await?.answer)
}

/// The same for a batch of some work: sizes the next one so that its write takes as long as it
/// should. The pause after it is as in [`make_way`].
///
/// # Errors
/// As [`submit`].
pub(super) async fn submit_portion(
    dispatcher: &Arc<Dispatcher>,
    request: OmRequest,
    portion: &Portion,
    items: usize,
    rests: u32,
) -> Result<(), BackgroundError> {
    let done = carry_out(dispatcher, request, rests).await?;
    portion.note(items, done.took, done.makes_way);
    success(done.answer)
}
