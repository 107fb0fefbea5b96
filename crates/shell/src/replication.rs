//! Replication as it is written on a command line.

use types::ReplicationConfig;

use crate::ShellError;

/// Replication flags of keys and buckets.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ReplicationArgs {
    /// Replication type: RATIS or EC.
    #[arg(short = 't', long = "type", visible_alias = "replication-type", value_name = "TYPE")]
    kind: Option<String>,
    /// Replication: ONE or THREE; for EC rs-3-2-1024k, rs-6-3-1024k, rs-10-4-1024k.
    #[arg(short = 'r', long, value_name = "REPLICATION")]
    replication: Option<String>,
}

impl ReplicationArgs {
    /// What is asked for; `None` leaves it to the bucket or cluster.
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
