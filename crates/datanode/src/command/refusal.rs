//! Reasons why a command was not carried out here, and their form on each endpoint.

use framed::{Code, Status};
use multiraft::ProposeError;
use proto::datanode::Result as ResultCode;
use types::{DatanodeId, PipelineId};

use super::Failure;

/// Reason why this DataNode did not carry out a command, or cannot report its outcome.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// Another member of the pipeline leads it.
    #[error("this datanode does not lead pipeline {pipeline}{}", hint(.leader))]
    NotLeader {
        /// The pipeline.
        pipeline: PipelineId,
        /// Its leader, when known.
        leader: Option<DatanodeId>,
    },
    /// The pipeline's group is not on this DataNode (not yet, or no more).
    #[error("pipeline {0} is not on this datanode")]
    NoPipeline(PipelineId),
    /// The disks are not open yet.
    #[error("the datanode is starting")]
    Starting,
    /// Too much is being worked on.
    #[error("the datanode is busy: {0}")]
    Busy(&'static str),
    /// The caller's time was over.
    #[error("the caller's deadline has passed")]
    Late,
    /// The command was proposed, but whether it is carried out is unknown.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// The pipeline no longer works on this DataNode.
    #[error("pipeline {pipeline} failed here: {reason}")]
    Failed {
        /// The pipeline.
        pipeline: PipelineId,
        /// The reason.
        reason: String,
    },
}

fn hint(leader: &Option<DatanodeId>) -> String {
    leader.map(|leader| format!(", datanode {leader} does")).unwrap_or_default()
}

impl Refusal {
    /// Maps a proposal's error to the caller's refusal.
    pub fn of_proposal(pipeline: PipelineId, error: ProposeError) -> Self {
        match error {
            ProposeError::NotLeader { hint } => {
                Self::NotLeader { pipeline, leader: hint.map(DatanodeId) }
            }
            ProposeError::Busy => Self::Busy("too many proposals are waiting"),
            ProposeError::Shutdown => Self::NoPipeline(pipeline),
            ProposeError::Dropped => Self::Unknown(error.to_string()),
            error => Self::Failed { pipeline, reason: error.to_string() },
        }
    }

    /// Returns the status of the framed endpoint. The detail of `NotLeader` is the leader's uuid,
    /// or empty.
    pub fn to_status(&self) -> Status {
        let code = match self {
            Self::NotLeader { leader, .. } => {
                let leader = leader.map(|leader| leader.to_string()).unwrap_or_default();
                return Status::not_leader(self.to_string(), leader);
            }
            Self::NoPipeline(_) => Code::NotFound,
            Self::Busy(_) => Code::Busy,
            Self::Late => Code::DeadlineExceeded,
            Self::Starting | Self::Unknown(_) | Self::Failed { .. } => Code::Unavailable,
        };
        Status::new(code, self.to_string())
    }

    /// Returns the failure of the gRPC endpoint, which has only Ozone's result codes.
    pub fn to_failure(&self) -> Failure {
        let code = match self {
            Self::NotLeader { .. } | Self::NoPipeline(_) => ResultCode::InvalidArgument,
            _ => ResultCode::ContainerInternalError,
        };
        Failure::new(code, self.to_string())
    }
}
