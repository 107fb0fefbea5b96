//! What a failed container command means for its sender.

use std::time::Duration;

use framed::{CallError, Code};
use types::DatanodeId;

use crate::Error;

/// Why a container command has no good answer.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// Another member leads the pipeline; nothing was done.
    NotLeader(Option<DatanodeId>),
    /// Too much to do; nothing was done.
    Busy(String),
    /// The pipeline is not on that DataNode, or broken there.
    NoPipeline(String),
    /// The DataNode cannot be reached.
    Unreachable(String),
    /// No answer in time.
    TimedOut(Duration),
    /// The DataNode answered with a failure of the container protocol.
    Refused(Error),
    /// Something else; trying again will not help.
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

    /// As callers of the client see it.
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
