//! RemoveAcl.

use proto::ozone::{OmResponse, RemoveAclRequest, RemoveAclResponse, Type};

use super::edit::change;
use super::object::{self, Object};
use crate::authorizer::{Right, revoke};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};

pub(crate) struct RemoveAcl;

impl Command for RemoveAcl {
    const TYPE: Type = Type::RemoveAcl;
    const AUDIT: &'static str = "REMOVE_ACL";
    const RIGHTS: Rights<RemoveAclRequest> =
        Rights::Required(|request, guard| guard.require_object(&request.obj, Right::WriteAcl));
    request_part!(remove_acl_request: RemoveAclRequest);
}

fn prepare(request: &mut RemoveAclRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    object::prepare(&mut request.obj, &mut request.modification_time, ctx)
}

impl Write for RemoveAcl {
    const PREPARE: Decision<RemoveAclRequest> = Decision::Fields(prepare);

    fn apply(request: RemoveAclRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
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
}
