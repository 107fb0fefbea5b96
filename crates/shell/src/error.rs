//! Errors of commands, in Ozone's wording where Ozone has one.

use std::error::Error;
use std::io;

/// Error of a command.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// An error of the cluster or the client.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A database on disk cannot be read or written.
    #[error(transparent)]
    Store(#[from] metastore::Error),
    /// An invalid argument.
    #[error("{0}")]
    Usage(String),
    /// The command found a state that it must not change, or no data where it expects some.
    #[error("{0}")]
    Refused(String),
    /// An error of a local file or stream.
    #[error("{what}: {source}")]
    Local {
        /// The file or stream.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl ShellError {
    pub(crate) fn local(what: impl ToString) -> impl FnOnce(io::Error) -> Self {
        let what = what.to_string();
        move |source| Self::Local { what, source }
    }

    /// Returns `true` if the reader of our output closed it, which is no failure (`o3 sh key list |
    /// head`).
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Local { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error and, on separate lines, its causes that it does not include.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.contains(&words) {
                text.push_str("\n  caused by: ");
                text.push_str(&words);
            }
            cause = error.source();
        }
        text
    }
}
