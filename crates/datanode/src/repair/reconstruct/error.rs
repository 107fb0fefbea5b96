//! Errors of rebuilding replica indexes.

use erasure::ReplicaIndex;
use framed::CallError;
use types::{ContainerId, LocalId, WireError};

use crate::repair::push::PushError;

/// An order does not count any more.
#[derive(Debug, Clone, thiserror::Error)]
#[error("no longer ordered: {0}")]
pub(crate) struct NotOrdered(pub String);

/// Replica indexes of a container were not rebuilt, or not all of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconstructError {
    /// The order is invalid.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The order no longer counts.
    #[error(transparent)]
    NotOrdered(#[from] NotOrdered),
    /// It cannot be started.
    #[error(transparent)]
    Push(#[from] PushError),
    /// Too few sources can be read.
    #[error("container {container} has {left} sources left, {needed} are needed: {reasons}")]
    Sources {
        /// The container.
        container: ContainerId,
        /// Sources that have not failed.
        left: usize,
        /// Sources that it takes.
        needed: usize,
        /// Reasons of each of the others.
        reasons: String,
    },
    /// A block that is there cannot be decoded.
    #[error("block {local} cannot be rebuilt: {reason}")]
    Block {
        /// The block.
        local: LocalId,
        /// The reason.
        reason: String,
    },
    /// Decoded bytes differ from those of the writer.
    #[error("stripe {stripe} of block {local} differs from its writer's: {reason}")]
    Wrong {
        /// The block.
        local: LocalId,
        /// The stripe, from 0.
        stripe: u64,
        /// The difference.
        reason: String,
    },
    /// Blocks were deleted at the sources meanwhile, and some unknown ones of them were sent.
    #[error("blocks of container {0} were deleted meanwhile")]
    Changed(ContainerId),
    /// A target did not take its replica.
    #[error("target rejected index {index}: {error}")]
    Target {
        /// The index.
        index: ReplicaIndex,
        /// Its error.
        error: CallError,
    },
    /// A task was interrupted.
    #[error("interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
    /// The plan of a decoder does not fit: a bug, or nonsense in a row.
    #[error(transparent)]
    Erasure(#[from] erasure::Error),
}

impl ReconstructError {
    /// Returns `true` if a retry may succeed.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Changed(_) => true,
            Self::Target { error, .. } => crate::repair::push::may_pass(error),
            _ => false,
        }
    }
}
