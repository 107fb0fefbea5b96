//! AddAcl, RemoveAcl, SetAcl.

use proto::ozone::{
    AddAclRequest, AddAclResponse, OmResponse, OzoneAclInfo, RemoveAclRequest, RemoveAclResponse,
    SetAclRequest, SetAclResponse, Type,
};

use super::list::{grant, revoke};
use super::object::Object;
use crate::apply::ApplyContext;
use crate::error::OmError;
use crate::response;

/// Changes the ACLs of `object` by `edit`, which says whether it changed anything.
fn change(
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

pub(crate) fn add(
    request: AddAclRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let acl = request.acl;
    let object = Object::find(cx.view, &request.obj)?;
    let done = change(cx, object, request.modification_time, |acls| grant(acls, acl))?;
    let mut r = response::ok(Type::AddAcl);
    r.add_acl_response = Some(Box::new(AddAclResponse { response: done }));
    Ok(r)
}

pub(crate) fn remove(
    request: RemoveAclRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let acl = &request.acl;
    let object = Object::find(cx.view, &request.obj)?;
    if object.is_absent() {
        return Err(OmError::PrefixNotFound(format!(
            "No prefix info for the prefix path: {}",
            request.obj.path
        )));
    }
    let done = change(cx, object, request.modification_time, |acls| revoke(acls, acl))?;
    let mut r = response::ok(Type::RemoveAcl);
    r.remove_acl_response = Some(Box::new(RemoveAclResponse { response: done }));
    Ok(r)
}

pub(crate) fn set(
    request: SetAclRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    let wanted = request.acl;
    let object = Object::find(cx.view, &request.obj)?;
    let done = change(cx, object, request.modification_time, |acls| {
        *acls = wanted;
        true
    })?;
    let mut r = response::ok(Type::SetAcl);
    r.set_acl_response = Some(Box::new(SetAclResponse { response: done }));
    Ok(r)
}
