//! Warnings about a configuration that can still be used.

use std::fmt::{self, Display};

use crate::error::did_you_mean;
use crate::origin::Origin;

/// A warning about a configuration that can still be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A key that is not declared.
    Unknown {
        /// Its name.
        key: String,
        /// Origin of the value.
        origin: Origin,
        /// A declared key with a similar name.
        suggestion: Option<String>,
    },
    /// A key of Ozone or Hadoop without effect.
    WithoutEffect {
        /// Its name.
        key: String,
        /// Origin of the value.
        origin: Origin,
        /// The reason it needs no effect.
        reason: &'static str,
    },
    /// A key under a deprecated name.
    Renamed {
        /// The deprecated name.
        key: String,
        /// Its current name.
        current: String,
        /// Origin of the value.
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
