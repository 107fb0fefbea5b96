//! ListOpenFiles: keys being written, below a path.

use std::ops::ControlFlow;

use proto::ozone::{KeyInfo, ListOpenFilesRequest, ListOpenFilesResponse, OmResponse, Type};

use super::place::Place;
use crate::bucket::find;
use crate::error::OmError;
use crate::read::ReadContext;
use crate::response;
use crate::row;
use crate::tables::{self, prefix_end};

pub(crate) fn read(
    request: &ListOpenFilesRequest,
    cx: &ReadContext<'_>,
) -> Result<OmResponse, OmError> {
    let prefix = prefix_of(request.path.as_deref().unwrap_or(""), cx)?;
    let page = cx.page(request.count.map(i64::from));
    let after = request.token.as_deref().filter(|token| !token.is_empty()).map(str::as_bytes);
    let mut found = ListOpenFilesResponse { has_more: Some(false), ..Default::default() };
    let (mut total, mut last, mut failed) = (0, None, None);
    cx.view.scan(Place::OPEN, &prefix, prefix_end(&prefix).as_deref(), &mut |key, value| {
        total += 1;
        if after.is_some_and(|after| key <= after) {
            return ControlFlow::Continue(());
        }
        if found.key_info.len() == page {
            found.has_more = Some(true);
            return ControlFlow::Continue(());
        }
        // Sessions of clients have numbers; uploads, which have none, are listed elsewhere.
        let Some(session) = session_of(key) else { return ControlFlow::Continue(()) };
        match row::decode_slice::<KeyInfo>(Place::OPEN, key, value) {
            Ok(info) => {
                found.key_info.push(info);
                found.client_id.push(session);
                last = Some(String::from_utf8_lossy(key).into_owned());
                ControlFlow::Continue(())
            }
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(e) = failed {
        return Err(e.into());
    }
    found.total_open_key_count = Some(total);
    found.continuation_token = last.filter(|_| found.has_more == Some(true));
    let mut r = response::ok(Type::ListOpenFiles);
    r.list_open_files_response = Some(Box::new(found));
    Ok(r)
}

/// What the rows below `path` begin with: everything, or a bucket, or names in a bucket.
fn prefix_of(path: &str, cx: &ReadContext<'_>) -> Result<Vec<u8>, OmError> {
    let path = path.trim_start_matches('/');
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let mut parts = path.splitn(3, '/');
    let (Some(volume), Some(bucket)) = (parts.next(), parts.next().filter(|b| !b.is_empty()))
    else {
        return Err(OmError::InvalidPath(format!(
            "Invalid path: {path}. Only root level or bucket level path is supported at this time"
        )));
    };
    let (mut volume, mut bucket) = (volume.to_owned(), bucket.to_owned());
    find::require_flat(&find::resolve(cx.view, &mut volume, &mut bucket)?)?;
    Ok(tables::object_key(&volume, &bucket, parts.next().unwrap_or("")))
}

fn session_of(row: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(row).ok()?;
    let id: i64 = text.rsplit_once('/')?.1.parse().ok()?;
    Some(id as u64)
}
