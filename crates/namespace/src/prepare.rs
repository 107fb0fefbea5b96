//! The leader's step before the log: check the request and decide all that is not determined by
//! the tables (time, ids, secrets, settings, blocks), in the request's own fields.

use proto::ozone::{KeyLocation, OmRequest};

use crate::check_access::check_write;
use crate::error::OmError;
use crate::registry::{self, Route};
use crate::route::route;
use crate::state::context::{BlockDemand, PrepareContext};
use crate::state::locations;

/// A request that is ready for the log once it has its blocks.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The request, fully decided but for its blocks.
    pub request: OmRequest,
    /// Blocks to allocate first.
    pub blocks: Option<BlockDemand>,
}

/// Checks a write and decides on the contents of its log entry.
///
/// # Errors
/// When the request is refused; nothing needs to be logged then.
pub fn prepare(request: OmRequest, ctx: &PrepareContext<'_>) -> Result<Prepared, OmError> {
    prepare_with(request, ctx, || ())
}

/// As [`prepare`]; `authorized` is called after the check of the user's rights, for a caller that
/// measures its duration.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_with(
    mut request: OmRequest,
    ctx: &PrepareContext<'_>,
    authorized: impl FnOnce(),
) -> Result<Prepared, OmError> {
    if route(&request) != Route::Write {
        return Err(OmError::unsupported(request.cmd_type));
    }
    let allowed = check_write(&mut request, ctx);
    authorized();
    allowed?;
    let blocks = registry::prepare(registry::command_of(&request)?, &mut request, ctx)?;
    Ok(Prepared { request, blocks })
}

/// Puts the blocks that `prepare` demanded into the request. Pipelines and tokens are left out:
/// they are for the response, not for the log or the tables.
pub fn assign_blocks(request: &mut OmRequest, mut blocks: Vec<KeyLocation>) {
    blocks.iter_mut().for_each(locations::strip);
    if let Some(create) = &mut request.create_key_request {
        create.key_args.key_locations = blocks;
    } else if let Some(create) = &mut request.create_file_request {
        create.key_args.key_locations = blocks;
    } else if let Some(allocate) = &mut request.allocate_block_request {
        allocate.key_location = blocks.pop();
    }
}
