//! Replacement of a key's tags: code that PutObjectTagging and DeleteObjectTagging share.

use proto::ozone::KeyArgs;

use crate::error::OmError;
use crate::key::create::distinct;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::key_row::{KeyRow, resolve_names};

pub(super) fn prepare(args: &mut KeyArgs, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    resolve_names(args, ctx)?;
    args.modification_time = Some(ctx.now_ms);
    Ok(())
}

/// Replaces the tags of a key by those in `args`. The content is the same: so is the time of its
/// last modification.
pub(super) fn replace(mut args: KeyArgs, cx: &mut ApplyContext<'_>) -> Result<(), OmError> {
    let key_row = KeyRow::of_args(cx.view, &args)?;
    let mut key = key_row.existing(cx.view, &args)?;
    key.tags = distinct(std::mem::take(&mut args.tags));
    key.update_id = Some(cx.tx.index);
    key_row.put_committed(cx, key);
    Ok(())
}
