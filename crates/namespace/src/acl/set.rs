//! SetAcl.

use proto::ozone::{OmResponse, SetAclRequest, SetAclResponse, Type};

use super::edit::change;
use super::object::{self, Object};
use crate::authorizer::Right;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::limits;

pub(crate) struct SetAcl;

impl Command for SetAcl {
    const TYPE: Type = Type::SetAcl;
    const AUDIT: &'static str = "SET_ACL";
    const RIGHTS: Rights<SetAclRequest> =
        Rights::Required(|request, guard| guard.require_object(&request.obj, Right::WriteAcl));
    request_part!(set_acl_request: SetAclRequest);
}

fn prepare(request: &mut SetAclRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    limits::check_entries("ACLs", request.acl.len())?;
    object::prepare(&mut request.obj, &mut request.modification_time, ctx)
}

impl Write for SetAcl {
    const PREPARE: Decision<SetAclRequest> = Decision::Fields(prepare);

    fn apply(request: SetAclRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
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
}
