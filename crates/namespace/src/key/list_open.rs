//! ListOpenFiles: keys being written, below a path.

use std::ops::ControlFlow;

use proto::ozone::{KeyInfo, ListOpenFilesRequest, ListOpenFilesResponse, OmResponse, Type};

use crate::command::response;
use crate::command::{Command, Read, Rights, request_part};
use crate::error::OmError;
use crate::state::context::ReadContext;
use crate::state::find::bucket;
use crate::state::key_row::KeyTables;
use crate::state::row;
use crate::state::scan::try_scan;
use crate::state::tree::Tree;
use crate::state::tree::lookup::lookup;
use crate::tables::{self, prefix_end};

pub(crate) struct ListOpenFiles;

impl Command for ListOpenFiles {
    const TYPE: Type = Type::ListOpenFiles;
    const AUDIT: &'static str = "ListOpenFiles";
    const RIGHTS: Rights<ListOpenFilesRequest> = Rights::Admins("list open files.");
    request_part!(list_open_files_request: ListOpenFilesRequest);
}

impl Read for ListOpenFiles {
    fn read(request: &ListOpenFilesRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
        let ranges = ranges_of(request.path.as_deref().unwrap_or(""), cx)?;
        let page = cx.page(request.count.map(i64::from));
        let after = request.token.as_deref().filter(|token| !token.is_empty()).map(str::as_bytes);
        let mut found = ListOpenFilesResponse { has_more: Some(false), ..Default::default() };
        let (mut total, mut last) = (0_u64, None);
        for (key_tables, prefix) in ranges {
            let table = key_tables.open();
            // Rows of trees come after the others, whatever their bytes are.
            let passed = |key: &[u8]| match after.map(|after| (key_tables_of(after), after)) {
                Some((KeyTables::Tree, _)) if key_tables == KeyTables::Flat => true,
                Some((KeyTables::Flat, _)) if key_tables == KeyTables::Tree => false,
                Some((_, after)) => key <= after,
                None => false,
            };
            let end = prefix_end(&prefix);
            try_scan(cx.view, table, &prefix, end.as_deref(), &mut |key, value| {
                total = total.saturating_add(1);
                if passed(key) {
                    return Ok(ControlFlow::Continue(()));
                }
                if found.key_info.len() == page {
                    found.has_more = Some(true);
                    return Ok(ControlFlow::Continue(()));
                }
                // Sessions of clients have numbers; uploads, which have none, are listed elsewhere.
                let Some(session) = session_of(key) else { return Ok(ControlFlow::Continue(())) };
                found.key_info.push(row::decode_slice::<KeyInfo>(table, key, value)?);
                found.client_id.push(session);
                last = Some(String::from_utf8_lossy(key).into_owned());
                Ok(ControlFlow::Continue(()))
            })?;
        }
        found.total_open_key_count = Some(total);
        found.continuation_token = last.filter(|_| found.has_more == Some(true));
        let mut r = response::ok(Type::ListOpenFiles);
        r.list_open_files_response = Some(Box::new(found));
        Ok(r)
    }
}

/// Tables and prefixes of the rows below `path`: everything, or a bucket, or names in a bucket; of
/// a tree, the names in one of its directories.
fn ranges_of(path: &str, cx: &ReadContext<'_>) -> Result<Vec<(KeyTables, Vec<u8>)>, OmError> {
    let path = path.trim_start_matches('/');
    if path.is_empty() {
        return Ok(vec![(KeyTables::Flat, Vec::new()), (KeyTables::Tree, Vec::new())]);
    }
    let mut parts = path.splitn(3, '/');
    let (Some(volume), Some(bucket)) = (parts.next(), parts.next().filter(|b| !b.is_empty()))
    else {
        return Err(OmError::InvalidPath(format!(
            "Invalid path: {path}. Only root level or bucket level path is supported at this time"
        )));
    };
    let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
    let found = bucket::resolve(cx.view, &mut volume, &mut bucket)?;
    let key = parts.next().unwrap_or("");
    if !found.is_tree() {
        return Ok(vec![(KeyTables::Flat, tables::object_key(&volume, &bucket, key))]);
    }
    let tree = Tree::of(cx.view, &found)?;
    if key.is_empty() {
        return Ok(vec![(KeyTables::Tree, tree.prefix().to_vec())]);
    }
    let lookup = lookup(&tree, key)?;
    let row = lookup.parent_id().map(|parent_id| match tree.directory(parent_id, lookup.leaf) {
        Ok(Some(directory)) => Ok(tree.row(directory.object_id, "")),
        Ok(None) => Ok(tree.row(parent_id, lookup.leaf)),
        Err(e) => Err(e),
    });
    Ok(row.transpose()?.map(|row| (KeyTables::Tree, row)).into_iter().collect())
}

/// Whose row it is: those of trees begin with a volume's id, which is negative as a decimal, and
/// no volume's name begins with a dash.
fn key_tables_of(row: &[u8]) -> KeyTables {
    if row.starts_with(b"/-") { KeyTables::Tree } else { KeyTables::Flat }
}

fn session_of(row: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(row).ok()?;
    let id: i64 = text.rsplit_once('/')?.1.parse().ok()?;
    Some(id.cast_unsigned())
}
