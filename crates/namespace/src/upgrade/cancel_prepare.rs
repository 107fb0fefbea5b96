//! CancelPrepare: writes are done again.

use proto::ozone::{CancelPrepareResponse, OmRequest, OmResponse, Type};

use super::PREPARED_INFO_KEY;
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::tables::Table;

pub(crate) struct CancelPrepare;

impl Command for CancelPrepare {
    const TYPE: Type = Type::CancelPrepare;
    const AUDIT: &'static str = "CancelPrepare";
    const RIGHTS: Rights<OmRequest> = Rights::Admins("prepare OM for an upgrade");
    // Its own part is empty, and may be missing.
    request_part!(whole);
}

impl Write for CancelPrepare {
    const PREPARE: Decision<OmRequest> = Decision::Nothing;
    const ALLOWED_WHEN_PREPARED: bool = true;

    /// Takes Prepare back; nothing happens when there is nothing to take back.
    fn apply(_: OmRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        cx.delete(Table::MetaTable, PREPARED_INFO_KEY.to_vec());
        let mut r = response::ok(Type::CancelPrepare);
        r.cancel_prepare_response = Some(Box::new(CancelPrepareResponse {}));
        Ok(r)
    }
}
