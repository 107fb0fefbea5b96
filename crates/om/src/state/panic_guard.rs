//! A command whose application fails by a bug is a refusal, on every replica.
//!
//! The rules are pure: the same entry over the same tables takes the same path through them, so a
//! panic in them happens on every replica, now and whenever the log is replayed. To stop for it
//! would stop all OMs for ever. A command that panics therefore changes nothing, its changes so far
//! are dropped with it, and the call gets `INTERNAL_ERROR`. The answer is the same text everywhere,
//! since it is kept for a retry of the call.
//!
//! An unreadable row differs: it is a failure of this disk, not of the command, and stops the
//! replica.

use std::panic::{AssertUnwindSafe, catch_unwind};

use namespace::{Applied, TransactionPosition, View, ViewError};
use proto::ozone::{OmRequest, OmResponse, Status};

/// Applies an entry: [`namespace::apply`], or a test's function.
pub(crate) type Rules = fn(OmRequest, TransactionPosition, &dyn View) -> Result<Applied, ViewError>;

/// Result of a command.
pub(super) enum Outcome {
    /// It was applied, or refused by the rules.
    Applied(Applied),
    /// The rules panicked; this is the answer.
    Panicked(OmResponse),
}

/// Applies `request` by `rules`.
///
/// # Errors
/// When the tables cannot be read.
pub(super) fn apply(
    rules: Rules,
    request: OmRequest,
    at: TransactionPosition,
    view: &dyn View,
) -> Result<Outcome, ViewError> {
    let (cmd_type, trace_id) = (request.cmd_type, request.trace_id.clone());
    // The cache of a view is filled entry by entry, so it is whole after a panic.
    match catch_unwind(AssertUnwindSafe(|| rules(request, at, view))) {
        Ok(applied) => applied.map(Outcome::Applied),
        Err(panic) => {
            let cause = panic.downcast_ref::<String>().map(String::as_str);
            let cause = cause.or_else(|| panic.downcast_ref::<&str>().copied());
            tracing::error!(
                index = at.index,
                term = at.term,
                cmd_type,
                cause = cause.unwrap_or("unknown"),
                "command failed because of a bug; it changed nothing and was refused"
            );
            Ok(Outcome::Panicked(refusal(cmd_type, trace_id)))
        }
    }
}

fn refusal(cmd_type: i32, trace_id: Option<String>) -> OmResponse {
    OmResponse {
        cmd_type,
        trace_id,
        success: Some(false),
        status: Status::InternalError as i32,
        message: Some(
            "the command could not be applied because of a bug, it changed nothing".to_owned(),
        ),
        ..OmResponse::default()
    }
}
