//! The container protocol: a command comes in through some endpoint, an answer goes out.
//!
//! * [`read`]: commands that any replica answers from its disks
//! * [`write`]: commands that change something: through the pipeline's Raft group, or directly
//! * [`small`]: small blocks that come as WriteChunk and PutBlock
//! * [`direct`]: changes to containers that no Raft group replicates
//! * [`admit`]: what is checked before a change is proposed
//!
//! Chunk bytes travel beside the message everywhere behind the endpoints.

pub mod admit;
pub mod answer;
pub mod budget;
pub mod direct;
pub mod peek;
pub mod read;
pub mod refusal;
pub(crate) mod small;
pub mod write;

use std::time::Instant;

use bytes::Bytes;
use proto::datanode::{ContainerCommandRequestProto, Type};

pub use answer::{Answer, Failure};
pub use refusal::Refusal;

use crate::node::Node;

/// A command as it came in, its chunk bytes beside it.
#[derive(Debug)]
pub struct Command {
    /// The message as received, without chunk bytes: what goes into the Raft log.
    pub header: Bytes,
    /// The same, decoded.
    pub request: ContainerCommandRequestProto,
    /// The chunk bytes.
    pub payload: Bytes,
    /// When the caller gives up.
    pub deadline: Option<Instant>,
    /// Verify here what is read: the client cannot tell when it finds damage.
    pub verify_reads: bool,
}

impl Command {
    /// Its kind; `None` for one that this version does not know.
    pub fn kind(&self) -> Option<Type> {
        Type::try_from(self.request.cmd_type).ok()
    }

    /// Whether it changes something that a pipeline replicates.
    pub fn changes(&self) -> bool {
        matches!(
            self.kind(),
            Some(
                Type::CreateContainer
                    | Type::WriteChunk
                    | Type::PutBlock
                    | Type::PutSmallFile
                    | Type::CloseContainer
                    | Type::FinalizeBlock
            )
        )
    }

    /// Whether the caller has given up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// Carries out a command. A command that fails is an [`Answer`] with Ozone's result code; a
/// [`Refusal`] says that this DataNode did not, or cannot say whether it did, carry it out.
///
/// # Errors
/// See [`Refusal`].
pub async fn execute(node: &Node, command: Command) -> Result<Answer, Refusal> {
    if command.is_late() {
        return Err(Refusal::Late);
    }
    if command.changes() || command.kind() == Some(Type::DeleteContainer) {
        write::execute(node, command).await
    } else {
        read::execute(node, command).await
    }
}

/// The protocol's name of a command, for metrics and logs.
pub fn name(kind: Option<Type>) -> &'static str {
    kind.map_or("Unknown", |kind| kind.as_str_name())
}
