//! Directories of LEGACY buckets, keys that end with a slash: those that a new file needs, and
//! CreateDirectory.

use proto::ozone::{KeyArgs, KeyInfo};

use super::parents::MOST_PARENTS;
use super::{directory_at, file_exists, file_in_path};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::locations;
use crate::state::row::Bucket;
use crate::state::usage;
use crate::state::view::View;
use crate::tables::{Table, object_key};

/// Directories above a path that there are not, from above.
pub(crate) struct Parents(Vec<String>);

/// Obstacle on a path.
enum Above {
    /// Nothing; these directories are missing.
    Missing(Vec<String>),
    /// A file.
    File(String),
}

fn above(view: &dyn View, args: &KeyArgs) -> Result<Above, OmError> {
    let mut missing = Vec::new();
    let mut path = args.key_name.as_str();
    while let Some((parent, _)) = path.rsplit_once('/') {
        let row = |name: &str| object_key(&args.volume_name, &args.bucket_name, name);
        if view.exists(Table::KeyTable, &row(parent))? {
            return Ok(Above::File(parent.to_owned()));
        }
        let directory = format!("{parent}/");
        if view.exists(Table::KeyTable, &row(&directory))? {
            break;
        }
        missing.push(directory);
        path = parent;
    }
    if missing.len() > MOST_PARENTS {
        return Err(OmError::InvalidKeyName(format!(
            "Too many directories in path. Exceeds limit of {MOST_PARENTS}"
        )));
    }
    missing.reverse();
    Ok(Above::Missing(missing))
}

fn is_directory(view: &dyn View, args: &KeyArgs) -> Result<bool, OmError> {
    let name = format!("{}/", args.key_name);
    let row = object_key(&args.volume_name, &args.bucket_name, &name);
    Ok(view.exists(Table::KeyTable, &row)?)
}

impl Parents {
    /// Directories that a new file at the path of `args` needs.
    ///
    /// # Errors
    /// When there is a directory, or a file where a directory would be needed.
    pub fn of_file(view: &dyn View, args: &KeyArgs) -> Result<Self, OmError> {
        if is_directory(view, args)? {
            return Err(directory_at(&args.key_name));
        }
        match above(view, args)? {
            Above::Missing(missing) => Ok(Self(missing)),
            Above::File(_) => Err(file_in_path(&args.key_name)),
        }
    }

    /// Number of directories.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Makes them. They count as names of the bucket.
    pub fn create(&self, cx: &mut ApplyContext<'_>, bucket: &mut Bucket, args: &KeyArgs) {
        let first = cx.object_id().saturating_add(1);
        for (id, name) in (first..).zip(&self.0) {
            put(cx, args, name.clone(), id);
        }
        usage::count(&mut bucket.used_namespace, usage::number(self.0.len()));
    }
}

/// CreateDirectory; false if it is there.
pub(crate) fn create_directory(
    cx: &mut ApplyContext<'_>,
    bucket: &mut Bucket,
    args: &KeyArgs,
) -> Result<bool, OmError> {
    let file = object_key(&args.volume_name, &args.bucket_name, &args.key_name);
    if cx.view.exists(Table::KeyTable, &file)? {
        return Err(file_exists(args, &args.key_name));
    }
    if is_directory(cx.view, args)? {
        return Ok(false);
    }
    let parents = match above(cx.view, args)? {
        Above::Missing(missing) => Parents(missing),
        Above::File(file) => return Err(file_exists(args, &file)),
    };
    usage::check_namespace(bucket, usage::number(parents.len()).saturating_add(1))?;
    parents.create(cx, bucket, args);
    put(cx, args, format!("{}/", args.key_name), cx.object_id());
    usage::count(&mut bucket.used_namespace, 1);
    Ok(true)
}

fn put(cx: &mut ApplyContext<'_>, args: &KeyArgs, name: String, object_id: u64) {
    let now = args.modification_time.unwrap_or_default();
    let row = object_key(&args.volume_name, &args.bucket_name, &name);
    let key = KeyInfo {
        volume_name: args.volume_name.clone(),
        bucket_name: args.bucket_name.clone(),
        key_name: name,
        r#type: args.r#type.unwrap_or_default(),
        factor: args.factor,
        ec_replication_config: args.ec_replication_config.clone(),
        key_location_list: vec![locations::no_blocks()],
        creation_time: now,
        modification_time: now,
        latest_version: Some(0),
        acls: args.acls.clone(),
        object_id: Some(object_id),
        update_id: Some(cx.tx.index),
        is_file: Some(false),
        owner_name: args.owner_name.clone(),
        ..KeyInfo::default()
    };
    cx.put(Table::KeyTable, row, &key);
}
