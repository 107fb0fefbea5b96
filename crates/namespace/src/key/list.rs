//! ListKeys, and the walk over a bucket's rows that it has in common with ListKeysLight.
//!
//! [`encode`] is the fast form. The entry of a key is nearly always equal to its row, byte by byte.

use std::ops::ControlFlow;

use bytes::Bytes;
use proto::ozone::{DirectoryInfo, KeyInfo, ListKeysRequest, ListKeysResponse, OmResponse, Type};

use super::page_bytes::{PageBytes, PageFields};
use super::row_bytes::RowBytes;
use crate::authorizer::{Guard, Right};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::{OmError, ViewError};
use crate::fso;
use crate::fso::list_keys::{KeyRange, ListedKey};
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::limits::PAGE_NAME_BYTES;
use crate::state::row::{self, Bucket};
use crate::state::scan::try_scan;
use crate::state::tree::{Tree, directory};
use crate::tables::{Table, object_key, prefix_end};

const FIELDS: PageFields = PageFields { response: 35, entry: 2, is_truncated: 3 };

/// Bytes of an ordinary entry, to start the buffer with.
const ENTRY_BYTES: usize = 256;

pub(crate) struct ListKeys;

impl Command for ListKeys {
    const TYPE: Type = Type::ListKeys;
    const AUDIT: &'static str = "LIST_KEYS";
    const RIGHTS: Rights<ListKeysRequest> = Rights::Required(rights);
    request_part!(list_keys_request: ListKeysRequest);

    fn audit(request: &ListKeysRequest) -> AuditParams {
        let mut params = audit::bucket(&request.volume_name, &request.bucket_name);
        params.extend(request.prefix.clone().map(|prefix| ("prefix", prefix)));
        params
    }
}

fn rights(request: &ListKeysRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    let prefix = request.prefix.as_deref().unwrap_or("");
    guard.require_content(&request.volume_name, &request.bucket_name, prefix, &[Right::List])
}

impl Read for ListKeys {
    fn read(request: &ListKeysRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let mut keys: Vec<KeyInfo> = Vec::new();
        let truncated = walk(request, cx, &mut |bucket, listed| {
            keys.push(listed.decode(bucket)?);
            Ok(())
        })?;
        let mut r = response::ok(Type::ListKeys);
        r.list_keys_response =
            Some(Box::new(ListKeysResponse { key_info: keys, is_truncated: Some(truncated) }));
        Ok(r)
    }
}

/// A key of a list.
pub(super) enum Listed<'a> {
    /// In a flat bucket: its row.
    Row { key: &'a [u8], value: &'a [u8] },
    /// A file of a tree: its whole path and the value of its row, which has the last name only.
    File { path: &'a str, value: &'a [u8] },
    /// A directory of a tree; the path ends with a slash.
    Directory { path: &'a str, directory: &'a DirectoryInfo },
}

impl Listed<'_> {
    fn decode(&self, bucket: &Bucket) -> Result<KeyInfo, ViewError> {
        match *self {
            Self::Row { key, value } => row::decode_slice(Table::KeyTable, key, value),
            Self::File { path, value } => {
                let mut key: KeyInfo = row::decode_slice(Table::FileTable, path.as_bytes(), value)?;
                path.clone_into(&mut key.key_name);
                Ok(key)
            }
            Self::Directory { path, directory } => {
                Ok(directory::as_key(directory, bucket, path.to_owned()))
            }
        }
    }

    /// Its row as the entry of a list, if it has a well-formed one.
    fn row(&self) -> Option<RowBytes<'_, &[u8]>> {
        match *self {
            Self::Row { value, .. } => RowBytes::whole(value, None).ok(),
            Self::File { path, value } => RowBytes::whole(value, Some(path.as_bytes())).ok(),
            Self::Directory { .. } => None,
        }
    }
}

/// The encoded answer to a ListKeys.
pub(crate) fn encode(
    request: &ListKeysRequest,
    trace_id: Option<&str>,
    cx: &ReadContext<'_>,
) -> Result<Bytes, OmError> {
    let page = cx.page(request.count.map(i64::from));
    let expected = page.saturating_mul(ENTRY_BYTES);
    let mut out = PageBytes::new(FIELDS, Type::ListKeys, trace_id, expected);
    let truncated = walk(request, cx, &mut |bucket, listed| {
        match listed.row() {
            Some(row) => row.encode(out.entry(row.encoded_len())),
            None => out.message(&listed.decode(bucket)?),
        }
        Ok(())
    })?;
    Ok(out.end(truncated))
}

/// Handler of a listed key.
type Each<'a> = dyn FnMut(&Bucket, Listed<'_>) -> Result<(), ViewError> + 'a;

/// Room left in a page.
struct Left {
    keys: usize,
    name_bytes: usize,
}

impl Left {
    fn of(keys: usize) -> Self {
        Self { keys, name_bytes: PAGE_NAME_BYTES }
    }

    /// Takes room for a key with a name of `name_bytes` bytes: the last one may be of any length.
    fn take(&mut self, name_bytes: usize) -> bool {
        if self.keys == 0 || self.name_bytes == 0 {
            return false;
        }
        self.keys = self.keys.saturating_sub(1);
        self.name_bytes = self.name_bytes.saturating_sub(name_bytes);
        true
    }
}

/// Calls `each` with the rows of one page: those with the prefix, after the start key. True if
/// there are more.
pub(super) fn walk(
    request: &ListKeysRequest,
    cx: &ReadContext<'_>,
    each: &mut Each<'_>,
) -> Result<bool, OmError> {
    let (mut volume, mut bucket) = (request.volume_name.clone(), request.bucket_name.clone());
    let found = bucket::resolve(cx.view, &mut volume, &mut bucket)?;
    let mut left = Left::of(cx.page(request.count.map(i64::from)));
    if found.is_tree() {
        return walk_tree(request, cx, &found, left, each);
    }
    let prefix = object_key(&volume, &bucket, request.prefix.as_deref().unwrap_or(""));
    let after = object_key(&volume, &bucket, request.start_key.as_deref().unwrap_or(""));
    let end = prefix_end(&prefix);
    let start = prefix.as_slice().max(&after);
    let mut truncated = false;
    try_scan(cx.view, Table::KeyTable, start, end.as_deref(), &mut |key, value| {
        if key == after {
            return Ok(ControlFlow::Continue(()));
        }
        if !left.take(key.len()) {
            truncated = true;
            return Ok(ControlFlow::Break(()));
        }
        each(&found, Listed::Row { key, value })?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(truncated)
}

fn walk_tree(
    request: &ListKeysRequest,
    cx: &ReadContext<'_>,
    bucket: &Bucket,
    mut left: Left,
    each: &mut Each<'_>,
) -> Result<bool, OmError> {
    let tree = Tree::of(cx.view, bucket)?;
    let range = KeyRange {
        prefix: request.prefix.as_deref().unwrap_or(""),
        after: request.start_key.as_deref().unwrap_or(""),
    };
    let mut truncated = false;
    fso::list_keys::walk(&tree, &range, &mut |key| {
        let (name, listed) = match key {
            ListedKey::File { path, row } => (path, Listed::File { path, value: row }),
            ListedKey::Directory { path, directory } => {
                (path, Listed::Directory { path, directory })
            }
        };
        if !left.take(name.len()) {
            truncated = true;
            return Ok(ControlFlow::Break(()));
        }
        each(bucket, listed)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(truncated)
}
