//! CreateDirectory, with the directories above it.

use proto::ozone::{
    BucketLayoutProto, CreateDirectoryRequest, CreateDirectoryResponse, KeyArgs, OmResponse,
    Status, Type,
};

use crate::authorizer::Right;
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::key::create::inherit;
use crate::new_key::parents::{Origin, Parents};
use crate::new_key::{file_exists, legacy, require_paths};
use crate::state::context::{ApplyContext, PrepareContext};
use crate::state::find::bucket;
use crate::state::key_row::resolve_names;
use crate::state::names::validate_key_name;
use crate::state::replication;
use crate::state::row::Bucket;
use crate::state::tree::lookup::lookup;
use crate::state::tree::{Tree, path};
use crate::state::usage;
use crate::tables::bucket_key;

pub(crate) struct CreateDirectory;

impl Command for CreateDirectory {
    const TYPE: Type = Type::CreateDirectory;
    const AUDIT: &'static str = "CREATE_DIRECTORY";
    const RIGHTS: Rights<CreateDirectoryRequest> =
        Rights::Required(|request, guard| guard.require_key(&request.key_args, Right::Create));
    request_part!(create_directory_request: CreateDirectoryRequest);

    fn audit(request: &CreateDirectoryRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

fn prepare(request: &mut CreateDirectoryRequest, ctx: &PrepareContext<'_>) -> Result<(), OmError> {
    let args = &mut request.key_args;
    let bucket = resolve_names(args, ctx)?;
    require_paths(&bucket)?;
    path::normalize_in_place(&mut args.key_name);
    if args.key_name.is_empty() {
        return Err(OmError::DirectoryAtRoot);
    }
    validate_key_name(&args.key_name, ctx.settings)?;
    path::check(&args.key_name)?;
    args.modification_time = Some(ctx.now_ms);
    if args.owner_name.as_deref().is_none_or(str::is_empty) {
        args.owner_name = Some(ctx.user.to_owned());
    }
    inherit(args, &bucket, ctx)?;
    // In a LEGACY bucket the directory is a key, and a key has a replication.
    replication::complete(args, &bucket, ctx.settings)?;
    Ok(())
}

impl Write for CreateDirectory {
    const PREPARE: Decision<CreateDirectoryRequest> = Decision::Fields(prepare);

    fn apply(
        request: CreateDirectoryRequest,
        cx: &mut ApplyContext<'_>,
    ) -> Result<OmResponse, OmError> {
        let args = request.key_args;
        let mut bucket = bucket::find(cx.view, &args.volume_name, &args.bucket_name)?;
        let made = match bucket.layout() {
            BucketLayoutProto::FileSystemOptimized => in_tree(cx, &mut bucket, &args)?,
            _ => legacy::create_directory(cx, &mut bucket, &args)?,
        };
        let mut r = response::ok(Type::CreateDirectory);
        if made {
            cx.put_bucket(bucket_key(&args.volume_name, &args.bucket_name), bucket);
        } else {
            // A client that needs the directory to exist can treat this as success.
            r.status = Status::DirectoryAlreadyExists as i32;
        }
        r.create_directory_response = Some(Box::new(CreateDirectoryResponse {}));
        Ok(r)
    }
}

/// False if the directory is there.
fn in_tree(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    args: &KeyArgs,
) -> Result<bool, OmError> {
    let tree = Tree::of(cx.view, bucket)?;
    let lookup = lookup(&tree, &args.key_name)?;
    if let Some(parent_id) = lookup.parent_id() {
        if tree.directory(parent_id, lookup.leaf)?.is_some() {
            return Ok(false);
        }
        if tree.has_file(parent_id, lookup.leaf)? {
            return Err(file_exists(args, &args.key_name));
        }
    } else if lookup.is_blocked(&tree)? {
        return Err(file_exists(args, lookup.first_missing(&args.key_name)));
    }
    let parents = Parents::of(&lookup, cx.object_id())?;
    usage::check_namespace(bucket, usage::number(parents.len()).saturating_add(1))?;
    parents.create_leaf(cx, &tree, bucket, &Origin::of(args), lookup.leaf);
    Ok(true)
}
