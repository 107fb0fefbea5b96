//! Reading of configuration files: each source returns names, raw values and line numbers.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod toml;
mod xml;

use std::path::Path;

use crate::error::ConfigError;

/// One setting of a file.
#[derive(Debug)]
pub(crate) struct Raw {
    pub name: String,
    pub value: String,
    pub line: usize,
}

/// A malformed file: the line and the problem.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub line: usize,
    pub message: String,
}

/// Reads a file, as TOML if its extension is `toml`, otherwise as Hadoop's XML.
pub(crate) fn read(path: &Path) -> Result<Vec<Raw>, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
    let parsed = match path.extension().and_then(|e| e.to_str()) {
        Some("toml") => toml::parse(&text),
        _ => xml::parse(&text),
    };
    parsed.map_err(|m| ConfigError::Syntax { path: path.into(), line: m.line, message: m.message })
}

/// The line, counted from 1, of a byte position.
fn line_of(text: &str, position: usize) -> usize {
    let before = text.as_bytes().get(..position.min(text.len())).unwrap_or_default();
    1 + before.iter().filter(|b| **b == b'\n').count()
}
