//! Preparing all OMs for another version: no more writes, and nothing left in the log.
//!
//! Prepare is an entry of the log like any other. Later entries change nothing until an entry
//! cancels it, so that all replicas stop at the same state.

pub(crate) mod cancel_prepare;
pub(crate) mod prepare;

use proto::ozone::OmRequest;

use crate::error::command_name;

/// The row of the metaTable with the entry after which writes are refused.
pub const PREPARED_INFO_KEY: &[u8] = b"#PREPAREDINFO";

/// The index in that row.
pub fn parse_prepared_info(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The refusal of a write that waits until OM is not prepared any more.
pub fn prepared_refusal(request: &OmRequest) -> String {
    let name = command_name(request.cmd_type);
    format!("Cannot apply write request {name} when OM is in prepare mode.")
}
