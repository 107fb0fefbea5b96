//! GetAcl. A link shows its own ACLs, by which access through it is decided.

use proto::ozone::{GetAclRequest, GetAclResponse, OmResponse, Type};

use super::object::Object;
use crate::authorizer::{Path, Right};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;

pub(crate) struct GetAcl;

impl Command for GetAcl {
    const TYPE: Type = Type::GetAcl;
    const AUDIT: &'static str = "GET_ACL";
    const RIGHTS: Rights<GetAclRequest> =
        Rights::Required(|request, guard| guard.require_object(&request.obj, Right::ReadAcl));
    request_part!(get_acl_request: GetAclRequest);
}

impl Read for GetAcl {
    fn read(request: &GetAclRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let mut obj = request.obj.clone();
        if let Path::Key { volume, bucket, key } = Path::of(&request.obj)? {
            let (mut v, mut b) = (volume.to_owned(), bucket.to_owned());
            bucket::resolve(cx.view, &mut v, &mut b)?;
            obj.path = format!("/{v}/{b}/{key}");
        }
        let acls = Object::find(cx.view, &obj)?.acls().to_vec();
        let mut r = response::ok(Type::GetAcl);
        r.get_acl_response = Some(Box::new(GetAclResponse { acls }));
        Ok(r)
    }
}
