//! Replication of a key: its own, else its bucket's, else the server's.

use proto::hdds::{DefaultReplicationConfig, ReplicationType};
use proto::ozone::{KeyArgs, KeyInfo};
use types::ReplicationConfig;

use crate::error::OmError;
use crate::state::row::Bucket;
use crate::state::settings::Settings;

/// The replication that `args` requests in `bucket`, written into `args` in full. It must be
/// allowed, unless it is the bucket's own: the bucket may be older than the refusal, and clients
/// name its replication.
pub(crate) fn resolve(
    args: &mut KeyArgs,
    bucket: &Bucket,
    settings: &Settings,
) -> Result<ReplicationConfig, OmError> {
    if asks(args) {
        let asked = of_args(args)?;
        let given = bucket.default_replication_config.as_ref().map(of_default).transpose()?;
        if given != Some(asked) {
            settings.allowed_replications.check(&asked)?;
        }
    }
    complete(args, bucket, settings)
}

/// The same for directories, which take no space: any replication is accepted.
pub(crate) fn complete(
    args: &mut KeyArgs,
    bucket: &Bucket,
    settings: &Settings,
) -> Result<ReplicationConfig, OmError> {
    let config = if asks(args) {
        of_args(args)?
    } else if let Some(default) = &bucket.default_replication_config {
        of_default(default)?
    } else {
        settings.default_replication
    };
    args.r#type = Some(config.wire_type() as i32);
    args.factor = config.wire_factor().map(|f| f as i32);
    args.ec_replication_config = config.wire_ec();
    Ok(config)
}

/// Returns `true` if a request names a replication.
pub(crate) fn asks(args: &KeyArgs) -> bool {
    args.r#type.is_some_and(|kind| kind != ReplicationType::None as i32)
}

/// Refuses the replication that a bucket is to give to its keys, unless it is allowed.
pub(crate) fn check_default(
    default: Option<&DefaultReplicationConfig>,
    settings: &Settings,
) -> Result<(), OmError> {
    match default {
        Some(default) => settings.allowed_replications.check(&of_default(default)?),
        None => Ok(()),
    }
}

/// The replication of a prepared request.
pub(crate) fn of_args(args: &KeyArgs) -> Result<ReplicationConfig, OmError> {
    let kind = args.r#type.unwrap_or(ReplicationType::None as i32);
    Ok(ReplicationConfig::from_wire(kind, args.factor, args.ec_replication_config.as_ref())?)
}

/// The replication of a key.
pub(crate) fn of_key(key: &KeyInfo) -> Result<ReplicationConfig, OmError> {
    Ok(ReplicationConfig::from_wire(key.r#type, key.factor, key.ec_replication_config.as_ref())?)
}

/// The replication that a bucket gives to its keys.
pub(crate) fn of_default(default: &DefaultReplicationConfig) -> Result<ReplicationConfig, OmError> {
    Ok(ReplicationConfig::from_wire(
        default.r#type,
        default.factor,
        default.ec_replication_config.as_ref(),
    )?)
}
