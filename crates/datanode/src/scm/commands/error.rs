//! Errors of SCM's commands.

use scheduling::BackgroundError;
use tokio::task::JoinError;
use types::WireError;

use crate::DatanodeError;
use crate::pipeline::PipelineError;
use crate::repair::push::PushError;
use crate::repair::reconcile::ReconcileError;
use crate::repair::reconstruct::ReconstructError;
use containerstore::StorageError;

/// A command of SCM failed. SCM receives the error, and decides the next step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A required field is missing or invalid.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Another SCM leads by now.
    #[error("ordered in term {term}, an SCM leads in term {latest}")]
    Superseded {
        /// The term of the SCM that ordered it.
        term: i64,
        /// The latest term that this node has received.
        latest: i64,
    },
    /// The SCM that ordered it no longer expects it to be carried out.
    #[error("{late_ms} ms too late")]
    Late {
        /// Milliseconds since its deadline.
        late_ms: i64,
    },
    /// A pipeline was not made or closed.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The disks.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A container was not copied.
    #[error(transparent)]
    Push(#[from] PushError),
    /// Replica indexes were not rebuilt.
    #[error(transparent)]
    Reconstruct(#[from] ReconstructError),
    /// A replica was not reconciled.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// The node's own state could not be stored.
    #[error(transparent)]
    Datanode(#[from] DatanodeError),
    /// A thread died.
    #[error("it was interrupted: {0}")]
    Interrupted(#[from] JoinError),
    /// Work in the background has no outcome.
    #[error(transparent)]
    Background(#[from] BackgroundError),
}
