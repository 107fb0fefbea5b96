//! Syntax of quotas on the command line.

use config::ByteSize;

use crate::ShellError;

/// No limit.
pub(crate) const NONE: i64 = -1;

/// Quota flags of create and setquota.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct QuotaArgs {
    /// Maximum bytes, replicas included: 10GB, 1TB.
    #[arg(
        long = "space-quota",
        visible_alias = "quota",
        allow_negative_numbers = true,
        value_name = "SIZE"
    )]
    space: Option<String>,
    /// Maximum number of buckets of a volume or keys of a bucket.
    #[arg(long = "namespace-quota", allow_negative_numbers = true, value_name = "N")]
    namespace: Option<i64>,
}

fn size(text: &str) -> Result<i64, ShellError> {
    if let Some(n) = text.parse::<i64>().ok().filter(|n| *n <= 0) {
        return Err(ShellError::Usage(format!("Invalid value for space quota: {n}")));
    }
    let bad = || {
        ShellError::Usage(format!(
            "{text} is invalid. The quota value should be a positive integer with byte \
             numeration(B, KB, MB, GB and TB)"
        ))
    };
    let bytes = text.parse::<ByteSize>().map_err(|_| bad())?.bytes();
    i64::try_from(bytes).ok().filter(|b| *b > 0).ok_or_else(bad)
}

impl QuotaArgs {
    /// Bytes; `None` if not given.
    pub(crate) fn bytes(&self) -> Result<Option<i64>, ShellError> {
        self.space.as_deref().map(size).transpose()
    }

    /// Names; `None` if not given.
    pub(crate) fn names(&self) -> Result<Option<i64>, ShellError> {
        match self.namespace {
            Some(n) if n <= 0 => {
                Err(ShellError::Usage(format!("Invalid value for namespace quota: {n}")))
            }
            given => Ok(given),
        }
    }

    /// Both quotas, of which at least one must be given.
    pub(crate) fn required(&self) -> Result<(Option<i64>, Option<i64>), ShellError> {
        match (self.bytes()?, self.names()?) {
            (None, None) => {
                Err(ShellError::Usage("At least one of the quota set flag is required.".into()))
            }
            both => Ok(both),
        }
    }
}

/// Flags of clrquota.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClearArgs {
    /// Clear the space quota.
    #[arg(long = "space-quota")]
    space: bool,
    /// Clear the namespace quota.
    #[arg(long = "namespace-quota")]
    namespace: bool,
}

impl ClearArgs {
    /// The values to set, of which at least one must be given.
    pub(crate) fn required(&self) -> Result<(Option<i64>, Option<i64>), ShellError> {
        if !self.space && !self.namespace {
            let text = "At least one of the quota clear flag is required.";
            return Err(ShellError::Usage(text.into()));
        }
        Ok((self.space.then_some(NONE), self.namespace.then_some(NONE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_positive_and_have_units() {
        assert_eq!(size("10GB").unwrap(), 10 << 30);
        assert_eq!(size("5").unwrap(), 5);
        for bad in ["0", "GB", "-1", "ten"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert_eq!(size("-1").unwrap_err().to_string(), "Invalid value for space quota: -1");
        assert!(QuotaArgs::default().required().is_err());
    }
}
