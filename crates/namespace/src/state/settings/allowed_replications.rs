//! The replications that users may request.

use regex::Regex;
use types::ReplicationConfig;

use crate::error::OmError;

/// Ozone's default: full copies, and the codes whose keys outlive two replicas at least.
const DEFAULT: &str =
    "^((STANDALONE|RATIS)/(ONE|THREE))|(EC/(3-2|6-3|10-4)-(512|1024|2048|4096)k)$";

/// `ozone.replication.allowed-configs`: a pattern that all of a replication matches, written
/// `RATIS/THREE` or `EC/3-2-1024k`.
#[derive(Debug, Clone)]
pub struct AllowedReplications {
    pattern: String,
    /// None matches nothing.
    regex: Option<Regex>,
}

impl AllowedReplications {
    /// Those that match `pattern`; all when it is empty, as in Ozone.
    ///
    /// # Errors
    /// When it is no regular expression, or one with look-ahead or look-behind.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        let whole = match pattern {
            "" => String::new(),
            pattern => format!(r"\A(?:{pattern})\z"),
        };
        let regex = Regex::new(&whole)?;
        Ok(Self { pattern: pattern.to_owned(), regex: Some(regex) })
    }

    /// Refuses any other replication.
    pub(crate) fn check(&self, config: &ReplicationConfig) -> Result<(), OmError> {
        let written = written(config);
        if self.regex.as_ref().is_some_and(|regex| regex.is_match(&written)) {
            return Ok(());
        }
        Err(OmError::InvalidRequest(format!(
            "Invalid replication config: {written}: ozone.replication.allowed-configs of OM allows {}",
            self.pattern
        )))
    }
}

impl Default for AllowedReplications {
    fn default() -> Self {
        // The test below has it compile.
        Self { pattern: DEFAULT.to_owned(), regex: Self::new(DEFAULT).ok().and_then(|a| a.regex) }
    }
}

/// As Ozone's `ReplicationConfig.configFormat` has it: without the codec.
fn written(config: &ReplicationConfig) -> String {
    match config {
        ReplicationConfig::Ratis(factor) => format!("RATIS/{factor}"),
        ReplicationConfig::StandAlone(factor) => format!("STANDALONE/{factor}"),
        ReplicationConfig::Ec(ec) => {
            format!("EC/{}-{}-{}k", ec.data, ec.parity, ec.chunk_size / 1024)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(allowed: &AllowedReplications, kind: &str, value: &str) -> bool {
        allowed.check(&ReplicationConfig::parse(kind, value).unwrap()).is_ok()
    }

    #[test]
    fn the_whole_of_a_replication_has_to_match() {
        let allowed = AllowedReplications::default();
        for (kind, value) in [
            ("RATIS", "ONE"),
            ("RATIS", "THREE"),
            ("STAND_ALONE", "ONE"),
            ("EC", "rs-3-2-1024k"),
            ("EC", "rs-10-4-512k"),
        ] {
            assert!(allows(&allowed, kind, value), "{kind}/{value}");
        }
        for value in
            ["rs-2-1-1024k", "xor-2-1-1024k", "rs-3-2-1k", "rs-3-2-10240k", "rs-13-2-1024k"]
        {
            assert!(!allows(&allowed, "EC", value), "{value}");
        }
    }

    #[test]
    fn an_empty_pattern_allows_all() {
        let allowed = AllowedReplications::new("").unwrap();
        assert!(allows(&allowed, "EC", "rs-2-1-1024k") && allows(&allowed, "RATIS", "ONE"));
    }

    #[test]
    fn a_pattern_of_ones_own_decides_alone() {
        let three = AllowedReplications::new("RATIS/THREE").unwrap();
        assert!(allows(&three, "RATIS", "THREE") && !allows(&three, "RATIS", "ONE"));
        let all = AllowedReplications::new(".*").unwrap();
        assert!(allows(&all, "EC", "rs-2-1-16k"));
        AllowedReplications::new("RATIS/(").unwrap_err();
        AllowedReplications::new("(?!RATIS)").unwrap_err();
    }
}
