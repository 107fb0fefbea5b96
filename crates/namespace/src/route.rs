//! Properties of a request that a server needs: its route, whether only OM itself sends it, whether
//! prepared OMs carry it out, and its audit entry.

use proto::ozone::{OmRequest, Type};

use crate::command::audit::AuditParams;
use crate::registry::{self, Route};

/// Route of `request`.
pub fn route(request: &OmRequest) -> Route {
    Type::try_from(request.cmd_type)
        .map_or(Route::Unsupported, |command| registry::route(command, request))
}

/// Returns `true` if only OM itself sends `command`, as part of its own work.
pub fn is_internal(command: i32) -> bool {
    Type::try_from(command).is_ok_and(registry::is_internal)
}

/// Returns `true` if `request` is answered without the log.
pub fn is_read(request: &OmRequest) -> bool {
    matches!(route(request), Route::Read)
}

/// Returns `true` if a write is carried out although the OMs are prepared.
pub fn allowed_when_prepared(request: &OmRequest) -> bool {
    Type::try_from(request.cmd_type).is_ok_and(registry::allowed_when_prepared)
}

/// The operation that `request` asks for, by Ozone's name (`OMAction`), and its parameters. A
/// request without its part has none.
pub fn audit(request: &OmRequest) -> (&'static str, AuditParams) {
    let command = Type::try_from(request.cmd_type).unwrap_or(Type::UnknownCommand);
    registry::audit(command, request)
}

#[cfg(test)]
mod tests {
    use proto::ozone::{CommitKeyRequest, KeyArgs};

    use super::*;

    #[test]
    fn a_key_operation_names_volume_bucket_and_key() {
        let key_args = KeyArgs {
            volume_name: "v".to_owned(),
            bucket_name: "b".to_owned(),
            key_name: "d/k".to_owned(),
            data_size: Some(7),
            r#type: Some(1),
            factor: Some(3),
            ..KeyArgs::default()
        };
        let commit = CommitKeyRequest { key_args, ..CommitKeyRequest::default() };
        let request = OmRequest {
            cmd_type: Type::CommitKey as i32,
            commit_key_request: Some(Box::new(commit)),
            ..OmRequest::default()
        };
        let (op, params) = audit(&request);
        assert_eq!(op, "COMMIT_KEY");
        let expected = [
            ("volume", "v"),
            ("bucket", "b"),
            ("key", "d/k"),
            ("dataSize", "7"),
            ("replicationConfig", "RATIS/THREE"),
        ];
        let found: Vec<(&str, &str)> = params.iter().map(|(n, v)| (*n, v.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_request_without_its_part_and_an_unknown_one_have_a_name_only() {
        let of = |cmd_type: i32| audit(&OmRequest { cmd_type, ..OmRequest::default() });
        assert_eq!(of(Type::CreateKey as i32), ("ALLOCATE_KEY", Vec::new()));
        assert_eq!(of(Type::SetSafeMode as i32), ("SET_SAFEMODE", Vec::new()));
        assert_eq!(of(-1), ("UnknownCommand", Vec::new()));
    }
}
