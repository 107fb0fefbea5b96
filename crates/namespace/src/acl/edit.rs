//! A change of an object's ACLs: code that AddAcl, RemoveAcl and SetAcl share.

use proto::ozone::OzoneAclInfo;

use super::object::Object;
use crate::authorizer::grant;
use crate::error::OmError;
use crate::state::context::ApplyContext;

/// Changes the ACLs of `object` by `edit`, which returns `true` if it changed them.
pub(super) fn change(
    cx: &mut ApplyContext<'_>,
    object: Object,
    now: Option<u64>,
    edit: impl FnOnce(&mut Vec<OzoneAclInfo>) -> bool,
) -> Result<bool, OmError> {
    let mut acls = object.acls().to_vec();
    let changed = edit(&mut acls);
    if changed {
        for inherited in object.from_above(cx.view)? {
            grant(&mut acls, inherited);
        }
    }
    if changed {
        object.store(cx, acls, now);
    }
    Ok(changed)
}
