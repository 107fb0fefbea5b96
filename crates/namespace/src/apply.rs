//! The replicated step: one log entry over the tables gives a response and effects.

use proto::ozone::{OmRequest, OmResponse};

use crate::error::{OmError, ViewError};
use crate::registry;
use crate::state::context::{ApplyContext, TransactionPosition};
use crate::state::effect::Effect;
use crate::state::layers::keep::keep;
use crate::state::snapshot_usage::Added;
use crate::state::view::View;

/// Result of an entry.
#[derive(Debug)]
pub struct Applied {
    /// The answer to the client.
    pub response: OmResponse,
    /// The changes, to be written together with the entry's position.
    pub effects: Vec<Effect>,
}

/// Applies a prepared request. The same request at the same position over the same tables gives
/// the same result on every replica.
///
/// # Errors
/// Only when the tables cannot be read: the replica must stop then, since others may have gone
/// on. A refusal is a response.
pub fn apply(
    mut request: OmRequest,
    tx: TransactionPosition,
    view: &dyn View,
) -> Result<Applied, ViewError> {
    let cmd_type = request.cmd_type;
    let trace_id = request.trace_id.take();
    let mut cx = ApplyContext { view, tx, effects: Vec::new(), kept: Added::default() };
    let response = registry::command_of(&request)
        .and_then(|command| registry::apply(command, request, &mut cx));
    match response {
        Ok(mut response) => {
            keep(view, &mut cx.effects)?;
            cx.effects.extend(cx.kept.effects(view)?);
            response.trace_id = trace_id;
            Ok(Applied { response, effects: cx.effects })
        }
        Err(OmError::View(e)) => Err(e),
        Err(refusal) => {
            Ok(Applied { response: refusal.into_response(cmd_type, trace_id), effects: Vec::new() })
        }
    }
}
