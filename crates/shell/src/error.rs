//! Why a command failed, in Ozone's words where Ozone has some.

use std::error::Error;
use std::io;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The cluster refused or failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A database on disk cannot be read or changed.
    #[error(transparent)]
    Store(#[from] metastore::Error),
    /// An argument makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The command found something that it must not touch, or nothing where there must be
    /// something.
    #[error("{0}")]
    Refused(String),
    /// A local file or stream failed.
    #[error("{what}: {source}")]
    Local {
        /// The file or stream.
        what: String,
        /// The system's words.
        source: io::Error,
    },
}

impl ShellError {
    pub(crate) fn local(what: impl ToString) -> impl FnOnce(io::Error) -> Self {
        let what = what.to_string();
        move |source| Self::Local { what, source }
    }

    /// Whether a reader of our output went away, which is no failure (`o3 sh key list | head`).
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Local { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error, and on lines of their own what caused it and is not said yet.
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
