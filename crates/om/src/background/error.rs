//! Reasons for which a background service failed.

use framed::Status;
use namespace::{Table, ViewError};
use proto::ozone::{OmResponse, Type};

use crate::scm::ScmError;

/// A background service failed. It retries at its next run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackgroundError {
    /// This OM does not lead any more, or its tables are being replaced.
    #[error(transparent)]
    Unavailable(#[from] Status),
    /// The tables cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// SCM did not accept the request.
    #[error("SCM: {0}")]
    Scm(#[from] ScmError),
    /// A row makes no sense.
    #[error("row {row} of {}: {reason}", .table.name())]
    Row {
        /// The table.
        table: Table,
        /// The row, as text.
        row: String,
        /// Defect of the row.
        reason: String,
    },
    /// The rules refused a request.
    #[error("{} is refused: {status}: {message}", .command.as_str_name())]
    Refused {
        /// Type of the request.
        command: Type,
        /// The status of the answer.
        status: &'static str,
        /// Its message.
        message: String,
    },
    /// No name is left for a checkpoint.
    #[error("{path}: too many checkpoints of one second")]
    TooManyCheckpoints {
        /// The trash.
        path: String,
    },
}

impl BackgroundError {
    /// A row whose key or value does not decode.
    pub(super) fn row(table: Table, row: &[u8], reason: impl ToString) -> Self {
        let row = String::from_utf8_lossy(row).into_owned();
        Self::Row { table, row, reason: reason.to_string() }
    }

    /// The error of an answer without success.
    pub(super) fn refused(response: OmResponse) -> Self {
        Self::Refused {
            command: response.cmd_type(),
            status: response.status().as_str_name(),
            message: response.message.unwrap_or_default(),
        }
    }
}
