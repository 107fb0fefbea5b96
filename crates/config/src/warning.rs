//! What the user should know though the configuration can be used.

use std::fmt::{self, Display};

use crate::error::did_you_mean;
use crate::origin::Origin;

/// Something the user should know though the configuration can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A key that is not declared.
    Unknown {
        /// Its name.
        key: String,
        /// Where it is set.
        origin: Origin,
        /// A declared key it may have been meant for.
        suggestion: Option<String>,
    },
    /// A key of Ozone or Hadoop that does nothing here.
    WithoutEffect {
        /// Its name.
        key: String,
        /// Where it is set.
        origin: Origin,
        /// Why it needs to do nothing.
        reason: &'static str,
    },
    /// A key under a name that it had once.
    Renamed {
        /// The name it is set by.
        key: String,
        /// Its name now.
        current: String,
        /// Where it is set.
        origin: Origin,
    },
}

impl Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { key, origin, suggestion } => {
                let suggestion = did_you_mean(suggestion);
                write!(f, "{origin}: unknown key {key} has no effect{suggestion}")
            }
            Self::WithoutEffect { key, origin, reason } => {
                write!(f, "{origin}: {key} has no effect: {reason}")
            }
            Self::Renamed { key, current, origin } => {
                write!(f, "{origin}: {key} is deprecated: instead, use {current}")
            }
        }
    }
}
