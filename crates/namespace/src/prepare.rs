//! The leader's step before the log: check the request and decide all that is not determined by
//! the tables (time, ids, secrets, settings, blocks), in the request's own fields.

use proto::hdds::ExcludeListProto;
use proto::ozone::{KeyLocation, OmRequest};
use types::ReplicationConfig;

use crate::error::OmError;
use crate::route::{self, Route};
use crate::settings::Settings;
use crate::view::View;
use crate::{acl, locations, registry};

/// Where the leader gets what must never repeat or be guessed.
pub trait Fresh {
    /// An id no other request gets: the session of an open key.
    fn id(&self) -> u64;
    /// Bytes of a UUID (version 7, so that ids sort by time): an upload's id.
    fn uuid(&self) -> [u8; 16];
    /// Random bytes from a cryptographic source: a secret key.
    fn secret(&self) -> [u8; 32];
}

/// What `prepare` decides from.
pub struct PrepareContext<'a> {
    /// The leader's clock, milliseconds since 1970.
    pub now_ms: u64,
    /// The tables. May lag behind the log: checks here spare work, those of `apply` count.
    pub view: &'a dyn View,
    /// The user that asks.
    pub user: &'a str,
    /// The groups of the user that asks, the primary one first.
    pub groups: &'a [String],
    /// Settings.
    pub settings: &'a Settings,
    /// Ids and secrets.
    pub fresh: &'a dyn Fresh,
}

/// Blocks that the request needs before it can be proposed; hand them to [`give_blocks`].
#[derive(Debug, Clone, PartialEq)]
pub struct BlockDemand {
    /// Replication of the pipelines.
    pub replication: ReplicationConfig,
    /// How many blocks.
    pub count: u32,
    /// Bytes of one block.
    pub size: u64,
    /// What the client wants avoided.
    pub exclude: Option<ExcludeListProto>,
    /// Owner of the containers.
    pub owner: String,
}

/// A request that is ready for the log once it has its blocks.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The request, fully decided but for its blocks.
    pub request: OmRequest,
    /// Blocks to allocate first.
    pub blocks: Option<BlockDemand>,
}

/// Checks a write and decides what the log entry must say.
///
/// # Errors
/// When the request is refused; nothing needs to be logged then.
pub fn prepare(mut request: OmRequest, ctx: &PrepareContext<'_>) -> Result<Prepared, OmError> {
    if route::route(&request) != Route::Write {
        return Err(unsupported(request.cmd_type));
    }
    acl::check_write(&mut request, ctx)?;
    let blocks = registry::prepare(registry::command_of(&request)?, &mut request, ctx)?;
    Ok(Prepared { request, blocks })
}

/// The refusal of a command that nobody answers.
pub(crate) fn unsupported(cmd_type: i32) -> OmError {
    OmError::NotSupported(format!("{} is not supported", route::name(cmd_type)))
}

/// Puts the blocks that `prepare` demanded into the request. Pipelines and tokens are left out:
/// they are for the response, not for the log or the tables.
pub fn give_blocks(request: &mut OmRequest, mut blocks: Vec<KeyLocation>) {
    blocks.iter_mut().for_each(locations::strip);
    if let Some(create) = &mut request.create_key_request {
        create.key_args.key_locations = blocks;
    } else if let Some(create) = &mut request.create_file_request {
        create.key_args.key_locations = blocks;
    } else if let Some(allocate) = &mut request.allocate_block_request {
        allocate.key_location = blocks.pop();
    }
}
