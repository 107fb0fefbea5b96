//! Prepare: from this entry on nothing is written.

use bytes::Bytes;
use proto::ozone::{OmResponse, PrepareRequest, PrepareResponse, Type};

use super::{PREPARED_INFO_KEY, parse_prepared_info};
use crate::command::response;
use crate::command::{Command, Decision, Rights, Write, request_part};
use crate::error::OmError;
use crate::state::context::ApplyContext;
use crate::state::effect::Effect;
use crate::tables::Table;

pub(crate) struct Prepare;

impl Command for Prepare {
    const TYPE: Type = Type::Prepare;
    const AUDIT: &'static str = "Prepare";
    const RIGHTS: Rights<PrepareRequest> = Rights::Admins("prepare OM for an upgrade");
    request_part!(prepare_request: PrepareRequest);
}

impl Write for Prepare {
    const PREPARE: Decision<PrepareRequest> = Decision::Nothing;
    const ALLOWED_WHEN_PREPARED: bool = true;

    /// OMs that are prepared stay as they are: the answer names the entry that did it.
    fn apply(_: PrepareRequest, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError> {
        let known = cx.view.get(Table::MetaTable, PREPARED_INFO_KEY)?;
        let index = known.and_then(|value| parse_prepared_info(&value)).unwrap_or(cx.tx.index);
        cx.effects.push(Effect::Put {
            table: Table::MetaTable,
            key: PREPARED_INFO_KEY.to_vec(),
            value: Bytes::from(index.to_string()),
        });
        let mut r = response::ok(Type::Prepare);
        r.prepare_response = Some(Box::new(PrepareResponse { txn_id: index }));
        Ok(r)
    }
}
