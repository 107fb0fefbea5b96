//! Syntax of replication on the command line.

use config::Configuration;
use types::ReplicationConfig;

use crate::ShellError;

/// Replication flags of keys and buckets.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ReplicationArgs {
    /// Replication type: RATIS or EC.
    #[arg(short = 't', long = "type", visible_alias = "replication-type", value_parser = kind, value_name = "TYPE")]
    kind: Option<String>,
    /// Replication: ONE or THREE; for EC rs-3-2-1024k, rs-6-3-1024k, rs-10-4-1024k.
    #[arg(short = 'r', long, value_name = "REPLICATION")]
    replication: Option<String>,
}

/// An unknown replication type.
#[derive(Debug, thiserror::Error)]
#[error("types are RATIS, STAND_ALONE and EC")]
pub(crate) struct UnknownType;

/// A replication type, by its name on the wire.
pub(crate) fn kind(text: &str) -> Result<String, UnknownType> {
    let kind = text.to_ascii_uppercase();
    match kind.as_str() {
        "RATIS" | "STAND_ALONE" | "EC" => Ok(kind),
        _ => Err(UnknownType),
    }
}

impl ReplicationArgs {
    /// The replication of the flags or the configuration; `None` leaves it to the bucket or the
    /// cluster.
    pub(crate) fn config_or(
        &self,
        conf: &Configuration,
    ) -> Result<Option<ReplicationConfig>, ShellError> {
        if let Some(asked) = self.config()? {
            return Ok(Some(asked));
        }
        client::configured_replication(conf).map_err(|e| {
            ShellError::Usage(format!("ozone.replication and ozone.replication.type: {e}"))
        })
    }

    /// The replication of the flags; `None` leaves it to the bucket or cluster.
    pub(crate) fn config(&self) -> Result<Option<ReplicationConfig>, ShellError> {
        let (kind, value) = match (self.kind.as_deref(), self.replication.as_deref()) {
            (None, None) => return Ok(None),
            (Some(kind), None) => {
                return Err(ShellError::Usage(format!(
                    "--type {kind} needs --replication as well"
                )));
            }
            (kind, Some(value)) => (kind.unwrap_or("RATIS"), value),
        };
        ReplicationConfig::parse(kind, value)
            .map(Some)
            .map_err(|e| ShellError::Usage(format!("--type {kind} --replication {value}: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_ozones() {
        assert_eq!(kind("ratis").unwrap(), "RATIS");
        assert!(kind("CHAINED").is_err());
        let args = |kind: Option<&str>, value: Option<&str>| ReplicationArgs {
            kind: kind.map(str::to_owned),
            replication: value.map(str::to_owned),
        };
        assert!(args(None, None).config().unwrap().is_none());
        let three = args(None, Some("THREE")).config().unwrap().unwrap();
        assert_eq!(three, ReplicationConfig::RATIS_THREE);
        assert!(args(Some("RATIS"), None).config().is_err());
        assert!(args(Some("EC"), Some("THREE")).config().is_err());
    }
}
