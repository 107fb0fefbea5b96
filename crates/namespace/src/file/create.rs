//! CreateFile: opens a session in which a file is written, and makes the directories it needs.

use proto::ozone::{CreateFileRequest, CreateFileResponse, OmResponse, Type};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::key::create::{admit, begin, claim};
use crate::new_key::{of_new, require_paths};
use crate::state::context::{ApplyContext, BlockDemand, PrepareContext};
use crate::state::key_row::resolve_names;
use crate::state::locations;
use crate::state::names::validate_key_name;
use crate::state::tree::path;

pub(crate) struct CreateFile;

impl Command for CreateFile {
    const TYPE: Type = Type::CreateFile;
    const AUDIT: &'static str = "CREATE_FILE";
    const RIGHTS: Rights<CreateFileRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Create));
    request_part!(create_file_request: CreateFileRequest);

    fn audit(request: &CreateFileRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(
    request: &mut CreateFileRequest,
    ctx: &PrepareContext<'_>,
) -> Result<Option<BlockDemand>, OmError> {
    let args = &mut request.key_args;
    let bucket = resolve_names(args, ctx)?;
    require_paths(&bucket)?;
    path::normalize_in_place(&mut args.key_name);
    if args.key_name.is_empty() {
        return Err(OmError::NotAFile("Can not write to directory: /".to_owned()));
    }
    validate_key_name(&args.key_name, ctx.settings)?;
    path::check(&args.key_name)?;
    args.modification_time = Some(ctx.now_ms);
    args.key_locations.clear();
    request.client_id = Some(ctx.fresh.id());
    if args.owner_name.as_deref().is_none_or(str::is_empty) {
        args.owner_name = Some(ctx.user.to_owned());
    }
    claim(args, &bucket, ctx)
}

impl Write for CreateFile {
    const PREPARE: Decision<CreateFileRequest> = Decision::FieldsAndBlocks(prepare);

    fn apply(request: CreateFileRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let client_id = request.client_id.ok_or_else(|| OmError::missing("clientID"))?;
        let mut args = request.key_args;
        let (mut key_row, parents) = of_new(&args, true, cx)?;
        if parents.len() > 0 && !request.is_recursive {
            return Err(OmError::DirectoryNotFound(format!(
                "Cannot create file : {} as parent directory doesn't exist",
                args.key_name
            )));
        }
        if !request.is_overwrite && key_row.exists(cx.view)? {
            return Err(OmError::FileExists(format!("File {} already exists", args.key_name)));
        }
        args.key_locations.iter_mut().for_each(locations::strip);
        let expected = admit(&args, &key_row, &parents, cx)?;
        parents.create(cx, &mut key_row, &args)?;
        let key = begin(args, client_id, &key_row, false, expected, cx)?;
        let mut r = response::ok(Type::CreateFile);
        r.create_file_response = Some(Box::new(CreateFileResponse {
            key_info: Some(key),
            id: Some(client_id),
            open_version: Some(0),
        }));
        Ok(r)
    }
}
