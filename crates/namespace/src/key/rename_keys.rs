//! RenameKeys: many renames in one transaction, one after the other; those that cannot be done
//! are named in the answer.

use proto::ozone::{
    OmResponse, RenameKeysMap, RenameKeysRequest, RenameKeysResponse, Status, Type,
};

use super::rename::{Pair, rename};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::fso;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::effect::Effect;
use crate::state::find::bucket;
use crate::state::names::validate_key_name;
use crate::state::overlay::Overlay;
use crate::state::row::Bucket;
use crate::state::tree::{Tree, path};
use crate::state::view::View;

pub(crate) struct RenameKeys;

impl Command for RenameKeys {
    const TYPE: Type = Type::RenameKeys;
    const AUDIT: &'static str = "RENAME_KEYS";
    // Each key is authorized by itself (`check_access.rs`).
    const RIGHTS: Rights<RenameKeysRequest> = Rights::Anybody;
    request_part!(rename_keys_request: RenameKeysRequest);
}

fn prepare(request: &mut RenameKeysRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let args = &mut request.rename_keys_args;
    let bucket = bucket::resolve(ctx.view, &mut args.volume_name, &mut args.bucket_name)?;
    for pair in &mut args.rename_keys_map {
        if ctx.settings.has_paths(&bucket) {
            normalize(&mut pair.from_key_name, &bucket);
            normalize(&mut pair.to_key_name, &bucket);
        }
        if bucket.is_tree() {
            path::check(&pair.to_key_name)?;
        }
        validate_key_name(&pair.to_key_name, ctx.settings)?;
    }
    Ok(())
}

/// Takes slashes too many away. In a LEGACY bucket one at the end makes a directory.
fn normalize(name: &mut String, bucket: &Bucket) {
    let is_directory = !bucket.is_tree() && name.ends_with('/');
    path::normalize_in_place(name);
    if is_directory {
        name.push('/');
    }
}

impl Write for RenameKeys {
    const PREPARE: Decision<RenameKeysRequest> = Decision::Fields(prepare);

    fn apply(request: RenameKeysRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let args = request.rename_keys_args;
        let bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
        let mut overlay = Overlay::new(cx.view);
        let mut unrenamed = args.refused;
        for pair in args.rename_keys_map {
            match one(&overlay, &bucket, &pair, cx.tx.index) {
                Ok(effects) => {
                    overlay.absorb(effects.clone());
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
        r.rename_keys_response = Some(Box::new(RenameKeysResponse {
            un_renamed_keys: unrenamed,
            status: Some(complete),
        }));
        Ok(r)
    }
}

fn one(
    view: &dyn View,
    bucket: &Bucket,
    names: &RenameKeysMap,
    index: u64,
) -> Result<Vec<Effect>, OmError> {
    let (volume, bucket_name) = (bucket.volume_name.as_str(), bucket.bucket_name.as_str());
    let (from, to) = (names.from_key_name.as_str(), names.to_key_name.as_str());
    if bucket.is_tree() {
        let tree = Tree::of(view, bucket)?;
        let pair = fso::rename::Pair { from, to, now: None, index };
        let not_found = OmError::key_not_found(volume, bucket_name, from);
        return Ok(fso::rename::rename(&tree, &pair, not_found)?.effects);
    }
    let pair = Pair { volume, bucket: bucket_name, from, to, now: None, index };
    Ok(rename(view, &pair)?.to_vec())
}
