//! ListStatus, and the walk over a directory that it has in common with ListStatusLight. The start
//! of a page is inclusive: clients ask for the last name that they have, and drop it.

use std::ops::ControlFlow;

use proto::ozone::{KeyInfo, ListStatusRequest, ListStatusResponse, OmResponse, Type};

use super::legacy;
use super::list_tree;
use super::status::{of_directory, of_file, of_path};
use crate::command::audit::{self, AuditParams};
use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::key::lookup;
use crate::new_key::require_paths;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::limits::StatusPaths;
use crate::state::row::Bucket;
use crate::state::tree::{directory, path};

/// An entry of a directory; names are whole paths.
pub(crate) enum Listed<'a> {
    /// A file's row, and its path.
    File { path: &'a str, row: &'a [u8] },
    /// A directory's entry: the fields of a light entry, and the others of a full one.
    Directory { path: String, entry: Directory<'a> },
}

impl Listed<'_> {
    /// Its whole path.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::File { path, .. } => path,
            Self::Directory { path, .. } => path,
        }
    }
}

/// A directory in a list.
pub(crate) enum Directory<'a> {
    /// Of a tree.
    Row(&'a proto::ozone::DirectoryInfo),
    /// Of a LEGACY bucket.
    Key(KeyInfo),
}

/// Takes entries until it breaks.
pub(crate) type Each<'e> = dyn FnMut(Listed<'_>) -> Result<ControlFlow<()>, OmError> + 'e;

/// Requested page.
pub(crate) struct Page<'a> {
    /// The directory, without slashes too many; the bucket itself when empty.
    pub directory: &'a str,
    /// Only names that begin like this.
    pub name_prefix: &'a str,
    /// Only names from this one on.
    pub start: &'a str,
}

pub(crate) struct ListStatus;

impl Command for ListStatus {
    const TYPE: Type = Type::ListStatus;
    const AUDIT: &'static str = "LIST_STATUS";
    const RIGHTS: Rights<ListStatusRequest> =
        Rights::Required(|request, guard| guard.require_path(&request.key_args));
    request_part!(list_status_request: ListStatusRequest);

    fn audit(request: &ListStatusRequest) -> AuditParams {
        audit::key(&request.key_args)
    }
}

impl Read for ListStatus {
    fn read(request: &ListStatusRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let mut statuses = Vec::new();
        let most = limit(request, cx);
        let mut paths = StatusPaths::new();
        walk(request, cx, &mut |bucket, listed| {
            paths.take(listed.path(), statuses.len())?;
            statuses.push(match listed {
                Listed::File { path, row } => {
                    let mut key = decode_file(row, path)?;
                    lookup::narrow(&mut key, &request.key_args);
                    of_file(key, cx)
                }
                Listed::Directory { path, entry } => of_directory(
                    match entry {
                        Directory::Row(row) => directory::as_key(row, bucket, path),
                        Directory::Key(key) => key,
                    },
                    cx,
                ),
            });
            Ok(go_on(statuses.len() < most))
        })?;
        let mut r = response::ok(Type::ListStatus);
        r.list_status_response = Some(Box::new(ListStatusResponse { statuses }));
        Ok(r)
    }
}

pub(super) fn go_on(more: bool) -> ControlFlow<()> {
    if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

pub(super) fn limit(request: &ListStatusRequest, cx: &ReadContext<'_>) -> usize {
    let most = cx.settings.directory_list_max_size as usize;
    usize::try_from(request.num_entries).map_or(most, |n| n.min(most))
}

fn decode_file(row: &[u8], path: &str) -> Result<KeyInfo, OmError> {
    let table = crate::tables::Table::FileTable;
    let mut key: KeyInfo = crate::state::row::decode_slice(table, path.as_bytes(), row)?;
    key.key_name = path.to_owned();
    Ok(key)
}

/// The same, with the bucket.
pub(super) type EachIn<'e> =
    dyn FnMut(&Bucket, Listed<'_>) -> Result<ControlFlow<()>, OmError> + 'e;

pub(super) fn walk(
    request: &ListStatusRequest,
    cx: &ReadContext<'_>,
    each: &mut EachIn<'_>,
) -> Result<(), OmError> {
    let args = &request.key_args;
    let (mut volume, mut name) = (args.volume_name.clone(), args.bucket_name.clone());
    let bucket = bucket::resolve(cx.view, &mut volume, &mut name)?;
    require_paths(&bucket)?;
    if request.num_entries == 0 {
        return Ok(());
    }
    let asked = args.key_name.as_str();
    let whole = path::normalize(asked);
    // A path without a directory or file may be a prefix of the names of some.
    let partial = request.allow_partial_prefix == Some(true)
        && !asked.ends_with('/')
        && of_path(args, cx)?.is_none();
    let (directory, name_prefix) = if partial { path::split(&whole) } else { (&*whole, "") };
    let start = path::normalize(&request.start_key);
    if bucket.is_tree() && is_below_a_child(directory, &start) {
        // The row that it names has another parent, after all rows of this one. Clients that list a
        // whole tree send this at the end, and would take further entries for more.
        return Ok(());
    }
    let Some(start) = start_in(directory, &start) else { return Ok(()) };
    let page = Page { directory, name_prefix, start };
    let mut each = |listed: Listed<'_>| each(&bucket, listed);
    match bucket.is_tree() {
        true => list_tree::walk(cx, &bucket, &page, &mut each),
        false => legacy::list_status(cx, &bucket, &page, &mut each),
    }
}

/// The name to start from within a directory, given a path to start from; `None` when that is
/// after the whole directory.
fn start_in<'a>(directory: &str, start: &'a str) -> Option<&'a str> {
    if directory.is_empty() {
        return Some(start.split('/').next().unwrap_or(""));
    }
    match start.strip_prefix(directory) {
        Some("") => Some(""),
        Some(rest) if rest.starts_with('/') => rest[1..].split('/').next(),
        _ if start < directory => Some(""),
        _ => None,
    }
}

/// Returns `true` if `start` is a path below a directory in `directory`.
fn is_below_a_child(directory: &str, start: &str) -> bool {
    let below = match directory {
        "" => Some(start),
        _ => start.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')),
    };
    below.is_some_and(|rest| rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::{is_below_a_child, start_in};

    #[test]
    fn a_start_below_a_child_is_told_from_a_child() {
        assert!(is_below_a_child("", "a/b"));
        assert!(is_below_a_child("d", "d/a/b"));
        for start in ["", "d", "d/a", "d2/a/b"] {
            assert!(!is_below_a_child("d", start), "{start}");
        }
        assert!(!is_below_a_child("", "a"));
    }

    #[test]
    fn a_page_starts_at_a_name_of_its_directory() {
        assert_eq!(start_in("", ""), Some(""));
        assert_eq!(start_in("", "a"), Some("a"));
        assert_eq!(start_in("", "a/b"), Some("a"));
        assert_eq!(start_in("d", "d"), Some(""));
        assert_eq!(start_in("d", "d/x"), Some("x"));
        assert_eq!(start_in("d", "a"), Some(""));
        assert_eq!(start_in("d", "e"), None);
        assert_eq!(start_in("d", "d2"), None);
    }
}
