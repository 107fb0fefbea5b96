//! The group of a service, typed by its machine.

use std::marker::PhantomData;
use std::ops::Deref;

use multiraft::{Proposal, ProposeError};
use tokio::sync::oneshot;

use crate::machine::{Machine, Proposed};

/// A command that was committed and applied on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied<R> {
    /// Its index in the log.
    pub index: u64,
    /// Term of its entry.
    pub term: u64,
    /// The machine's response.
    pub response: R,
}

/// A running group with a machine of type `M`. Cheap to clone. Except for proposals it derefs to
/// the [`multiraft::Group`] in it.
pub struct Group<M> {
    group: multiraft::Group,
    machine: PhantomData<fn() -> M>,
}

impl<M> Clone for Group<M> {
    fn clone(&self) -> Self {
        Self { group: self.group.clone(), machine: PhantomData }
    }
}

impl<M> Deref for Group<M> {
    type Target = multiraft::Group;

    fn deref(&self) -> &multiraft::Group {
        &self.group
    }
}

impl<M: Machine> Group<M> {
    pub(crate) fn new(group: multiraft::Group) -> Self {
        Self { group, machine: PhantomData }
    }

    /// Replicates a command; returns the machine's response when it is committed (durable on a
    /// majority) and applied here. Dropping the future does not withdraw the command.
    ///
    /// # Errors
    /// As [`multiraft::Group::propose`].
    pub async fn propose(
        &self,
        command: M::Command,
        context: M::Context,
    ) -> Result<Applied<M::Response>, ProposeError> {
        let header = M::encode(&command);
        let (answer, mut answered) = oneshot::channel();
        let proposed = Proposed::<M> { command, context, answer };
        let applied = self.group.propose(Proposal::new(header).with_context(proposed)).await?;
        // The machine responds before the proposal counts as applied. Only empty entries get no
        // response, because the machine does not see them.
        let response = answered.try_recv().map_err(|_| ProposeError::Dropped)?;
        Ok(Applied { index: applied.index, term: applied.term, response })
    }
}
