//! State machines with typed commands and responses.

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};
use tokio::sync::oneshot;
use uuid::Uuid;

/// A committed entry.
#[derive(Debug)]
pub struct Entry<M: Machine> {
    /// Its position in the log.
    pub at: LogPosition,
    /// The encoded command.
    pub command: Bytes,
    /// On the replica that proposed the entry and is about to respond: the decoded command, and its
    /// context. The resulting state must be the same without it.
    pub own: Option<(M::Command, M::Context)>,
}

/// A replicated state machine. As [`StateMachine`], with types; calls come from one thread at a
/// time.
pub trait Machine: Sized + Send + 'static {
    /// The type of proposals.
    type Command: Send + 'static;
    /// Data of the proposer for its response, which is not replicated.
    type Context: Send + 'static;
    /// The response to the proposer.
    type Response: Send + 'static;

    /// Encodes a command for the log: never empty.
    fn encode(command: &Self::Command) -> Bytes;

    /// The position of the store: replay starts after it.
    fn applied(&self) -> LogPosition;

    /// Applies a batch of committed entries, in order, and returns one response for each.
    ///
    /// # Errors
    /// Stop the group on this node: a machine that cannot apply a committed entry must not
    /// continue.
    fn apply(&mut self, entries: Vec<Entry<Self>>) -> Result<Vec<Self::Response>, MachineError>;

    /// Makes everything applied durable and returns its position; the log is trimmed at most up to
    /// there.
    ///
    /// # Errors
    /// If that fails; it is final.
    fn flush(&mut self) -> Result<LogPosition, MachineError>;

    /// The whole state as of the last applied entry.
    ///
    /// # Errors
    /// If it is not available at present.
    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError>;

    /// Replaces the whole state with another replica's snapshot, durably. `at` is its position.
    ///
    /// # Errors
    /// If the snapshot is malformed, or cannot be stored.
    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError>;

    /// Reports another leader, or none; `is_me` if it is this replica.
    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        let _ = (leader, term, is_me);
    }
}

/// The context that a proposer passes to its own replica with a proposal.
pub(crate) struct Proposed<M: Machine> {
    pub(crate) command: M::Command,
    pub(crate) context: M::Context,
    pub(crate) answer: oneshot::Sender<M::Response>,
}

/// A typed machine as one for `multiraft`.
pub(crate) struct Untyped<M>(pub(crate) M);

impl<M: Machine> StateMachine for Untyped<M> {
    fn applied(&self) -> LogPosition {
        self.0.applied()
    }

    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError> {
        let mut answers = Vec::with_capacity(entries.len());
        let typed = entries.iter_mut().map(|entry| {
            let proposed = entry.context.take::<Proposed<M>>();
            let own = proposed.map(|Proposed { command, context, answer }| {
                answers.push(Some(answer));
                (command, context)
            });
            if own.is_none() {
                answers.push(None);
            }
            let at = LogPosition { term: entry.term, index: entry.index };
            Entry { at, command: entry.header.clone(), own }
        });
        let typed: Vec<Entry<M>> = typed.collect();
        let responses = self.0.apply(typed)?;
        let given = responses.len();
        if given != answers.len() {
            return Err(format!("{given} responses for {} entries", answers.len()).into());
        }
        // Before the proposals count as applied: a caller that waits for that finds its response.
        for (answer, response) in answers.into_iter().zip(responses) {
            if let Some(answer) = answer {
                // The proposer may have been dropped.
                let _ = answer.send(response);
            }
        }
        Ok(vec![Bytes::new(); given])
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        self.0.flush()
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        self.0.snapshot()
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        self.0.restore(source, at)
    }

    fn leader_changed(&mut self, leader: Option<Uuid>, term: u64, is_me: bool) {
        self.0.leader_changed(leader, term, is_me);
    }
}
