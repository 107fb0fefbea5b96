//! Listing one directory of a LEGACY bucket: keys with one more name than its own. Keys below a
//! sub-directory are skipped by one seek.

use std::ops::ControlFlow;

use proto::ozone::KeyInfo;

use super::status::{as_directory, implied_directory, status};
use crate::error::OmError;
use crate::file::list_status::{Directory, Each, Listed, Page};
use crate::file::list_tree::not_found;
use crate::state::context::ReadContext;
use crate::state::row::{self, Bucket};
use crate::state::scan::try_scan;
use crate::state::tree::child::name_in;
use crate::tables::{Table, object_key, prefix_end};

/// Calls `each` with the children of the directory of `page`, or with the file that has its path.
pub(crate) fn list_status(
    cx: &ReadContext<'_>,
    bucket: &Bucket,
    page: &Page<'_>,
    each: &mut Each<'_>,
) -> Result<(), OmError> {
    let row_of = |name: &str| object_key(&bucket.volume_name, &bucket.bucket_name, name);
    let directory = match page.directory {
        "" => String::new(),
        path => {
            let found = status(cx, bucket, path)?.ok_or_else(|| not_found(bucket, path))?;
            if found.is_directory != Some(true) {
                let row = cx.view.get(Table::KeyTable, &row_of(path))?.unwrap_or_default();
                return each(Listed::File { path, row: &row }).map(drop);
            }
            format!("{path}/")
        }
    };
    let bucket_at = row_of("").len();
    let prefix = row_of(&format!("{directory}{}", page.name_prefix));
    let names_at = row_of(&directory).len();
    let end = prefix_end(&prefix);
    let mut start = prefix.clone();
    if !page.start.is_empty() {
        start = start.max(first_row(cx, bucket, &format!("{directory}{}", page.start))?);
    }
    // The directory's own key is no child of it.
    let own = row_of(&directory);
    loop {
        let mut skip_to = None;
        let table = Table::KeyTable;
        try_scan(cx.view, table, &start, end.as_deref(), &mut |key, value| {
            if key == own {
                return Ok(ControlFlow::Continue(()));
            }
            let rest = name_in(table, key, names_at)?;
            let path = name_in(table, key, bucket_at)?;
            let Some((_, below)) = rest.split_once('/') else {
                return each(Listed::File { path, row: value });
            };
            let sub = path.strip_suffix(below).unwrap_or(path);
            let entry = match below.is_empty() {
                true => as_directory(row::decode_slice::<KeyInfo>(table, key, value)?),
                false => implied_directory(bucket, sub.to_owned()),
            };
            let listed = Listed::Directory { path: sub.to_owned(), entry: Directory::Key(entry) };
            if each(listed)?.is_continue() {
                skip_to = prefix_end(&row_of(sub));
            }
            Ok(ControlFlow::Break(()))
        })?;
        match skip_to {
            Some(next) => start = next,
            None => return Ok(()),
        }
    }
}

/// The row that a page which starts at `path` begins with: a directory's key has a slash more
/// than its path.
fn first_row(cx: &ReadContext<'_>, bucket: &Bucket, path: &str) -> Result<Vec<u8>, OmError> {
    let is_directory =
        status(cx, bucket, path)?.is_some_and(|found| found.is_directory == Some(true));
    let name = if is_directory { format!("{path}/") } else { path.to_owned() };
    Ok(object_key(&bucket.volume_name, &bucket.bucket_name, &name))
}
