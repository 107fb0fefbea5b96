//! Why a command failed, in Ozone's words where Ozone has some.

use std::io;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The cluster refused or failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An argument makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The command found something that it must not touch, or nothing where there must be something.
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

    /// 2 for a usage error, else 255: Ozone's shell exits with -1.
    pub(crate) fn exit_code(&self) -> u8 {
        if matches!(self, Self::Usage(_)) { 2 } else { 255 }
    }
}
