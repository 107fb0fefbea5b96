//! Missing directories that a new file or directory needs.

use std::sync::Arc;

use proto::ozone::{DirectoryInfo, KeyArgs, OzoneAclInfo};

use crate::authorizer;
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::row::Bucket;
use crate::state::tree::Tree;
use crate::state::tree::lookup::PathLookup;
use crate::state::usage;
use crate::tables::Table;

/// Most objects of one transaction: the low eight bits of an object id distinguish them.
pub(crate) const MOST_PARENTS: usize = 255;

/// Attributes of new directories besides their name.
pub(crate) struct Origin<'a> {
    pub now: u64,
    pub owner: Option<&'a str>,
    pub acls: &'a [OzoneAclInfo],
}

impl<'a> Origin<'a> {
    /// From the arguments of the request.
    pub fn of(args: &'a KeyArgs) -> Self {
        Self {
            now: args.modification_time.unwrap_or_default(),
            owner: args.owner_name.as_deref(),
            acls: &args.acls,
        }
    }
}

/// The missing directories of a lookup, with the ids that they will have: the transaction's own
/// number is for the end of the path, the following ones for its parents from above.
pub(crate) struct Parents {
    nearest: Option<Arc<DirectoryInfo>>,
    nearest_id: u64,
    names: Vec<String>,
    first_id: u64,
}

impl Parents {
    /// # Errors
    /// When they are too many for one transaction.
    pub fn of(lookup: &PathLookup<'_>, object_id: u64) -> Result<Self, OmError> {
        if lookup.missing.len() > MOST_PARENTS {
            return Err(OmError::InvalidKeyName(format!(
                "Too many directories in path. Exceeds limit of {MOST_PARENTS}"
            )));
        }
        Ok(Self {
            nearest: lookup.nearest.clone(),
            nearest_id: lookup.nearest_id,
            names: lookup.missing.iter().map(|name| (*name).to_owned()).collect(),
            first_id: object_id.saturating_add(1),
        })
    }

    /// Number of directories.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Id of the lowest one, which the end of the path is in.
    pub fn last_id(&self) -> u64 {
        match usage::number(self.names.len()).checked_sub(1) {
            None => self.nearest_id,
            Some(behind) => self.first_id.saturating_add(behind),
        }
    }

    /// Makes them. They count as names of the bucket.
    pub fn create(
        &self,
        cx: &mut ApplyContext<'_>,
        tree: &Tree<'_>,
        bucket: &mut Bucket,
        origin: &Origin<'_>,
    ) {
        let (mut parent_id, mut id) = (self.nearest_id, self.first_id);
        for name in &self.names {
            self.put(cx, tree, bucket, origin, (parent_id, name), id);
            parent_id = id;
            id = id.saturating_add(1);
        }
        usage::count(&mut bucket.used_namespace, usage::number(self.names.len()));
    }

    /// Makes the directory at the end of the path, too.
    pub fn create_leaf(
        &self,
        cx: &mut ApplyContext<'_>,
        tree: &Tree<'_>,
        bucket: &mut Bucket,
        origin: &Origin<'_>,
        leaf: &str,
    ) {
        self.create(cx, tree, bucket, origin);
        let id = cx.object_id();
        self.put(cx, tree, bucket, origin, (self.last_id(), leaf), id);
        usage::count(&mut bucket.used_namespace, 1);
    }

    fn put(
        &self,
        cx: &mut ApplyContext<'_>,
        tree: &Tree<'_>,
        bucket: &Bucket,
        origin: &Origin<'_>,
        (parent_id, name): (u64, &str),
        object_id: u64,
    ) {
        let mut acls = origin.acls.to_vec();
        let above = self.nearest.as_deref().map(|directory| directory.acls.as_slice());
        for above in above.into_iter().chain([bucket.acls.as_slice()]) {
            if authorizer::pass_on(&mut acls, above) {
                break;
            }
        }
        let directory = DirectoryInfo {
            name: name.to_owned(),
            creation_time: origin.now,
            modification_time: origin.now,
            acls,
            object_id,
            update_id: cx.tx.index,
            parent_id,
            owner_name: origin.owner.map(str::to_owned),
            ..DirectoryInfo::default()
        };
        cx.put(Table::DirectoryTable, tree.row(parent_id, name), &directory);
    }
}
