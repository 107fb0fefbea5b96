//! Answers that went well.

use proto::ozone::{OmResponse, Status, Type};

/// An empty successful answer to `command`.
pub(crate) fn ok(command: Type) -> OmResponse {
    OmResponse {
        cmd_type: command as i32,
        success: Some(true),
        status: Status::Ok as i32,
        ..OmResponse::default()
    }
}

/// An answer that was done in part: the sub-message says which.
pub(crate) fn partial(command: Type, status: Status, message: String) -> OmResponse {
    OmResponse {
        cmd_type: command as i32,
        success: Some(false),
        status: status as i32,
        message: Some(message),
        ..OmResponse::default()
    }
}
