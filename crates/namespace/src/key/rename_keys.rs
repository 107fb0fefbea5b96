//! RenameKeys: many renames in one transaction, one after the other; those that cannot be done
//! are named in the answer.

use proto::ozone::{OmResponse, RenameKeysRequest, RenameKeysResponse, Status, Type};

use super::rename::{Pair, rename};
use crate::apply::ApplyContext;
use crate::bucket::find;
use crate::error::OmError;
use crate::names::validate_key_name;
use crate::overlay::Overlay;
use crate::prepare::PrepareContext;
use crate::response;

pub(crate) fn prepare(
    request: &mut RenameKeysRequest,
    ctx: &PrepareContext<'_>,
) -> Result<(), OmError> {
    let args = &mut request.rename_keys_args;
    let bucket = find::resolve(ctx.view, &mut args.volume_name, &mut args.bucket_name)?;
    find::require_flat(&bucket)?;
    for pair in &args.rename_keys_map {
        validate_key_name(&pair.to_key_name, ctx.settings)?;
    }
    Ok(())
}

pub(crate) fn apply(
    request: RenameKeysRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let args = request.rename_keys_args;
    let bucket = find::find(cx.view, &args.volume_name, &args.bucket_name)?;
    find::require_flat(&bucket)?;
    let mut overlay = Overlay::new(cx.view);
    let mut unrenamed = args.refused;
    for pair in args.rename_keys_map {
        let renamed = rename(
            &overlay,
            &Pair {
                volume: &args.volume_name,
                bucket: &args.bucket_name,
                from: &pair.from_key_name,
                to: &pair.to_key_name,
                now: None,
                index: cx.tx.index,
            },
        );
        match renamed {
            Ok(effects) => {
                overlay.absorb(effects.to_vec());
                cx.effects.extend(effects);
            }
            Err(OmError::View(e)) => return Err(e.into()),
            Err(_) => unrenamed.push(pair),
        }
    }
    let complete = unrenamed.is_empty();
    let mut r = if complete {
        response::ok(Type::RenameKeys)
    } else {
        let message = format!("{} keys could not be renamed", unrenamed.len());
        response::partial(Type::RenameKeys, Status::PartialRename, message)
    };
    r.rename_keys_response =
        Some(Box::new(RenameKeysResponse { un_renamed_keys: unrenamed, status: Some(complete) }));
    Ok(r)
}
