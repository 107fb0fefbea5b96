//! The replicated step: one log entry over the tables gives a response and effects.

use proto::ozone::{OmRequest, OmResponse};

use crate::effect::Effect;
use crate::error::OmError;
use crate::registry;
use crate::tables::Table;
use crate::view::{View, ViewError};

/// Where in the log an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionPosition {
    /// Term of the leader that proposed it.
    pub term: u64,
    /// Index in the log.
    pub index: u64,
}

/// What an entry did.
#[derive(Debug)]
pub struct Applied {
    /// The answer to the client.
    pub response: OmResponse,
    /// The changes, to be written together with the entry's position.
    pub effects: Vec<Effect>,
}

/// What a command applies to, and the effects it has had so far.
pub(crate) struct ApplyContext<'a> {
    pub view: &'a dyn View,
    pub tx: TransactionPosition,
    pub effects: Vec<Effect>,
}

impl ApplyContext<'_> {
    /// The id of an object that this transaction makes: epoch 2 in the two top bits, the index,
    /// and eight bits for further objects of the same transaction.
    pub fn object_id(&self) -> u64 {
        (2 << 62) | ((self.tx.index << 8) & !(3 << 62))
    }

    pub fn put(&mut self, table: Table, key: Vec<u8>, value: &impl prost::Message) {
        self.effects.push(Effect::Put { table, key, value: crate::row::encode(value) });
    }

    pub fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.effects.push(Effect::Delete { table, key });
    }

    pub fn put_bucket(&mut self, key: Vec<u8>, bucket: crate::row::Bucket) {
        self.effects.push(Effect::PutBucket { key, bucket });
    }
}

/// Applies a prepared request. The same request at the same position over the same tables gives
/// the same result on every replica.
///
/// # Errors
/// Only when the tables cannot be read: the replica must stop then, since others may have gone
/// on. A refusal is a response.
pub fn apply(
    mut request: OmRequest,
    tx: TransactionPosition,
    view: &dyn View,
) -> Result<Applied, ViewError> {
    let cmd_type = request.cmd_type;
    let trace_id = request.trace_id.take();
    let mut cx = ApplyContext { view, tx, effects: Vec::new() };
    let response = registry::command_of(&request)
        .and_then(|command| registry::apply(command, request, &mut cx));
    match response {
        Ok(mut response) => {
            response.trace_id = trace_id;
            Ok(Applied { response, effects: cx.effects })
        }
        Err(OmError::View(e)) => Err(e),
        Err(refusal) => {
            Ok(Applied { response: refusal.into_response(cmd_type, trace_id), effects: Vec::new() })
        }
    }
}
