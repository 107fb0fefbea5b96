//! ListKeys, and the walk over a bucket's rows that it has in common with ListKeysLight.

use std::ops::ControlFlow;

use proto::ozone::{KeyInfo, ListKeysRequest, ListKeysResponse, OmResponse, Type};

use super::place::Place;
use crate::bucket::find;
use crate::error::OmError;
use crate::read::ReadContext;
use crate::response;
use crate::row;
use crate::tables::{object_key, prefix_end};
use crate::view::ViewError;

pub(crate) fn read(request: &ListKeysRequest, cx: &ReadContext<'_>) -> Result<OmResponse, OmError> {
    let mut keys: Vec<KeyInfo> = Vec::new();
    let truncated = walk(request, cx, &mut |key, value| {
        keys.push(row::decode_slice(Place::COMMITTED, key, value)?);
        Ok(())
    })?;
    let mut r = response::ok(Type::ListKeys);
    r.list_keys_response =
        Some(Box::new(ListKeysResponse { key_info: keys, is_truncated: Some(truncated) }));
    Ok(r)
}

/// What a list does with a row, given its key and value.
type EachRow<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), ViewError> + 'a;

/// Calls `each` with the rows of one page: those with the prefix, after the start key. True if
/// there are more.
pub(super) fn walk(
    request: &ListKeysRequest,
    cx: &ReadContext<'_>,
    each: &mut EachRow<'_>,
) -> Result<bool, OmError> {
    let (mut volume, mut bucket) = (request.volume_name.clone(), request.bucket_name.clone());
    let found = find::resolve(cx.view, &mut volume, &mut bucket)?;
    find::require_flat(&found)?;
    let mut left = cx.page(request.count.map(i64::from));
    let prefix = object_key(&volume, &bucket, request.prefix.as_deref().unwrap_or(""));
    let after = object_key(&volume, &bucket, request.start_key.as_deref().unwrap_or(""));
    let end = prefix_end(&prefix);
    let start = prefix.as_slice().max(&after);
    let mut truncated = false;
    let mut failed = None;
    cx.view.scan(Place::COMMITTED, start, end.as_deref(), &mut |key, value| {
        if key == after {
            return ControlFlow::Continue(());
        }
        if left == 0 {
            truncated = true;
            return ControlFlow::Break(());
        }
        left -= 1;
        match each(key, value) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        }
    })?;
    match failed {
        Some(e) => Err(e.into()),
        None => Ok(truncated),
    }
}
