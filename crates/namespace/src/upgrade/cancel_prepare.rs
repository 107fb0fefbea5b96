//! CancelPrepare: writes are done again.

use proto::ozone::{CancelPrepareResponse, OmResponse, Type};

use super::PREPARED_INFO_KEY;
use crate::apply::ApplyContext;
use crate::response;
use crate::tables::Table;

/// Takes Prepare back; nothing happens when there is nothing to take back.
pub(crate) fn apply(cx: &mut ApplyContext<'_>) -> OmResponse {
    cx.delete(Table::MetaTable, PREPARED_INFO_KEY.to_vec());
    let mut r = response::ok(Type::CancelPrepare);
    r.cancel_prepare_response = Some(Box::new(CancelPrepareResponse {}));
    r
}
