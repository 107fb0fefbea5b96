//! Audit entry of a request: Ozone's name of the operation and its parameters. Each command has its
//! own; shared parts are here.

use proto::hdds::{ReplicationFactor, ReplicationType};
use proto::ozone::KeyArgs;

/// Names and values of an operation's parameters, in the order of the line.
pub type AuditParams = Vec<(&'static str, String)>;

/// Parameters of an operation on a volume.
pub(crate) fn volume(volume: &str) -> AuditParams {
    vec![("volume", volume.to_owned())]
}

/// Parameters of an operation on a bucket.
pub(crate) fn bucket(volume: &str, bucket: &str) -> AuditParams {
    vec![("volume", volume.to_owned()), ("bucket", bucket.to_owned())]
}

/// Parameters of an operation on a key.
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
