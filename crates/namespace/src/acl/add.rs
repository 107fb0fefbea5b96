//! AddAcl.

use proto::ozone::{AddAclRequest, AddAclResponse, OmResponse, Type};

use super::edit::change;
use super::object::{self, Object};
use crate::authorizer::{Right, grant};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::{ApplyContext, PrepareContext};

pub(crate) struct AddAcl;

impl Command for AddAcl {
    const TYPE: Type = Type::AddAcl;
    const AUDIT: &'static str = "ADD_ACL";
    const RIGHTS: Rights<AddAclRequest> =
        Rights::Required(|request, guard| guard.require_object(&request.obj, Right::WriteAcl));
    request_part!(add_acl_request: AddAclRequest);
}

fn prepare(request: &mut AddAclRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    object::prepare(&mut request.obj, &mut request.modification_time, ctx)
}

impl Write for AddAcl {
    const PREPARE: Decision<AddAclRequest> = Decision::Fields(prepare);

    fn apply(request: AddAclRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let acl = request.acl;
        let object = Object::find(cx.view, &request.obj)?;
        let done = change(cx, object, request.modification_time, |acls| grant(acls, acl))?;
        let mut r = response::ok(Type::AddAcl);
        r.add_acl_response = Some(Box::new(AddAclResponse { response: done }));
        Ok(r)
    }
}
