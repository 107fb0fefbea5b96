//! Errors of a configuration, each with the place to correct.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use crate::origin::Origin;

/// A value that is not of its key's type, with the expected syntax.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct Expected(pub Cow<'static, str>);

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ConfigError {
    #[error("cannot read configuration file {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}:{line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("{origin}: {key} = '{value}' is malformed: {expected}")]
    Malformed { key: String, value: String, origin: Origin, expected: Expected },
    #[error("{origin}: unknown key {key}{}", did_you_mean(suggestion))]
    Unknown { key: String, origin: Origin, suggestion: Option<String> },
    #[error("{origin}: {key} has no effect: {reason}")]
    WithoutEffect { key: String, origin: Origin, reason: &'static str },
    #[error("{origin}: {key} = '{value}' is refused: {reason}")]
    Refused { key: String, value: String, origin: Origin, reason: &'static str },
    #[error("-D {given}: expected key=value")]
    Definition { given: String },
    #[error("{key}: circular substitution of ${{...}} in '{value}'")]
    Circular { key: String, value: String },
    #[error(
        "neither {key} nor {fallback} is set: a data directory is required (set one in ozone-site.xml, or with -D {fallback}=DIR)"
    )]
    NoDirectory { key: String, fallback: String },
}

pub(crate) fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|s| format!(" (did you mean {s}?)")).unwrap_or_default()
}
