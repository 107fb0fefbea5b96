//! Classification of failed container commands.

use std::time::Duration;

use framed::{CallError, Code};
use types::DatanodeId;

use crate::Error;

/// Reason for the failure of a container command.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// Another member is the leader; the command was not executed.
    NotLeader(Option<DatanodeId>),
    /// Overloaded; the command was not executed.
    Busy(String),
    /// The pipeline does not exist on that DataNode, or is broken.
    NoPipeline(String),
    /// The DataNode cannot be reached.
    Unreachable(String),
    /// Timeout.
    TimedOut(Duration),
    /// The DataNode responded with an error of the container protocol.
    Refused(Error),
    /// Another failure, for which a retry is useless.
    Other(Error),
}

impl Failure {
    pub(super) fn of_call(node: DatanodeId, error: CallError, timeout: Duration) -> Self {
        match &error {
            CallError::Status { status, .. } => match status.code {
                Code::NotLeader => Self::NotLeader(status.hint().and_then(|id| id.parse().ok())),
                Code::Busy => Self::Busy(status.message.clone()),
                Code::NotFound | Code::Unavailable => Self::NoPipeline(status.message.clone()),
                Code::DeadlineExceeded => Self::TimedOut(timeout),
                _ => Self::Other(Error::protocol(format!("datanode {node}"), status.to_string())),
            },
            CallError::Transport { .. } => Self::Unreachable(error.to_string()),
            CallError::Timeout { .. } => Self::TimedOut(timeout),
            CallError::Decode { reason, .. } => {
                Self::Other(Error::protocol(format!("datanode {node}"), reason.as_str()))
            }
        }
    }

    /// Converts it into the client's error.
    pub(crate) fn into_error(self, node: DatanodeId) -> Error {
        let service = format!("datanode {node}");
        match self {
            Self::NotLeader(_) => Error::Unavailable {
                service,
                message: "another member leads the pipeline".to_owned(),
            },
            Self::Busy(message) | Self::NoPipeline(message) | Self::Unreachable(message) => {
                Error::Unavailable { service, message }
            }
            Self::TimedOut(waited) => Error::Timeout { service, waited },
            Self::Refused(error) | Self::Other(error) => error,
        }
    }
}
