//! What the audit log says of a request: Ozone's name of the operation and its parameters. Each
//! command says its own; here is what several say alike.

use proto::hdds::{ReplicationFactor, ReplicationType};
use proto::ozone::{KeyArgs, OmRequest, Type};

use crate::registry;

/// Names and values of an operation's parameters, in the order of the line.
pub type AuditParams = Vec<(&'static str, String)>;

/// The operation that `request` asks for, by Ozone's name (`OMAction`), and its parameters. A
/// request without its part has none.
pub fn audit(request: &OmRequest) -> (&'static str, AuditParams) {
    let command = Type::try_from(request.cmd_type).unwrap_or(Type::UnknownCommand);
    registry::audit(command, request)
}

/// The parameters of what is done to a volume.
pub(crate) fn volume(volume: &str) -> AuditParams {
    vec![("volume", volume.to_owned())]
}

/// The parameters of what is done to a bucket.
pub(crate) fn bucket(volume: &str, bucket: &str) -> AuditParams {
    vec![("volume", volume.to_owned()), ("bucket", bucket.to_owned())]
}

/// The parameters of what is done to a key.
pub(crate) fn key(args: &KeyArgs) -> AuditParams {
    let mut params = Vec::with_capacity(6);
    params.push(("volume", args.volume_name.clone()));
    params.push(("bucket", args.bucket_name.clone()));
    params.push(("key", args.key_name.clone()));
    params.push(("dataSize", args.data_size.unwrap_or(0).to_string()));
    if let Some(kind) = args.r#type.and_then(|t| ReplicationType::try_from(t).ok())
        && kind != ReplicationType::None
    {
        let factor = args.factor.and_then(|f| ReplicationFactor::try_from(f).ok());
        let factor = factor.map_or("", |f| f.as_str_name());
        params.push(("replicationConfig", [kind.as_str_name(), factor].join("/")));
    }
    if let Some(upload) = &args.multipart_upload_id {
        params.push(("uploadID", upload.clone()));
    }
    params
}

#[cfg(test)]
mod tests {
    use proto::ozone::CommitKeyRequest;

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
