//! Flags that all generators share.

use std::time::Duration;

use clap::Args;
use types::ReplicationConfig;

use crate::FreonError;

/// Number, concurrency and duration of the tests.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Number of tests.
    #[arg(short = 'n', long, default_value_t = 1000, value_name = "N")]
    pub number_of_tests: u64,
    /// Number of concurrent tests.
    #[arg(
        short = 't',
        long = "threads",
        visible_alias = "thread",
        default_value_t = 10,
        value_name = "N"
    )]
    pub threads: usize,
    /// Run for this time instead of a number of tests: 30s, 5m, 1h.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Prefix of the generated names; random by default.
    #[arg(short = 'p', long, default_value = "", value_name = "TEXT")]
    pub prefix: String,
    /// Continue after a failed test, and fail at the end.
    #[arg(short = 'f', long)]
    pub fail_at_end: bool,
    /// Number of clients, each with its own connections.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub clients: usize,
    /// Process id of a server whose CPU time is measured; may be repeated or comma-separated.
    #[arg(long = "server-pid", value_delimiter = ',', value_name = "PID")]
    pub server_pids: Vec<u32>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub json: bool,
}

impl RunArgs {
    /// The number of a test: a timed run repeats the numbers, as Ozone's does.
    pub(crate) fn number(&self, test: u64) -> u64 {
        test % self.number_of_tests.max(1)
    }

    /// Rejects `--clients` for generators that cannot use several clients.
    pub(crate) fn without_clients(&self) -> Result<(), FreonError> {
        match self.clients {
            1 => Ok(()),
            _ => Err(FreonError::Usage("--clients does not apply to this generator".into())),
        }
    }

    /// The prefix of an earlier run, which must be given; `doing` describes its use in the error.
    pub(crate) fn named_prefix(&self, doing: &str) -> Result<&str, FreonError> {
        match self.prefix.as_str() {
            "" => Err(FreonError::Usage(format!("--prefix is required: that of the {doing}"))),
            prefix => Ok(prefix),
        }
    }
}

/// The bucket of existing keys.
#[derive(Debug, Clone, Args)]
pub struct BucketArgs {
    /// Volume.
    #[arg(short = 'v', long, default_value = "vol1", value_name = "NAME")]
    pub volume: String,
    /// Bucket.
    #[arg(short = 'b', long, default_value = "bucket1", value_name = "NAME")]
    pub bucket: String,
}

/// The bucket to write to.
#[derive(Debug, Clone, Args)]
pub struct TargetArgs {
    /// Volume; created if missing.
    #[arg(short = 'v', long, default_value = "vol1", value_name = "NAME")]
    pub volume: String,
    /// Bucket; created if missing (layout OBJECT_STORE).
    #[arg(short = 'b', long, default_value = "bucket1", value_name = "NAME")]
    pub bucket: String,
    #[command(flatten)]
    pub replication: ReplicationArgs,
}

/// Replication of keys.
#[derive(Debug, Clone, Default, Args)]
pub struct ReplicationArgs {
    /// Replication type: RATIS or EC.
    #[arg(long = "type", visible_alias = "replication-type", value_name = "TYPE")]
    pub replication_type: Option<String>,
    /// Replication: ONE or THREE; for EC rs-3-2-1024k, rs-6-3-1024k, rs-10-4-1024k.
    #[arg(short = 'r', long, value_name = "REPLICATION")]
    pub replication: Option<String>,
    /// Replication factor: ONE or THREE; the older form of --replication.
    #[arg(short = 'F', long, value_name = "FACTOR")]
    pub factor: Option<String>,
}

impl ReplicationArgs {
    /// The requested replication; `None` leaves it to the bucket.
    pub(crate) fn config(&self) -> Result<Option<ReplicationConfig>, FreonError> {
        let kind = self.replication_type.as_deref();
        let (kind, value) = match (kind, self.replication.as_deref().or(self.factor.as_deref())) {
            (None, None) => return Ok(None),
            // Otherwise keys with the bucket's default would be measured as keys of the type.
            (Some(kind), None) => {
                return Err(FreonError::Usage(format!(
                    "--type {kind} needs --replication as well"
                )));
            }
            (kind, Some(value)) => (kind.unwrap_or("RATIS"), value),
        };
        ReplicationConfig::parse(kind, value)
            .map(Some)
            .map_err(|e| FreonError::Usage(format!("--type {kind} --replication {value}: {e}")))
    }
}

impl ReplicationArgs {
    /// The requested replication, or else RATIS/THREE.
    pub(crate) fn or_three(&self) -> Result<ReplicationConfig, FreonError> {
        match self.config()? {
            Some(config) => Ok(config),
            None => ReplicationConfig::parse("RATIS", "THREE")
                .map_err(|e| FreonError::Usage(e.to_string())),
        }
    }
}

/// A malformed number with a unit.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum UnitError {
    #[error("{0} does not begin with a number")]
    NoNumber(String),
    #[error("{0} is not a unit of time (ms, s, m, h, d)")]
    Time(String),
    #[error("{0} is not a unit of size (B, KB, MB, GB, TB)")]
    Size(String),
    #[error(transparent)]
    Duration(#[from] std::time::TryFromFloatSecsError),
}

/// Splits `10KB` into its number and unit.
fn number_and_unit(text: &str) -> Result<(f64, String), UnitError> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..at].parse().map_err(|_| UnitError::NoNumber(text.to_owned()))?;
    Ok((number, text[at..].trim().to_ascii_lowercase()))
}

/// A time such as `30s`, `5m`, `1h`, `7d`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = number_and_unit(text)?;
    let unit = match unit.as_str() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        other => return Err(UnitError::Time(other.to_owned())),
    };
    Ok(Duration::try_from_secs_f64(number * unit)?)
}

/// A size such as `10KB`, `4MB`, `1GB`, in powers of 1024; a bare number is bytes.
pub(crate) fn size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = number_and_unit(text)?;
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(UnitError::Size(unit)),
    };
    Ok((number
        * f64::from(1_u32 << (shift % 30))
        * if shift >= 30 { (1_u64 << 30) as f64 } else { 1.0 }) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("10240", 10_240),
            ("10KB", 10_240),
            ("4MiB", 4 << 20),
            ("1.5G", 3 << 29),
            ("1TB", 1 << 40),
            ("7B", 7),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        assert!(size("KB").is_err() && size("1XB").is_err() && size("").is_err());
    }

    #[test]
    fn a_replication_is_said_with_its_type() {
        let config = |kind: Option<&str>, value: Option<&str>| {
            let args = ReplicationArgs {
                replication_type: kind.map(str::to_owned),
                replication: value.map(str::to_owned),
                factor: None,
            };
            args.config().map(|config| config.map(|config| config.to_string()))
        };
        assert_eq!(config(None, None).unwrap(), None);
        assert_eq!(config(None, Some("ONE")).unwrap().as_deref(), Some("RATIS/ONE"));
        let ec = config(Some("EC"), Some("rs-6-3-1024k")).unwrap();
        assert_eq!(ec.as_deref(), Some("EC/rs-6-3-1024k"));
        for (kind, value) in
            [(Some("EC"), None), (Some("EC"), Some("THREE")), (None, Some("rs-3-2-1024k"))]
        {
            assert!(config(kind, value).is_err(), "{kind:?} {value:?}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration("5 weeks").is_err() && duration("-5s").is_err());
    }
}
