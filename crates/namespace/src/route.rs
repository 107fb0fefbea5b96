//! Which command is a read, a write, the server's own, or not there yet.

use proto::ozone::{OmRequest, Type};

use crate::registry;

/// Which OM answers a command, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// [`crate::read`], from the tables, without the log.
    Read,
    /// [`crate::prepare`], the log, [`crate::apply`].
    Write,
    /// The server itself: the answer is about the server (its peers, ports, safe mode), not
    /// about the tables.
    Server,
    /// Nobody in this release: `NOT_SUPPORTED_OPERATION`.
    Unsupported,
}

/// How `request` is answered.
pub fn route(request: &OmRequest) -> Route {
    Type::try_from(request.cmd_type)
        .map_or(Route::Unsupported, |command| registry::route(command, request))
}

/// Whether OM alone asks for `command`, in the work that it does by itself.
pub fn is_internal(command: i32) -> bool {
    Type::try_from(command).is_ok_and(registry::is_internal)
}

/// Whether `request` is answered without the log.
pub fn is_read(request: &OmRequest) -> bool {
    matches!(route(request), Route::Read)
}

/// The command's name for people.
pub(crate) fn name(cmd_type: i32) -> String {
    match Type::try_from(cmd_type) {
        Ok(command) => command.as_str_name().to_owned(),
        Err(_) => format!("command {cmd_type}"),
    }
}
