//! Origin of a configuration value.

use std::fmt;
use std::path::PathBuf;

/// The source of one value, precise enough to find and change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The declared default.
    Default,
    /// A line of a file.
    File {
        /// The path of the file, as given.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// `-D` on the command line.
    CommandLine,
    /// Derived from another key, or set by the program; with its name.
    Derived(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::CommandLine => f.write_str("command line"),
            Origin::Derived(from) => write!(f, "derived from {from}"),
        }
    }
}
